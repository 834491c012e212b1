"""The status of one order, and of many."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import event, update

from tests.books.test_order_list import fill
from tests.plans import plans, rows_taken
from tests.scripted import Shop
from tests.views.pages import STATUSES, reach

pytestmark = pytest.mark.on_each_database


@pytest.mark.parametrize("status", STATUSES)
def test_one_order(shop: Shop, status: str) -> None:
    reach(shop, status)
    assert shop.calls.order_status("o-1") == status
    assert shop.calls.order_statuses(["o-1", "o-2"]) == {"o-1": status, "o-2": "unpaid"}


def test_many_orders_are_read_along_an_index_without_their_histories(shop: Shop) -> None:
    engine = shop.engine
    with engine.begin() as connection:
        fill(connection)
    with shop.app.app_context(), plans(engine) as seen:
        assert shop.paycheckout.order_status("order-7") == "paid"
        assert len(shop.paycheckout.order_statuses(f"order-{number}" for number in range(500))) == 500
    assert len(seen) == 2
    for (statement, plan), rows in zip(seen, (2, 1000), strict=True):
        assert "history" not in statement
        assert "ix_paycheckout_checkout_order" in plan, plan
        assert "Seq Scan" not in plan
        if engine.dialect.name == "postgresql":
            assert rows_taken(plan) <= rows


@pytest.mark.parametrize("immediate", [False, True])
def test_a_transaction_of_the_shops_session_sees_its_own_order_status(shop: Shop, immediate: bool) -> None:
    """It sees it while holding SQLite's one write lock, even if every transaction begins by taking that lock."""
    shop.starts()
    if immediate and shop.engine.dialect.name == "sqlite":
        event.listen(shop.engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    with shop.app.app_context():
        checkout = shop.paycheckout.Checkout
        shop.db.session.execute(update(checkout).values(status="pending"))
        assert shop.paycheckout.order_status("o-1") == "pending"
        shop.db.session.rollback()
        assert shop.paycheckout.order_status("o-1") == "created"
        assert not shop.db.session().in_transaction()


def test_nothing_is_flushed_for_an_order_status(shop: Shop) -> None:
    with shop.app.app_context():
        shop.db.session.add(shop.paycheckout.Event())
        assert shop.paycheckout.order_status("o-1") == "unpaid"
        with pytest.raises(sa.exc.IntegrityError):
            shop.db.session.flush()
        assert shop.paycheckout.order_status("o-1") == "unpaid"


def test_one_value_is_not_taken_for_several_order_ids(shop: Shop) -> None:
    wrong: Any
    for wrong in ("o-1", None):
        with pytest.raises(TypeError, match=f"several order ids, not one {type(wrong).__name__}"):
            shop.calls.order_statuses(wrong)
