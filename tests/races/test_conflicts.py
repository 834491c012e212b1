"""PostgreSQL ends a transaction to resolve a conflict: no caller sees that, because the work is retried."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from sqlalchemy import Connection, text

from flask_paycheckout import OrderSettled
from flask_paycheckout.checkouts.start import EarlierUnread
from tests.conftest import NewDatabase, OpenShop
from tests.locks import with_option
from tests.races.crowds import PATIENCE
from tests.races.interleaving import every_interleaving
from tests.races.pages import Acts, Pages
from tests.scripted import Shop

pytestmark = pytest.mark.parametrize("database_kind", ["postgresql"])


@pytest.fixture(params=["REPEATABLE READ", "SERIALIZABLE"])
def strict_shop(open_shop: OpenShop, request: pytest.FixtureRequest) -> Shop:
    """A shop whose transactions fail with a serialization error instead of reading changed rows again."""
    return open_shop(SQLALCHEMY_ENGINE_OPTIONS={"isolation_level": request.param}, PAYCHECKOUT_RECONCILE_READERS=1)


def test_settled_at_once_where_conflicts_are_errors(strict_shop: Shop) -> None:
    pages = Pages(strict_shop)

    def begin() -> Acts:
        pages.open_two("completed")
        return pages.settled_at_once()

    engine = strict_shop.engine
    assert every_interleaving(engine, begin, pages.one_is_paid_and_one_held, preemptions=1) > 5


def test_started_and_settled_at_once_where_conflicts_are_errors(strict_shop: Shop) -> None:
    pages = Pages(strict_shop)

    def starts() -> None:
        # While the settlement locks the row, no one can read whether the earlier page was paid.
        with suppress(OrderSettled, EarlierUnread):
            strict_shop.starts(pages.order_id)

    def begin() -> Acts:
        _, second = pages.open_two("completed")
        strict_shop.waits(minutes=15)
        return {"starts": starts, "settles": lambda: strict_shop.settles(second)}

    def check() -> None:
        _, second = pages.attempts()
        assert second.status == "paid"
        assert pages.told() == ["order_paid"]

    assert every_interleaving(strict_shop.engine, begin, check, preemptions=1) > 5


def waits(looking: Connection) -> bool:
    is_waiting = looking.execute(text("SELECT bool_or(cardinality(pg_blocking_pids(pid)) > 0) FROM pg_stat_activity"))
    waiting = bool(is_waiting.scalar_one())
    looking.rollback()
    return waiting


def test_a_settle_that_a_deadlock_ended_is_done_anew(open_shop: OpenShop, new_database: NewDatabase) -> None:
    """The shop's own program locks both checkouts of an order in the reverse order, with a much longer timeout."""
    shop = open_shop(SQLALCHEMY_DATABASE_URI=with_option(new_database("deadlock"), "deadlock_timeout=2s"))
    pages = Pages(shop)
    first, second = pages.open_two("failed")
    lock = text("SELECT id FROM paycheckout_checkout WHERE checkout_id = :checkout_id FOR UPDATE")
    engine = shop.engine
    with engine.connect() as other, engine.connect() as looking, ThreadPoolExecutor(1) as pool:
        other.execute(text("SET deadlock_timeout = '60s'"))
        other.execute(lock, {"checkout_id": second})
        settled = pool.submit(shop.settles, first)
        deadline = time.monotonic() + PATIENCE
        while not waits(looking):
            assert time.monotonic() < deadline
        other.execute(lock, {"checkout_id": first})
        other.rollback()
        assert settled.result(PATIENCE).status == "abandoned"
    assert pages.told() == ["order_pending"], "the second page is still the order's hope"
