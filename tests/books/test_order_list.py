"""The list of orders: the content of its pages, whose cost does not grow with the table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from flask_paycheckout.books.lists import ListedOrder, Page, page_of_orders
from flask_paycheckout.books.report import find_alarms
from flask_paycheckout.checkouts.states import Status
from tests.plans import plans, rows_taken
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database


def page(shop: Shop, status: Status | None = None, place: str | None = None, limit: int = 2) -> Page[ListedOrder]:
    return page_of_orders(shop.runtime.checkouts, status, place, limit)


def names(page: Page[ListedOrder]) -> list[str]:
    return [order.order_id for order in page.rows]


def has_many(shop: Shop, *order_ids: str) -> None:
    for order_id in order_ids:
        shop.costs("12.50", order_id)
        shop.starts(order_id)


def test_pages_follow_each_other_though_orders_come_meanwhile(shop: Shop) -> None:
    has_many(shop, "a", "b", "c", "d", "e")
    first = page(shop)
    has_many(shop, "f")
    second = page(shop, place=first.next_place)
    third = page(shop, place=second.next_place)
    assert [names(shown) for shown in (first, second, third)] == [["e", "d"], ["c", "b"], ["a"]]
    assert third.next_place is None


def test_orders_of_a_state_follow_by_when_it_last_changed(shop: Shop) -> None:
    has_many(shop, "a", "b", "c")
    for order_id in ("b", "a", "c"):
        shop.waits(seconds=1)
        shop.has_paid(order_id)
    first = page(shop, Status.PAID)
    second = page(shop, Status.PAID, first.next_place)
    assert (names(first), names(second)) == (["c", "a"], ["b"])
    assert second.next_place is None


def test_an_order_with_several_attempts_is_one_order(shop: Shop) -> None:
    first = shop.starts("o-1")
    shop.waits(minutes=16)
    shop.costs("13")
    second = shop.starts("o-1")
    (order,) = page(shop).rows
    assert [attempt.checkout_id for attempt in order.attempts] == [second, first]
    assert [attempt.total_amount for attempt in order.attempts] == ["13.00", "12.50"]
    assert names(page(shop, Status.CREATED)) == ["o-1"]


def test_an_order_is_in_the_best_state_of_its_attempts(shop: Shop) -> None:
    old = shop.starts("o-1")
    shop.abandons(old)
    assert names(page(shop, Status.ABANDONED)) == ["o-1"]
    shop.starts("o-1")
    assert names(page(shop, Status.ABANDONED)) == []
    assert names(page(shop, Status.CREATED)) == ["o-1"]


def test_a_second_payment_of_a_paid_order_is_found_among_what_is_held(shop: Shop) -> None:
    old = shop.starts("o-1")
    shop.waits(minutes=16)
    shop.has_paid("o-1")
    assert shop.settles(old, says="completed").status == "held"
    assert names(page(shop, Status.HELD)) == names(page(shop, Status.PAID)) == ["o-1"]
    shop.resolves(old, accept=False)
    assert names(page(shop, Status.HELD)) == []
    assert names(page(shop, Status.REJECTED)) == ["o-1"]


def test_an_invalid_position_leads_to_the_first_page(shop: Shop) -> None:
    has_many(shop, "a", "b", "c")
    nonsense = ["1-x", "1" * 40, "9" * 18 + "-1", "٣"]
    assert {tuple(names(page(shop, None, place))) for place in [*nonsense, "1-1"]} == {("c", "b")}
    assert {tuple(names(page(shop, Status.CREATED, place))) for place in [*nonsense, "1"]} == {("c", "b")}


# Plans

ROWS = 100_000

FILL = """
INSERT INTO paycheckout_checkout (checkout_id, order_id, account, current_order_id, paid_order_id, status, url,
    total_kind, total_amount, total_currency, total_parts, created_at, moved_at, revision, reads, failed_reads,
    webhooks, history)
SELECT 'many-' || n, 'order-' || (n / 2), 'brand-' || (n / 2 % 9), CASE n % 2 WHEN 1 THEN 'order-' || (n / 2) END,
    CASE WHEN n % 2 = 1 AND n % 10 <> 1 THEN 'order-' || (n / 2) END,
    CASE WHEN n % 2 = 0 THEN 'abandoned' WHEN n % 1000 = 11 THEN 'held' WHEN n % 10 = 1 THEN 'abandoned' ELSE 'paid'
    END, 'https://pay.example/' || n, 'pay', '12.50', 'USD', FALSE, {moment}, {moment}, 0, 1, 0, 1, ''
FROM {numbers}
"""
NUMBERS = {
    "sqlite": (
        "datetime('2026-01-01', '+' || n || ' seconds') || '.000000'",
        f"(WITH RECURSIVE t(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM t WHERE n < {ROWS - 1}) SELECT n FROM t)",  # noqa: S608 - a number
    ),
    "postgresql": (
        "TIMESTAMPTZ '2026-01-01 00:00:00Z' + n * INTERVAL '1 second'",
        f"generate_series(0, {ROWS - 1}) AS t(n)",
    ),
}


def fill(connection: sa.Connection) -> None:
    """Store many checkouts."""
    moment, numbers = NUMBERS[connection.dialect.name]
    connection.execute(sa.text(FILL.format(moment=moment, numbers=numbers)))
    connection.execute(sa.text("ANALYZE"))


@contextmanager
def reads_little(engine: sa.Engine, thousands: int) -> Iterator[list[tuple[str, str]]]:
    """Check that each statement reads fewer than 500 rows, and all few of SQLite's instructions; yields the plans."""
    counted: list[int] = []

    def count(connection: Any, cursor: Any, *rest: Any) -> None:
        if engine.dialect.name == "sqlite":
            cursor.connection.set_progress_handler(lambda: counted.append(1), 1000)

    sa.event.listen(engine, "before_cursor_execute", count)
    with plans(engine) as seen:
        yield seen
    sa.event.remove(engine, "before_cursor_execute", count)
    taken = [rows_taken(plan) for _, plan in seen if "actual rows" in plan]
    assert max(taken, default=0) < 500, seen
    assert len(counted) < thousands


def test_a_page_of_a_hundred_thousand_attempts_is_read_along_an_index(shop: Shop) -> None:
    engine = shop.engine
    with engine.begin() as connection:
        fill(connection)
    for status in (None, *Status):
        place = None
        for _ in range(2):
            with reads_little(engine, 40) as seen:
                shown = page(shop, status, place, limit=25)
            _, plan = seen[0]
            assert not re.search("Seq Scan|TEMP B-TREE", plan), plan
            place = shown.next_place
            assert place or status in (Status.CREATED, Status.PENDING, Status.PART, Status.REJECTED)


def test_alarms_on_the_owners_page_read_few_of_many_rows(shop: Shop) -> None:
    """Most of a shop's checkouts are final, and many of them were never paid."""
    with shop.engine.begin() as connection:
        fill(connection)
    with reads_little(shop.engine, 200) as seen:
        for account in (None, "brand-1", "somebody"):
            find_alarms(shop.runtime.alarm_context(account))
    assert len(seen) > 20


def test_alarms_and_accounts_of_many_payments_are_found_along_an_index(shop: Shop) -> None:
    """All payments have the same account and many are paid, so an index on either column would read nearly all rows."""
    checkouts = shop.runtime.models.checkouts
    paid = sa.case((checkouts.c.status == Status.PAID, checkouts.c.moved_at))
    with shop.engine.begin() as connection:
        fill(connection)
        connection.execute(checkouts.update().values(account="", payment_completed_at=paid))
        connection.execute(sa.text("ANALYZE"))
    with reads_little(shop.engine, 50):
        find_alarms(shop.runtime.alarm_context())
        assert shop.runtime.merchants.names() == [""]
