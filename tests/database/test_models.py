"""The two tables: exact money, aware UTC times, the shop's own columns, and rows that the database itself refuses."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import String, event as sa_event
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, MappedAsDataclass, mapped_column
from sqlalchemy.orm.attributes import instance_state

from flask_paycheckout import CheckoutMixin, Pay, Receive, order_paid
from tests.conftest import OpenShop
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database


@pytest.mark.parametrize(
    "total",
    [
        Pay("0.01", "USD"),
        Pay("9" * 38 + ".99", "USD"),
        Pay("0.000000000000000001", "eth-mainnet", receive_in="usdc-polygon"),
        Receive("1500", "JPY", pay_in="USD"),
    ],
    ids=str,
)
def test_a_total_survives_the_database_exactly(shop: Shop, total: Pay | Receive) -> None:
    shop.totals["o-1"] = total
    assert shop.attempt(shop.starts()).total == total


def test_moments_come_back_as_aware_utc_however_the_row_is_loaded(shop: Shop) -> None:
    shop.starts()
    model = shop.paycheckout.Checkout
    with shop.app.app_context():
        loaded = shop.db.session.scalars(shop.db.select(model)).one()
        assert loaded.created_at == shop.clock.now
        assert loaded.created_at.tzinfo is UTC
        shop.db.session.refresh(loaded)
        assert loaded.next_read_at.tzinfo is UTC
        assert not shop.db.session.dirty, "loading marks nothing as changed"


@pytest.mark.parametrize("column", ["checkout_id", "current_order_id", "paid_order_id"])
def test_the_database_itself_refuses_a_second_current_or_paid_attempt(shop: Shop, column: str) -> None:
    shop.has_paid()
    table = shop.runtime.models.checkouts
    with shop.app.app_context(), shop.db.engine.begin() as connection:
        row = dict(connection.execute(table.select()).mappings().one())
        free = {"checkout_id": "chk-9", "current_order_id": None, "paid_order_id": None, "url": "https://pay.example/9"}
        row |= free | {"id": 9, column: row[column]}
        with pytest.raises(IntegrityError, match=column):
            connection.execute(table.insert().values(row))


def test_the_database_itself_refuses_to_tell_an_order_paid_twice(shop: Shop) -> None:
    shop.has_paid()
    table = shop.runtime.models.events
    with shop.app.app_context(), shop.db.engine.begin() as connection:
        row = dict(connection.execute(table.select().where(table.c.name == "order_paid")).mappings().one())
        with pytest.raises(IntegrityError, match="once"):
            connection.execute(table.insert().values(row | {"id": 9, "event_id": "another"}))


def test_a_receiver_gets_own_columns_under_their_own_names_and_may_write_to_them(open_shop: OpenShop) -> None:
    """The receiver's checkout comes from a plain statement, and works like an object that a session loaded."""
    loads: list[str] = []

    def own(db: SQLAlchemy) -> None:
        note = {"note": mapped_column("shop_note", String(20), default="as created", deferred=True)}
        model = type("Payment", (CheckoutMixin, db.Model), note)
        sa_event.listen(model, "load", lambda instance, context: loads.append(instance.checkout_id))

    shop = open_shop(prepare=own)
    seen: list[Any] = []

    def write(app: object, *, checkout: Any, **facts: object) -> None:
        seen.append((checkout.note, instance_state(checkout).modified, checkout in shop.db.session))
        checkout.note = "packed"

    with order_paid.connected_to(write, sender=shop.app):
        checkout_id = shop.has_paid()
    stored: Any = shop.attempt(checkout_id)
    assert seen == [("as created", False, True)]
    assert (stored.note, stored.status) == ("packed", "paid")
    assert set(loads) == {checkout_id}


def test_a_start_returns_the_checkout_as_it_is_stored(open_shop: OpenShop) -> None:
    """Including values that the database or the shop's model may have set."""

    def own(db: SQLAlchemy) -> None:
        columns = {
            "note": mapped_column(String(20), server_default="by the database"),
            "label": mapped_column(String(20), default="by the model"),
        }
        type("Payment", (CheckoutMixin, db.Model), columns)

    shop = open_shop(prepare=own)
    started: Any = shop.calls.start("o-1")
    stored = shop.runtime.checkouts.find(started.checkout_id)
    assert stored is not None
    assert shop.runtime.models.row_of(started) == shop.runtime.models.row_of(stored)
    assert (started.note, started.label) == ("by the database", "by the model")


def test_a_shop_whose_models_are_dataclasses_is_paid_and_may_add_columns_on_a_base_of_its_own(
    open_shop: OpenShop,
) -> None:
    def own(db: Any) -> None:
        # Flask-SQLAlchemy makes this class from a `model_class` of dataclasses.
        db.Model = type("Model", (MappedAsDataclass, DeclarativeBase), {"metadata": db.metadata})
        base = type("PaymentBase", (DeclarativeBase,), {"metadata": db.metadata})
        type("Payment", (CheckoutMixin, base), {"campaign": mapped_column(String(20), default="spring")})

    shop = open_shop(prepare=own)
    stored: Any = shop.attempt(shop.has_paid())
    assert (stored.status, stored.campaign) == ("paid", "spring")
