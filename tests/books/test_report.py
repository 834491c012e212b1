"""The report: its counts and lists, its alarms, and its cost in a large shop."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import text

from flask_paycheckout import Receive
from tests.alarming import alarms_of, examples, text_of, told, urgent
from tests.books.test_alarms import orders, starts_in_vain
from tests.conftest import OpenShop
from tests.payouts.shop import ADA, refunds
from tests.scripted import Shop, number, refusal
from tests.test_bounds import statements


def pays(shop: Shop, count: int, *, webhooks: bool = False) -> None:
    """Pay this many orders, one a minute, each found by reconcile or through its webhook."""
    for order_id in orders(shop, count):
        checkout_id = shop.has_deposit("completed", order_id)
        if webhooks:
            shop.runtime.webhooks.receive(checkout_id)
        else:
            shop.reconciles()
        shop.waits(minutes=1)


def has_second(order_id: str, shop: Shop) -> str:
    """Pay an order twice, and return the id of the second checkout, which is held."""
    first = shop.starts(order_id)
    shop.costs("13.00", order_id)
    second = shop.starts(order_id)
    shop.costs("12.50", order_id)
    shop.service.says(first, "completed")
    shop.service.says(second, "completed", inputAmount=number("13.00"))
    assert [shop.settles(first).status, shop.settles(second).reason] == ["paid", "duplicate"]
    return second


def test_webhooks_that_stopped_coming_are_an_alarm_after_five_orders(shop: Shop) -> None:
    pays(shop, 3, webhooks=True)
    pays(shop, 4)
    shop.waits(minutes=10)
    assert urgent(shop) == set()
    pays(shop, 2)
    shop.waits(minutes=10)
    alarm = alarms_of(shop)["silent-webhooks"]
    assert "none came for the newest 6 paid orders" in alarm.what
    assert set(alarms_of(shop)) == {"silent-webhooks"}
    pays(shop, 2)
    shop.waits(minutes=10)
    assert alarms_of(shop)["silent-webhooks"].since == alarm.since


def test_programs_are_told_the_same(shop: Shop) -> None:
    shop.has_held()
    shop.waits(minutes=6)
    [alarm] = told(shop).as_dict()["alarms"]
    told_of = [alarm.pop(name) for name in ("key", "kind", "severity", "since", "account", "count", "what")]
    since = "2026-01-01T12:00:00+00:00"
    key = "held-payments"
    assert told_of == [key, key, "today", since, "", 1, "1 held payment waits for your decision"]
    assert (alarm["examples"][0]["order_id"], set(alarm)) == ("o-1", {"customers", "examples", "remedies"})


@pytest.mark.on_each_database
def test_lists_are_bounded_and_say_what_they_leave_out(shop: Shop) -> None:
    names = [f"copy-{number}" for number in range(149)]
    shop.stores_like(shop.has_held(), [{"checkout_id": name, "order_id": name} for name in names])
    alarm = alarms_of(shop)["held-payments"]
    assert (told(shop).checkouts["held"], alarm.count, len(alarm.examples)) == (150, 150, 100)
    assert "150 held payments wait" in text_of(shop)
    assert "  ... and 140 more\n" in text_of(shop)


def test_the_arrived_amount_is_compared_with_the_due_amount_of_the_same_side(shop: Shop) -> None:
    shop.totals["o-1"] = Receive("10", "EUR", pay_in="USD")
    arrived = {"inputAmount": number("12"), "outputAmount": number("9"), "outputCurrency": "EUR"}
    shop.settles(shop.has_deposit("completed", "o-1", **arrived))
    [example] = examples(shop, "held-payments")
    assert "amount_mismatch, 9 EUR arrived of 10.00 EUR" in example


def test_of_money_that_is_partly_refunded_the_rest_is_to_pay_back(shop: Shop) -> None:
    rejected = shop.has_rejected("o-1")
    first = refunds(shop, rejected, "0.40").reference
    [money] = examples(shop, "money-to-pay-back")
    assert "1 USD arrived of 12.50 USD" in money
    assert "; 0.60 USD of it are left, the rest is refunded" in money
    refunds(shop, rejected)
    assert examples(shop, "money-to-pay-back") == [], "refunds cover all of it"
    shop.calls.cancel_payout(first, **ADA)
    [money] = examples(shop, "money-to-pay-back")
    assert "; 0.40 USD of it are left" in money


def test_a_part_whose_rest_nobody_pays_is_reported_after_a_week(shop: Shop) -> None:
    shop.costs("12.50", parts=True)
    shop.settles(shop.has_arrived("5"))
    shop.waits(days=6)
    assert examples(shop, "unfinished-parts") == []
    shop.waits(days=1)
    [part] = examples(shop, "unfinished-parts")
    assert "chk-1 of order o-1: completed, 5 USD arrived of 12.50 USD, since" in part


# Failures to read, apply or start


def test_reads_that_fail_for_minutes_are_told_though_none_is_overdue(shop: Shop) -> None:
    """Every failed read sets a new due time, so the alarm depends on the last successful read."""
    for order_id in ("o-1", "o-2"):
        shop.service.fails(shop.starts(order_id), refusal(401, "bad signature"))
    shop.reconciles()
    assert urgent(shop) == {"refused-keys"}, "at once; of the payments, a single failure may heal"
    for _ in range(8):
        shop.reconciles(minutes=1)
    refused, unread = told(shop).alarms
    assert (refused.key, refused.severity, refused.since.minute) == ("refused-keys", "now", 0)
    assert (unread.key, unread.severity, unread.count, unread.since.minute) == ("unread-payments", "note", 2, 0)
    assert told(shop).exit_code == 2
    assert "bad signature" in str(unread.examples[0])
    assert "NOTE   2026-01-01 12:00:00Z       2  2 payments could not be read or settled" in text_of(shop)
    assert "Nothing needs a person" not in text_of(shop)
    shop.service.deposits.clear()
    shop.reconciles(minutes=10)
    assert urgent(shop) == set(), "a read that succeeds takes the alarm back"


@pytest.mark.on_each_database
def test_a_page_that_waits_for_its_read_is_no_answer_and_no_other_page_reads_meanwhile(
    shop: Shop, open_shop: OpenShop
) -> None:
    other = open_shop()
    shop.settles(read_well := shop.has_deposit("pending"))
    shop.changes(read_well, next_read_at=shop.clock.now + timedelta(hours=1))
    shop.service.fails(shop.starts("o-2"))
    for _ in range(8):
        shop.reconciles(minutes=1)
    waits: list[set[str]] = []

    def meanwhile() -> None:
        shop.waits(seconds=4)
        waits.append(urgent(other))
        other.runtime.statuses.of("o-1")

    shop.service.meanwhile = meanwhile
    shop.runtime.statuses.of("o-1")
    assert waits == [{"failing-service"}]


CLOSED = refusal(503, "closed for\x1b[2J repair")


@pytest.mark.on_each_database
def test_starts_that_another_process_makes_are_starts_that_succeed(shop: Shop, open_shop: OpenShop) -> None:
    """A process clears only its own failures; checkouts of other processes prove that starts succeed."""
    other = open_shop()
    other.starts()
    shop.waits(seconds=1)
    for _ in range(2):
        starts_in_vain(shop, CLOSED)
    shop.waits(minutes=6)
    assert "failing-service" in urgent(other)
    other.starts("o-2")
    assert "failing-service" not in urgent(shop)
    shop.waits(minutes=1)
    starts_in_vain(shop, CLOSED)
    assert "failing-service" not in urgent(shop), "not for five minutes since the other's success"
    shop.waits(minutes=6)
    starts_in_vain(shop, CLOSED)
    assert "failing-service" in urgent(shop)


@pytest.mark.on_each_database
def test_an_answer_ends_the_failures_of_another_process_though_an_older_one_was_not_needed(
    shop: Shop, open_shop: OpenShop
) -> None:
    other = open_shop()
    other.starts()
    shop.waits(seconds=1)
    starts_in_vain(shop, CLOSED)
    other.reconciles(minutes=2)
    other.starts("o-2")
    with shop.engine.connect() as connection:
        failing = connection.execute(text("SELECT count FROM paycheckout_service WHERE operation = 'start'"))
        assert failing.scalar_one() == 0


@pytest.mark.on_each_database
def test_keys_that_another_process_was_refused_are_tried_by_a_round(shop: Shop, open_shop: OpenShop) -> None:
    starts_in_vain(shop, refusal(401, "bad signature"))
    other = open_shop()
    assert "refused-keys" in urgent(other)
    other.reconciles(minutes=11)
    assert "refused-keys" not in urgent(other), "though it has made no other call"


@pytest.mark.on_each_database
def test_failures_are_written_down_at_most_once_a_minute(shop: Shop) -> None:
    def written(seen: list[str]) -> int:
        return sum(each.startswith(("INSERT INTO paycheckout_service", "UPDATE paycheckout_service")) for each in seen)

    with statements(shop) as seen:
        for _ in range(60):
            starts_in_vain(shop, CLOSED)
            shop.waits(seconds=2)
    assert written(seen) <= 5
    with statements(shop) as seen:
        for order_id in orders(shop, 5):
            shop.starts(order_id)
    assert written(seen) == 1, "a service that answers is written down once, when it failed before"


@pytest.mark.on_each_database
def test_a_shop_that_cannot_record_failing_calls_takes_payments_as_before(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    starts_in_vain(shop, CLOSED)
    shop.executes(text("DROP TABLE paycheckout_service"))
    starts_in_vain(shop, CLOSED)
    assert "record of failing calls could not be stored" in caplog.text
    checkout_id = shop.has_deposit("completed")
    assert shop.settles(checkout_id).status == "paid"
