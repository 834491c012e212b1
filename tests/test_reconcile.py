"""A reconcile round: everything that is due, each thing once, and whatever fails is counted and left for the next."""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import Any

import pytest

from flask_paycheckout import Pay, ReconcileReport, order_paid
from flask_paycheckout.testing import Signals
from tests.scripted import Shop


def starts_many(shop: Shop, count: int) -> list[str]:
    shop.totals |= {f"m-{number}": Pay("12.50", "USD") for number in range(count)}
    return [shop.starts(f"m-{number}") for number in range(count)]


def test_a_round_settles_what_is_due_and_delivers_what_came_of_it(shop: Shop, signals: Signals) -> None:
    paid, pending, nothing = starts_many(shop, 3)
    shop.service.says(paid, "completed")
    shop.service.says(pending, "pending")
    report = shop.reconciles()
    assert report == ReconcileReport(checked=3, changed=2, delivered=2, failed=0)
    assert report.clean
    assert signals.names[3:] == ["order_paid", "order_pending"]
    assert shop.attempt(nothing).reads == 1


def test_what_is_not_due_is_left_alone(shop: Shop) -> None:
    checkout_id = shop.starts()
    shop.reconciles()
    shop.clock.advance(seconds=9)
    assert shop.reconciles() == ReconcileReport()
    shop.clock.advance(seconds=1)
    assert shop.reconciles() == ReconcileReport(checked=1)
    assert shop.service.reads == [checkout_id] * 2


def test_a_page_that_ran_out_unseen_is_abandoned_in_one_round(shop: Shop, signals: Signals) -> None:
    """Both reads that it takes happen, and no third."""
    shop.starts()
    shop.clock.advance(hours=3)
    assert shop.reconciles() == ReconcileReport(checked=2, changed=1, delivered=1)
    assert len(shop.service.reads) == 2
    assert signals.names[-1] == "order_abandoned"


@pytest.mark.parametrize(("limit", "checked"), [(0, 0), (1, 1), (2, 2), (5, 3), (None, 3)])
def test_a_limit_bounds_the_checkouts_that_are_read(shop: Shop, limit: int | None, checked: int) -> None:
    starts_many(shop, 3)
    assert shop.reconciles(limit).checked == checked


def test_a_limited_round_takes_the_longest_overdue(shop: Shop) -> None:
    old = shop.starts("o-1")
    shop.clock.advance(seconds=1)
    shop.starts("o-2")
    shop.reconciles(1)
    assert shop.service.reads == [old]


def test_more_than_one_batch_is_read_in_one_round(shop: Shop) -> None:
    table = shop.runtime.models.checkouts
    shop.starts()
    with shop.app.app_context(), shop.db.engine.begin() as connection:
        row = dict(connection.execute(table.select()).mappings().one())
        rows = [
            row | {"id": n, "checkout_id": f"many-{n}", "order_id": f"m-{n}", "current_order_id": f"m-{n}"}
            for n in range(2, 252)
        ]
        connection.execute(table.insert(), rows)
    assert shop.reconciles().checked == 251
    assert len(set(shop.service.reads)) == 251


def test_reads_that_fail_are_counted_and_stop_nothing(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    broken, fine = starts_many(shop, 2)
    shop.service.fails(broken)
    shop.service.says(fine, "completed")
    report = shop.reconciles()
    assert (report.checked, report.changed, report.failed, report.clean) == (2, 1, 1, False)
    assert f"checkout {broken} could not be read" in caplog.text
    assert shop.reconciles().checked == 0, "the failed one waits its turn"


def test_a_shop_that_breaks_while_settling_is_counted_and_stops_nothing(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    broken, fine = starts_many(shop, 2)
    totals = dict(shop.totals)

    @shop.paycheckout.order_total
    def order_total(order_id: str) -> Any:
        return totals[order_id] if order_id != "m-0" else 1 / 0

    shop.service.says(broken, "completed")
    shop.service.says(fine, "completed")
    report = shop.reconciles()
    assert (report.changed, report.failed) == (1, 1)
    assert f"checkout {broken} could not be settled" in caplog.text


def test_a_checkout_that_another_process_claimed_is_left_to_it(shop: Shop) -> None:
    first, second = starts_many(shop, 2)

    def meanwhile() -> None:
        shop.service.meanwhile = lambda: None
        assert shop.runtime.attempts.claim_read(second, shop.clock.now)

    shop.service.meanwhile = meanwhile
    assert shop.reconciles().checked == 1
    assert shop.service.reads == [first]


def test_two_rounds_at_once_share_the_reads(shop: Shop) -> None:
    made = starts_many(shop, 4)
    inner: list[ReconcileReport] = []

    def meanwhile() -> None:
        shop.service.meanwhile = lambda: None
        inner.append(shop.reconciles())

    shop.service.meanwhile = meanwhile
    outer = shop.reconciles()
    assert outer.checked + inner[0].checked == 4
    assert sorted(shop.service.reads) == sorted(made)


def test_events_that_were_not_delivered_are_delivered_first(shop: Shop, signals: Signals) -> None:
    calls: list[str] = []

    def fail_once(app: object, **facts: object) -> None:
        calls.append("run")
        if len(calls) == 1:
            raise RuntimeError

    with order_paid.connected_to(fail_once, sender=shop.app):
        shop.has_paid()
        assert shop.reconciles(limit=0) == ReconcileReport(delivered=1)
    assert calls == ["run", "run"]
    assert signals.names.count("order_paid") == 1


def test_a_receiver_that_fails_makes_the_round_unclean(shop: Shop) -> None:
    def fail(app: object, **facts: object) -> None:
        raise RuntimeError

    checkout_id = shop.starts()
    shop.service.says(checkout_id, "completed")
    with order_paid.connected_to(fail, sender=shop.app):
        report = shop.reconciles()
    assert report == ReconcileReport(checked=1, changed=1, delivered=0, failed=1)


def test_progress_is_told_after_each_checkout(shop: Shop) -> None:
    starts_many(shop, 3)
    seen: list[int] = []
    with shop.app.app_context():
        shop.runtime.reconcile(None, lambda report: seen.append(report.checked))
    assert seen == [1, 2, 3]


def test_no_log_holds_a_payment_url(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever has it can pay, and see what is paid."""
    caplog.set_level(logging.DEBUG)
    checkout_id = shop.starts()
    shop.service.fails(checkout_id)
    shop.reconciles()
    assert "pay.example" not in caplog.text
    assert "pay.example" not in repr(shop.attempt(checkout_id))


def test_an_abandoned_checkout_is_watched_ever_more_rarely_and_then_let_go(shop: Shop) -> None:
    checkout_id = shop.starts()
    shop.clock.advance(minutes=17)
    shop.reconciles()
    moments = []
    while shop.attempt(checkout_id).next_read_at is not None:
        shop.clock.now = shop.attempt(checkout_id).next_read_at
        moments.append(shop.clock.now)
        assert shop.reconciles().checked == 1
    pauses = [later - earlier for earlier, later in pairwise(moments)]
    assert pauses[:-1] == sorted(pauses[:-1])
    assert (moments[-1] - shop.attempt(checkout_id).moved_at).days == 7
    assert len(moments) < 40
