"""Reminders: one for each time, and none of orders that are paid, pending, held, expired or no longer payable."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from flask_paycheckout import payment_reminder, request_reminder
from flask_paycheckout.testing import Signals
from tests.alarming import urgent
from tests.checkouts.test_requests import asks, withdraws
from tests.conftest import NewDatabase, OpenShop
from tests.locks import with_patience
from tests.payouts.shop import refunds
from tests.scripted import Shop, raising

HOUR, DAY = 3600, 86400


@pytest.fixture
def shop(open_shop: OpenShop) -> Shop:
    return open_shop(PAYCHECKOUT_REMIND_AFTER=[DAY, HOUR])


def reminded(signals: Signals) -> list[tuple[str | None, int]]:
    return [(event.order_id, event.extra["number"]) for event in signals if event.name.endswith("_reminder")]


@pytest.mark.on_each_database
def test_an_order_is_reminded_once_at_each_time_from_its_first_checkout(shop: Shop, signals: Signals) -> None:
    shop.starts()
    shop.waits(minutes=59)
    shop.starts()
    shop.reconciles()
    assert reminded(signals) == []
    shop.waits(minutes=1)
    for _ in range(2):
        shop.reconciles()
    assert reminded(signals) == [("o-1", 1)]
    shop.waits(hours=23)
    for _ in range(2):
        shop.reconciles()
    assert reminded(signals) == [("o-1", 1), ("o-1", 2)]
    newest = shop.attempts()[-1].checkout_id
    assert [event.checkout_id for event in signals if event.name == "payment_reminder"][-1] == newest


def test_of_several_times_that_passed_the_last_one_counts(shop: Shop, signals: Signals) -> None:
    shop.starts()
    shop.waits(days=2)
    for _ in range(2):
        shop.reconciles()
    assert reminded(signals) == [("o-1", 2)]


def is_paid(shop: Shop, checkout_id: str) -> None:
    shop.settles(checkout_id, "completed")


def is_on_its_way(shop: Shop, checkout_id: str) -> None:
    shop.settles(checkout_id, "pending")


def is_held(shop: Shop, checkout_id: str) -> None:
    shop.settles(checkout_id, "completed", inputAmount=1)


def is_refunded(shop: Shop, checkout_id: str) -> None:
    is_paid(shop, checkout_id)
    refunds(shop, checkout_id)


def is_not_wanted(shop: Shop, checkout_id: str) -> None:
    shop.totals["o-1"] = None


ENDS = [is_paid, is_on_its_way, is_held, is_refunded, is_not_wanted]


@pytest.mark.parametrize("ends", ENDS)
def test_an_order_that_cannot_or_need_not_be_paid_gets_no_reminder(
    shop: Shop, signals: Signals, ends: Callable[[Shop, str], None]
) -> None:
    ends(shop, shop.starts())
    shop.reconciles(hours=1)
    assert reminded(signals) == []


@pytest.mark.parametrize("ends", ENDS)
def test_a_reminder_that_is_no_longer_true_is_superseded(
    shop: Shop, signals: Signals, ends: Callable[[Shop, str], None]
) -> None:
    checkout_id = shop.starts()
    shop.waits(hours=1)
    fails = raising(RuntimeError("the mail server is away"))
    with payment_reminder.connected_to(fails, sender=shop.app):
        shop.reconciles()
    signals.clear()
    ends(shop, checkout_id)
    shop.waits(minutes=1)
    with payment_reminder.connected_to(fails, sender=shop.app):
        shop.reconciles()
    [reminder] = shop.events("payment_reminder")
    assert reminder.superseded_at is not None


@pytest.mark.parametrize("withdrawn", [False, True], ids=["its time has passed", "withdrawn"])
def test_a_request_is_reminded_from_its_making_until_it_ends(shop: Shop, signals: Signals, withdrawn: bool) -> None:
    standing, ended = asks(shop), asks(shop, expires=timedelta(minutes=50))
    if withdrawn:
        withdraws(shop, ended.reference)
    shop.waits(minutes=30)
    shop.starts(standing.order_id)
    shop.reconciles(minutes=30)
    assert (reminded(signals), signals.names) == ([(standing.order_id, 1)], ["request_reminder"])


def test_a_request_that_nobody_began_to_pay_is_reminded_of(shop: Shop) -> None:
    request = asks(shop)
    events: list[dict[str, Any]] = []
    with request_reminder.connected_to(lambda app, **event: events.append(event), sender=shop.app):
        shop.reconciles(hours=1)
    [event] = events
    assert (sorted(event), event["number"]) == (["event_id", "number", "request"], 1)
    assert event["request"].reference == request.reference


# The newest deposit is read first


def test_a_customer_who_has_paid_meanwhile_gets_no_reminder(shop: Shop, signals: Signals) -> None:
    """The webhook was lost, and the next read is planned for later."""
    checkout_id = shop.starts()
    shop.abandons(checkout_id)
    shop.waits(minutes=27)
    shop.settles(checkout_id)
    shop.service.says(checkout_id, "completed")
    shop.waits(minutes=15)
    assert shop.attempt(checkout_id).next_read_at > shop.clock()
    shop.reconciles()
    assert (reminded(signals), signals.names[-1]) == ([], "order_paid")


def test_a_reminder_waits_for_a_read_that_fails(shop: Shop, signals: Signals) -> None:
    checkout_id = shop.starts()
    shop.service.fails(checkout_id)
    shop.waits(hours=1)
    for _ in range(3):
        shop.reconciles()
        shop.waits(minutes=1)
    assert reminded(signals) == []
    del shop.service.deposits[checkout_id]
    shop.reconciles(minutes=10)
    assert reminded(signals) == [("o-1", 1)]


def test_a_reminder_that_waits_for_a_checkout_which_is_no_longer_watched_costs_a_read_an_hour(
    open_shop: OpenShop, signals: Signals
) -> None:
    shop = open_shop(PAYCHECKOUT_REMIND_AFTER=[10 * DAY])
    checkout_id = shop.starts()
    shop.abandons(checkout_id)
    for _ in range(9):
        shop.reconciles(days=1)
    shop.service.fails(checkout_id)
    shop.waits(days=1)
    shop.service.reads.clear()
    for _ in range(60):
        shop.reconciles(minutes=1)
    assert len(shop.service.reads) == 1
    del shop.service.deposits[checkout_id]
    shop.reconciles(minutes=1)
    assert reminded(signals) == [("o-1", 1)]


@pytest.mark.parametrize("ends", ["the payment fails", "a person rejects it"])
@pytest.mark.parametrize("of_request", [False, True], ids=["order", "request"])
def test_a_time_that_passed_while_a_payment_was_under_way_is_made_up(
    shop: Shop, signals: Signals, ends: str, of_request: bool
) -> None:
    order_id = asks(shop).order_id if of_request else "o-1"
    checkout_id = shop.starts(order_id)
    if ends == "the payment fails":
        shop.settles(checkout_id, "pending")
    else:
        shop.settles(checkout_id, "completed", inputAmount=1)
    shop.reconciles(hours=2)
    assert reminded(signals) == []
    if ends == "the payment fails":
        shop.settles(checkout_id, "failed")
    else:
        shop.resolves(checkout_id, accept=False)
    for _ in range(2):
        shop.reconciles()
        shop.waits(minutes=1)
    assert reminded(signals) == [(order_id, 1)]
    shop.reconciles(days=1)
    assert reminded(signals) == [(order_id, 1), (order_id, 2)]


def test_of_a_time_that_was_told_nobody_is_told_again(
    shop: Shop, signals: Signals, caplog: pytest.LogCaptureFixture
) -> None:
    checkout_id = shop.starts()
    shop.reconciles(hours=1)
    shop.settles(checkout_id, "pending")
    shop.waits(minutes=5)
    shop.settles(checkout_id, "failed")
    shop.reconciles()
    assert reminded(signals) == [("o-1", 1)]
    assert not caplog.records


def test_an_order_whose_total_cannot_be_told_is_asked_about_again_later(shop: Shop, signals: Signals) -> None:
    shop.starts()
    shop.waits(hours=1)
    price = shop.totals.pop("o-1")
    shop.paycheckout.order_total(raising(RuntimeError("no prices now")))
    for minutes in (0, 1):
        shop.reconciles(minutes=minutes)
    assert urgent(shop) == {"failing-functions:order_total"}
    shop.paycheckout.order_total(lambda order_id: price)
    shop.reconciles(minutes=10)
    assert (reminded(signals), urgent(shop)) == ([], set())
    shop.reconciles(hours=1)
    assert reminded(signals) == [("o-1", 1)]


def test_without_the_setting_nobody_is_reminded_and_no_row_waits(open_shop: OpenShop, signals: Signals) -> None:
    shop = open_shop()
    waiting = shop.attempt(shop.starts()), asks(shop)
    shop.reconciles(days=2)
    assert reminded(signals) == []
    assert [one.remind_at for one in waiting] == [None, None]


def test_an_order_of_which_a_part_is_paid_is_reminded_of_the_rest(shop: Shop, signals: Signals) -> None:
    shop.costs("20.00", parts=True)
    assert shop.settles(shop.starts(), "completed").status == "part"
    shop.reconciles(hours=1)
    assert reminded(signals) == [("o-1", 1)]


@pytest.mark.parametrize("database_kind", ["postgresql"])
@pytest.mark.parametrize("known", ["pending", "unpriced"])
def test_an_order_whose_checkout_another_transaction_keeps_locked_stops_no_other_reminder(
    open_shop: OpenShop, new_database: NewDatabase, signals: Signals, known: str
) -> None:
    address = with_patience(new_database("shop"), 0.2)
    shop = open_shop(PAYCHECKOUT_REMIND_AFTER=[HOUR], SQLALCHEMY_DATABASE_URI=address)
    locked = shop.starts("o-1")
    if known == "pending":
        shop.settles(locked, "pending")
    shop.starts("o-2")
    shop.totals |= {"o-1": "no total"} if known == "unpriced" else {}  # type: ignore[dict-item]
    shop.waits(hours=1)
    with shop.engine.connect() as other:
        table = shop.runtime.models.checkouts
        other.execute(select(table).where(table.c.checkout_id == locked).with_for_update())
        shop.reconciles()
    assert reminded(signals) == [("o-2", 1)]
