"""The number of pooled database connections that one request needs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout import Pay, PayCheckout, order_paid
from tests.conftest import OpenShop
from tests.scripted import Shop

# The ids of a paid and of a held checkout, and the reference of a request.
Ids = dict[str, str]
CALLS: dict[str, Callable[[PayCheckout, Ids], object]] = {
    # The first call, because the threads of a round that has reads and payouts take a connection each.
    "reconcile": lambda shop, ids: shop.reconcile(),
    "start": lambda shop, ids: shop.start("o-3"),
    "settle": lambda shop, ids: shop.settle(ids["paid"]),
    "resolve": lambda shop, ids: shop.resolve(ids["held"], True, "Ada", "why"),
    "balance": lambda shop, ids: shop.balance("o-1"),
    "request": lambda shop, ids: shop.request(Pay("1", "USD"), title="a", by="Ada"),
    "order_status": lambda shop, ids: shop.order_status("o-1"),
    "explain": lambda shop, ids: shop.explain("o-1"),
    "books": lambda shop, ids: shop.books(),
    "figures": lambda shop, ids: shop.figures("2026-01-01", "2026-02-01"),
    "pay_out": lambda shop, ids: shop.pay_out("p-2", "1", "USD"),
    "refund": lambda shop, ids: shop.refund(ids["paid"], "1", by="Ada", why="broken"),
    "claim_url": lambda shop, ids: shop.claim_url("p-1", by="Ada"),
    "cancel_payout": lambda shop, ids: shop.cancel_payout("p-1", by="Ada", why="broken"),
    "pay_url": lambda shop, ids: shop.pay_url("o-1"),
    "erase": lambda shop, ids: shop.erase("o-1", by="Ada", why="asked"),
    "stored_about": lambda shop, ids: shop.stored_about("o-1"),
    "withdraw_request": lambda shop, ids: shop.withdraw_request(ids["request"], by="Ada", why="w"),
}


def test_a_call_after_a_read_takes_no_second_connection(open_shop: OpenShop, each_database: str) -> None:
    single = {"pool_size": 1, "max_overflow": 0, "pool_timeout": 0.2}
    shop = open_shop(SQLALCHEMY_DATABASE_URI=each_database, SQLALCHEMY_ENGINE_OPTIONS=single)
    ids = {"paid": shop.has_paid("o-1"), "held": shop.has_held("o-2")}
    shop.costs("3", "o-3")
    with shop.app.app_context():
        shop.paycheckout.pay_out("p-1", "5.00", "USD", by="Ada")
        ids["request"] = shop.paycheckout.request(Pay("1", "USD"), title="a", by="Ada").reference
        shop.db.session.commit()
    for call in CALLS.values():
        with shop.app.app_context():
            shop.db.session.execute(text("SELECT 1"))
            call(shop.paycheckout, ids)


@pytest.mark.on_each_database("pg8000")
@pytest.mark.parametrize("call", ["start", "settle", "explain"])
def test_a_call_works_beside_a_transaction_of_the_shop_that_is_broken(shop: Shop, call: str) -> None:
    ids = {"paid": shop.has_paid("o-1")}
    shop.costs("3", "o-3")
    with shop.app.app_context():
        with suppress(SQLAlchemyError):
            shop.db.session.execute(text("SELECT * FROM nowhere"))
        CALLS[call](shop.paycheckout, ids)


@pytest.mark.on_each_database
@pytest.mark.parametrize("call", ["start", "settle"])
def test_a_receiver_keeps_its_transaction_when_it_calls_after_a_read(shop: Shop, call: str) -> None:
    def receive(app: object, **facts: object) -> None:
        shop.db.session.execute(text("SELECT 1"))
        CALLS[call](shop.paycheckout, {"paid": "chk-1"})

    shop.costs("3", "o-3")
    with order_paid.connected_to(receive, sender=shop.app):
        shop.has_paid("o-1")
    assert [event.delivered_at is not None for event in shop.events("order_paid")] == [True]


def test_the_first_look_at_the_database_leaves_the_connections_of_other_threads_in_their_pool(
    open_shop: OpenShop,
) -> None:
    shop = open_shop()
    engine, looks = shop.runtime.engine(), cast("Any", shop.runtime.engine)
    engine.dispose()
    looks.cache_clear()
    taken: list[Any] = []

    def another_thread_takes_one(connection: object) -> None:
        taken.append(engine.raw_connection())

    event.listen(engine, "engine_connect", another_thread_takes_one, once=True)
    looks()
    assert cast("Any", engine.pool).checkedout() == len(taken) == 1
    taken[0].close()
