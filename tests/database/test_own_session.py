"""Receivers and `order_total` get a session of their own, for each kind of session that a shop gives to `db`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from flask_sqlalchemy import SQLAlchemy
from flask_sqlalchemy.session import Session as FlaskSession
from sqlalchemy import Engine, text
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from flask_paycheckout import ConfigurationError, Pay, order_paid
from tests.conftest import OpenShop
from tests.scripted import Shop

Setup = Callable[[OpenShop], Shop]


def with_scopefunc(open_shop: OpenShop) -> Shop:
    """A shop with one session for each thread, as in shops that also run outside of requests."""
    return open_shop(prepare=add_note, session_options={"scopefunc": threading.get_ident})


def with_replaced_session(open_shop: OpenShop) -> Shop:
    """A shop whose session a test has replaced."""
    shop = open_shop(prepare=add_note)
    with shop.app.app_context():
        shop.db.session = scoped_session(sessionmaker(shop.db.engine, class_=FlaskSession, db=shop.db))
    return shop


def of_app_context(open_shop: OpenShop) -> Shop:
    return open_shop(prepare=add_note)


def add_note(db: SQLAlchemy) -> None:
    columns = {"id": db.Column(db.Integer, primary_key=True), "text": db.Column(db.String(40))}
    db.metadata.info["Note"] = type("Note", (db.Model,), columns)


@pytest.fixture(params=[of_app_context, with_scopefunc, with_replaced_session])
def shop(request: pytest.FixtureRequest, open_shop: OpenShop) -> Iterator[Shop]:
    setup: Setup = request.param
    shop = setup(open_shop)
    yield shop
    with shop.app.app_context():
        shop.db.session.remove()


def adds(shop: Shop, text: str) -> Any:
    note = shop.db.metadata.info["Note"](text=text)
    shop.db.session.add(note)
    return note


def notes(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return sorted(row[0] for row in connection.exec_driver_sql("SELECT text FROM note"))


@pytest.mark.on_each_database
def test_nothing_of_the_callers_session_is_committed_or_lost(shop: Shop) -> None:
    def writes(app: object, **facts: object) -> None:
        adds(shop, "receiver")

    checkout_id = shop.has_deposit("completed")
    engine = shop.runtime.engine()
    with order_paid.connected_to(writes, sender=shop.app), shop.app.app_context():
        mine = adds(shop, "host")
        before = shop.db.session()
        if engine.dialect.name == "postgresql":
            shop.db.session.flush()
        assert shop.paycheckout.settle(checkout_id).status == "paid"
        assert shop.db.session() is before
        assert notes(engine) == ["receiver"], "nothing of the host is committed"
        assert mine in before, "nor is it lost"
        shop.db.session.commit()
    assert notes(engine) == ["host", "receiver"]


class Begun(FlaskSession):
    """A session of the shop's own class, which runs a query when it is created."""

    def __init__(self, db: SQLAlchemy, **options: Any) -> None:
        super().__init__(db, **options)
        self.execute(text("SELECT 1"))


def with_begun_session(open_shop: OpenShop) -> Shop:
    shop = open_shop(prepare=add_note)
    with shop.app.app_context():
        shop.db.session = scoped_session(sessionmaker(shop.db.engine, class_=Begun, db=shop.db))
    return shop


@pytest.mark.parametrize("setup", [of_app_context, with_scopefunc, with_replaced_session, with_begun_session])
def test_order_total_waits_for_locks_no_longer_than_ten_seconds(
    open_shop: OpenShop, postgres_database: str, setup: Setup
) -> None:
    shop = setup(partial(open_shop, SQLALCHEMY_DATABASE_URI=postgres_database))
    limits: list[str] = []

    @shop.paycheckout.order_total
    def order_total(order_id: str) -> Pay:
        with shop.db.session.begin_nested():
            limits.append(shop.db.session.execute(text("SHOW lock_timeout")).scalar_one())
        return Pay("12.50", "USD")

    shop.has_paid()
    assert limits == ["10s", "10s"], "of the start, and of the payment"
    with shop.app.app_context():
        assert shop.db.session.execute(text("SHOW lock_timeout")).scalar_one() == "0", "the shop's own transactions"
        shop.db.session.remove()


def test_a_receiver_that_fails_leaves_the_callers_session_in_place(shop: Shop) -> None:
    def fails(app: object, **facts: object) -> None:
        raise RuntimeError

    checkout_id = shop.has_deposit("completed")
    with order_paid.connected_to(fails, sender=shop.app), shop.app.app_context():
        mine = adds(shop, "host")
        shop.paycheckout.settle(checkout_id)
        assert mine in shop.db.session
        shop.db.session.rollback()


def one_session(engine: Engine) -> Any:
    """A session that all code shares, as in tests that roll it back at the end."""
    session = Session(engine)
    always: Any = lambda: session  # noqa: E731 - typed as what a sessionmaker is
    return scoped_session(always)


@pytest.mark.parametrize("put", [Session, one_session])
def test_a_session_that_cannot_be_had_anew_is_refused_with_what_to_do(open_shop: OpenShop, put: Any) -> None:
    shop = open_shop(prepare=add_note)
    checkout_id = shop.has_deposit("completed")
    with shop.app.app_context(), pytest.MonkeyPatch.context() as patch:
        session = put(shop.runtime.engine())
        patch.setattr(shop.db, "session", session)
        mine = adds(shop, "host")
        with pytest.raises(ConfigurationError, match=r"db\.session .*scoped_session"):
            shop.paycheckout.settle(checkout_id)
        assert shop.attempt(checkout_id).status == "created"
        assert mine in shop.db.session
        session.close()
    assert notes(shop.runtime.engine()) == []


def test_a_session_that_begins_no_transaction_by_itself_records_payments(open_shop: OpenShop) -> None:
    shop = open_shop(prepare=add_note, session_options={"autobegin": False})
    with order_paid.connected_to(lambda app, **facts: adds(shop, "paid"), sender=shop.app):
        assert shop.settles(shop.starts(), "completed").status == "paid"
    assert notes(shop.engine) == ["paid"]
