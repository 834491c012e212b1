"""Events of an order reach each receiver in the order in which they happened; superseded events reach none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from flask_paycheckout.signals import BY_NAME
from tests.conftest import NewDatabase, OpenShop
from tests.locks import with_patience
from tests.races.effects import add_effects, counts, writes
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database


@pytest.fixture
def shop(open_shop: OpenShop, new_database: NewDatabase) -> Shop:
    return open_shop(prepare=add_effects, SQLALCHEMY_DATABASE_URI=with_patience(new_database("order"), 30))


class Listener:
    """A receiver of every signal that writes a row for each event, and can fail."""

    def __init__(self, shop: Shop, name: str) -> None:
        self.__qualname__ = name
        self.name = name
        self.shop = shop
        self.ran: list[str] = []
        #: The signals for whose events it fails.
        self.failing: set[str] = set()
        #: By signal, a function that runs before it writes.
        self.before: dict[str, Callable[[], object]] = {}

    def hear(self, signal: str) -> Callable[..., object]:
        def receive(app: object, *, order_id: str, **facts: object) -> None:
            self.ran.append(signal)
            self.before.pop(signal, lambda: None)()
            writes(self.shop, f"{self.name} {signal}", order_id)
            if signal in self.failing:
                raise RuntimeError(f"{self.name} is down")

        receive.__qualname__ = self.name
        return receive

    @property
    def wrote(self) -> set[str]:
        """The signals whose effects are committed."""
        names_ = counts(self.shop, "o-1")
        assert set(names_.values()) <= {1}, "never twice"
        return {who.split()[1] for who in names_ if who.split()[0] == self.name}


@pytest.fixture
def connected(shop: Shop) -> Iterator[Callable[..., list[Listener]]]:
    with ExitStack() as stack:

        def connect(*names: str) -> list[Listener]:
            listeners = [Listener(shop, name) for name in names]
            for name, signal in BY_NAME.items():
                for listener in listeners:
                    stack.enter_context(signal.connected_to(listener.hear(name), sender=shop.app))
            return listeners

        yield connect


Connect = Callable[..., list[Listener]]


def event(shop: Shop, name: str) -> Any:
    [event_] = shop.events(name)
    return event_


def abandons(shop: Shop, checkout_id: str, becomes: str = "abandoned") -> None:
    shop.settles(checkout_id, says="pending")
    shop.settles(checkout_id, says="failed")
    assert shop.attempt(checkout_id).status == becomes


def pays(shop: Shop, checkout_id: str) -> None:
    assert shop.settles(checkout_id, says="completed").status == "paid"


def test_a_receiver_that_missed_an_event_hears_it_before_the_next_one(shop: Shop, connected: Connect) -> None:
    shaky, steady = connected("shaky", "steady")
    shaky.failing = {"checkout_created"}
    checkout_id = shop.starts()
    pays(shop, checkout_id)
    assert steady.ran == ["checkout_created", "order_paid"], "others do not wait"
    assert set(shaky.ran) == {"checkout_created"}
    assert event(shop, "order_paid").delivered_at is None
    shop.reconciles(minutes=1)
    assert set(shaky.ran) == {"checkout_created"}
    shaky.failing = set()
    assert shop.reconciles(minutes=1).delivered == 2, "the second one right after the first"
    assert shaky.ran[-2:] == ["checkout_created", "order_paid"]
    assert event(shop, "order_paid").delivered_at is not None
    assert (steady.ran, steady.wrote) == (["checkout_created", "order_paid"], {"checkout_created", "order_paid"})
    assert shaky.wrote == steady.wrote


def test_an_event_that_only_waited_is_tried_again_at_once_when_it_fails(shop: Shop, connected: Connect) -> None:
    (shaky,) = connected("shaky")
    shaky.failing = {"checkout_created", "order_paid"}
    pays(shop, shop.starts())
    for _ in range(12):
        shop.reconciles(minutes=15)
    shaky.failing = {"order_paid"}
    shop.reconciles(hours=1)
    paid = event(shop, "order_paid")
    assert (paid.attempts, paid.next_attempt_at) == (1, shop.clock.now)


def test_an_abandonment_that_the_payment_overtook_is_told_to_nobody(shop: Shop, connected: Connect) -> None:
    """Otherwise, 70 minutes after the payment, the stock would be released and the customer told of an expiry."""
    shaky, steady = connected("shaky", "steady")
    shaky.failing = {"order_abandoned"}
    checkout_id = shop.starts()
    abandons(shop, checkout_id)
    pays(shop, checkout_id)
    assert steady.ran == ["checkout_created", "order_pending", "order_abandoned", "order_paid"]
    assert shaky.ran[-1] == "order_paid", "what is superseded blocks nothing"
    ran = len(shaky.ran)
    shop.waits(minutes=70)
    shaky.failing = set()
    assert shop.reconciles().clean
    assert len(shaky.ran) == ran
    assert shaky.wrote == {"checkout_created", "order_pending", "order_paid"}
    superseded = event(shop, "order_abandoned")
    assert (superseded.delivered_at, superseded.next_attempt_at) == (None, None)
    assert superseded.superseded_at is not None
    output = shop.runs("show", "o-1").output
    assert "order_abandoned of chk-1: superseded 2026-01-01 12:00:00Z: no longer true" in output
    assert "not delivered" not in shop.runs("report").output


def test_a_pending_signal_is_superseded_once_the_payment_is_decided(shop: Shop, connected: Connect) -> None:
    (shaky,) = connected("shaky")
    shaky.failing = {"order_pending"}
    checkout_id = shop.has_deposit("pending")
    shop.settles(checkout_id)
    pays(shop, checkout_id)
    assert shaky.ran == ["checkout_created", "order_pending", "order_paid"]
    assert event(shop, "order_pending").superseded_at is not None


def test_an_event_that_is_overtaken_while_its_receiver_works_is_not_committed(shop: Shop, connected: Connect) -> None:
    """The last check is in the receiver's own transaction, together with the mark."""
    slow, after = connected("slow", "after")

    def pay_meanwhile() -> None:
        shop.settles(checkout_id, says="completed")

    slow.before["order_abandoned"] = pay_meanwhile
    checkout_id = shop.starts()
    abandons(shop, checkout_id, becomes="paid")
    assert slow.wrote == after.wrote == {"checkout_created", "order_pending", "order_paid"}
    assert "order_abandoned" not in after.ran
    assert event(shop, "order_abandoned").superseded_at is not None
    assert event(shop, "order_paid").delivered_at is not None
