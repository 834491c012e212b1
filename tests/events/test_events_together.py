"""Events of reads that were applied together: delivered as surely as one by one, by fewer queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest

from flask_paycheckout import Pay, checkout_created, order_paid, payment_held
from flask_paycheckout.checkouts.states import FoundBy
from flask_paycheckout.client import Deposit
from flask_paycheckout.events.events import HeldEvent
from tests.conftest import OpenShop
from tests.races.effects import add_effects, counts, writes
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database

ORDERS = ("o-1", "o-2", "o-3")


class Shipping:
    """A receiver that writes a row for each order, and does something before, once, or raises for some."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.ran: list[str] = []
        self.before: dict[str, Callable[[], object]] = {}
        self.failing: set[str] = set()

    def __call__(self, app: object, *, order_id: str, **facts: object) -> None:
        self.ran.append(order_id)
        self.before.pop(order_id, lambda: None)()
        writes(self.shop, "shipped", order_id)
        if order_id in self.failing:
            raise RuntimeError("out of boxes")

    def connected(self) -> AbstractContextManager[object]:
        return order_paid.connected_to(self, sender=self.shop.app)

    @property
    def shipped(self) -> list[str]:
        found = {order_id: counts(self.shop, order_id) for order_id in ORDERS}
        assert all(times == {"shipped": 1} for times in found.values() if times), "never twice"
        return [order_id for order_id, times in found.items() if times]


@pytest.fixture
def shop(open_shop: OpenShop) -> Shop:
    shop = open_shop(prepare=add_effects)
    shop.totals["o-3"] = Pay("12.50", "USD")
    return shop


@pytest.fixture
def shipping(shop: Shop) -> Shipping:
    return Shipping(shop)


def answered(shop: Shop, orders: Sequence[str]) -> list[tuple[Any, Future[Deposit | None]]]:
    """The checkouts of paid orders with their reads, as a settler takes them."""
    found = []
    for order_id in orders:
        attempt = shop.attempt(shop.has_deposit("completed", order_id))
        read: Future[Deposit | None] = Future()
        read.set_result(shop.runtime.settlement.reading(attempt)())
        found.append((attempt, read))
    return found


def moved(shop: Shop, orders: Sequence[str]) -> list[HeldEvent]:
    """The events of orders that were just paid."""
    settlement = shop.runtime.settlement
    reads = answered(shop, orders)
    return [event for attempt, read in reads for event in settlement.apply(attempt, read.result, FoundBy.SETTLE).events]


def test_a_receiver_that_fails_for_one_order_fails_for_no_other(shop: Shop, shipping: Shipping) -> None:
    shipping.failing = {"o-2"}
    with shipping.connected():
        delivery = shop.runtime.outbox.deliver(moved(shop, ORDERS))
        assert (delivery.delivered, delivery.failed) == (2, 1)
        assert shipping.shipped == ["o-1", "o-3"]
        shipping.failing.clear()
        assert shop.reconciles().delivered == 1
    assert shipping.shipped == list(ORDERS)
    assert sorted(shipping.ran) == ["o-1", "o-2", "o-2", "o-3"]


def test_an_event_that_waits_longer_than_its_lease_is_delivered_by_one_process_only(
    shop: Shop, shipping: Shipping, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first receiver works for minutes, and nobody renews the leases: another process takes the second event."""
    monkeypatch.setattr(shop.runtime.receiver_runs.renewal, "during", lambda renew: nullcontext())

    def takes_long() -> None:
        shop.clock.advance(seconds=61)
        shipping.before["o-2"] = lambda: taken.append("elsewhere")
        assert shop.runtime.outbox.deliver_due().delivered == 1

    taken: list[str] = []
    shipping.before["o-1"] = takes_long
    with shipping.connected():
        shop.runtime.outbox.deliver(moved(shop, ["o-1", "o-2"]))
    assert shipping.ran.count("o-2") == 1
    assert taken == ["elsewhere"]


def test_an_event_behind_a_slow_receiver_has_a_whole_lease_when_its_own_begins(shop: Shop, shipping: Shipping) -> None:
    shipping.before["o-1"] = lambda: shop.clock.advance(seconds=31)
    shipping.before["o-2"] = lambda: leases.extend(event.lease_until for event in shop.events("order_paid"))
    leases: list[Any] = []
    with shipping.connected():
        assert shop.runtime.outbox.deliver(moved(shop, ["o-1", "o-2"])).delivered == 2
    assert [lease and (lease - shop.clock.now).total_seconds() for lease in leases] == [None, 60]


def test_ctrl_c_in_a_receiver_leaves_all_other_events_to_others_at_once(shop: Shop, shipping: Shipping) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    shipping.before["o-1"] = interrupt
    with shipping.connected():
        events = moved(shop, ORDERS)
        with pytest.raises(KeyboardInterrupt):
            shop.runtime.outbox.deliver(events)
        assert shipping.ran == ["o-1"]
        assert shop.runtime.outbox.deliver_due().delivered == 3
    assert shipping.shipped == list(ORDERS)


def test_an_order_with_an_older_event_gets_that_one_first(shop: Shop) -> None:
    """Its receiver failed for the older one before."""
    heard: list[str] = []
    failing = True

    def hears(name: str) -> Callable[..., object]:
        def receive(app: object, *, order_id: str, **facts: object) -> None:
            heard.append(f"{order_id} {name}")
            if name == "created" and order_id == "o-1" and failing:
                raise RuntimeError("not yet")

        receive.__qualname__ = "receive"
        return receive

    created, paid = hears("created"), hears("paid")
    with checkout_created.connected_to(created, sender=shop.app), order_paid.connected_to(paid, sender=shop.app):
        events = moved(shop, ["o-1", "o-2"])
        heard.clear()
        failing = False
        assert shop.runtime.outbox.deliver(events).delivered == 3
    assert heard == ["o-2 paid", "o-1 created", "o-1 paid"]


def test_what_is_stored_while_a_receiver_works_follows_right_after_it(shop: Shop, shipping: Shipping) -> None:
    """A second payment of the order is held meanwhile; the process that held it leaves its event to this one."""
    held: list[str] = []
    first, second = shop.starts("o-1"), None

    def hold(app: object, *, order_id: str, **facts: object) -> None:
        held.append(order_id)

    hold.__qualname__ = type(shipping).__qualname__
    hold.__module__ = type(shipping).__module__

    def paid_twice() -> None:
        shop.settles(str(second), says="completed")
        assert held == [], "it waits for the receiver at work"

    shop.totals["o-1"] = Pay("13", "USD")
    second = shop.starts("o-1")
    assert second != first
    shop.totals["o-1"] = Pay("12.50", "USD")
    with shipping.connected(), payment_held.connected_to(hold, sender=shop.app):
        shop.service.says(first, "completed")
        settlement = shop.runtime.settlement
        events = settlement.apply(shop.attempt(first), settlement.reading(shop.attempt(first)), FoundBy.SETTLE).events
        shipping.before["o-1"] = paid_twice
        delivery = shop.runtime.outbox.deliver([*events, *moved(shop, ["o-2"])])
    assert (held, delivery.delivered) == (["o-1"], 3)
