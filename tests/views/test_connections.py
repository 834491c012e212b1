"""Connections and locks of web requests: one connection at a time, and a wait of one second for the order's row."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from flask_paycheckout.database.transactions import LockWaits
from tests.carts import Carts, add_carts
from tests.conftest import OpenShop
from tests.scripted import SAME_SITE, Shop


@pytest.fixture
def shop(open_shop: OpenShop) -> Shop:
    """A shop with one connection, in which every request reads its visitor, and the owner's pages the owner's name."""
    options = {"pool_size": 1, "max_overflow": 0, "pool_timeout": 5}
    shop = open_shop(SQLALCHEMY_ENGINE_OPTIONS=options)

    def look_up() -> None:
        shop.db.session.execute(sa.text("SELECT 1")).all()

    def owner() -> str:
        look_up()
        return "Ada"

    shop.app.before_request(look_up)
    shop.app.register_blueprint(shop.paycheckout.owner_view(owner), url_prefix="/owner")
    return shop


@pytest.mark.on_each_database
def test_each_page_needs_one_connection_beside_a_visitor_that_was_looked_up(shop: Shop) -> None:
    checkout_id = shop.has_deposit("pending")
    with shop.app.test_request_context():
        status, pay = shop.paycheckout.status_url("o-1"), shop.paycheckout.pay_url("o-2")
        shop.db.session.remove()
    requests: list[tuple[str, dict[str, Any] | None]] = [
        (status, None),
        (f"{status}/status", None),
        ("/paycheckout/webhook", {"json": {"orderId": checkout_id}}),
        (pay, {"headers": SAME_SITE}),
        ("/owner", None),
        ("/owner/payouts", None),
    ]

    def answer(asked: tuple[str, dict[str, Any] | None]) -> int:
        path, post = asked
        return (shop.browser.get(path) if post is None else shop.browser.post(path, **post)).status_code

    with ThreadPoolExecutor(max_workers=6) as threads:
        assert list(threads.map(answer, requests * 3)) == [200, 200, 200, 303, 200, 200] * 3


@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_a_transaction_that_the_shop_opened_by_a_block_or_that_locks_rows_stays_open(open_shop: OpenShop) -> None:
    shop = open_shop(prepare=lambda db: sa.Table("visitor", db.metadata, sa.Column("id", sa.Integer)))
    shop.costs("12.50", "o-2")
    with shop.app.app_context():
        with shop.db.session.begin():
            shop.db.session.execute(sa.text("SELECT 1")).all()
            shop.paycheckout.start("o-1")
            shop.db.session.execute(sa.text("INSERT INTO visitor VALUES (1)"))
        shop.db.session.execute(sa.text("SELECT * FROM visitor FOR UPDATE")).all()
        shop.paycheckout.start("o-2")
        with shop.engine.connect() as other:
            free = other.execute(sa.text("SELECT * FROM visitor FOR UPDATE SKIP LOCKED")).all()
    assert free == [], "its row is still locked"


@contextmanager
def held(carts: Carts) -> Iterator[None]:
    """Lock the order's row in another transaction."""
    with carts.shop.runtime.engine().connect() as other:
        table = carts.shop.db.metadata.tables["cart"]
        other.execute(sa.select(table).where(table.c.order_id == carts.order_id).with_for_update()).all()
        yield


def test_a_web_request_waits_a_second_for_the_shops_order_and_shows_what_is_stored(
    open_shop: OpenShop, postgres_database: str
) -> None:
    carts = Carts(open_shop(prepare=add_carts, SQLALCHEMY_DATABASE_URI=postgres_database))
    carts.fill()
    shop = carts.shop
    with shop.app.test_request_context():
        status = shop.paycheckout.status_url(carts.order_id)
    with held(carts):
        began = time.monotonic()
        page = shop.browser.get(status)
        assert (page.status_code, page.text.count("Pay now")) == (200, 0), "nobody knows whether it can be paid"
        assert time.monotonic() - began < 2.5, "however often the page needs the row"
        shop.waits(minutes=1)
        began = time.monotonic()
        assert shop.browser.post("/paycheckout/webhook", json={"orderId": carts.checkout_id}).status_code == 200
        assert time.monotonic() - began < 2.5
        assert carts.checkout.webhooks == 1
    assert shop.reconciles(minutes=1).changed == 1
    assert carts.checkout.status == "paid"


def test_few_requests_of_a_process_wait_for_locks_at_once() -> None:
    waits = LockWaits(dict)
    with waits.limited() as first, waits.limited() as second, waits.limited() as third:
        assert (first, second, third) == (1.0, 1.0, 0.1)
    with LockWaits(lambda: None).limited() as of_reconcile:
        assert of_reconcile == 10.0
