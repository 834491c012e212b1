"""Receivers that break their transaction: each counts as failed, by name, like one that raised."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import Session

from flask_paycheckout import order_paid
from tests.alarming import text_of
from tests.conftest import NewDatabase, OpenShop
from tests.hosts import FLASK_SQLALCHEMY
from tests.races.effects import add_effects, counts, writes
from tests.scripted import Shop

# The driver pg8000 does not give the state of a transaction.
pytestmark = pytest.mark.on_each_database("pg8000")

Way = Callable[[Shop], Any]

# Each way is called after the receiver has written; SQLite keeps its transaction after the ways in `_FORGIVEN`.


def swallows(statement: str) -> Way:
    def way(shop: Shop) -> None:
        with suppress(sa.exc.SQLAlchemyError):
            shop.db.session.execute(sa.text(statement))

    return way


def says(*statements: str) -> Way:
    def way(shop: Shop) -> None:
        for statement in statements:
            shop.db.session.execute(sa.text(statement))

    return way


def on_driver(*methods: str) -> Way:
    def way(shop: Shop) -> None:
        driver: Any = shop.db.session.connection().connection.dbapi_connection
        for method in methods:
            getattr(driver, method)()

    return way


def of_transaction(method: str) -> Way:
    def way(shop: Shop) -> None:
        getattr(shop.db.session.connection().get_transaction(), method)()

    return way


def flush_fails(shop: Shop) -> None:
    event: Any = shop.db.session.scalars(sa.select(shop.paycheckout.Event).limit(1)).one()
    with suppress(sa.exc.SQLAlchemyError):
        event.name = None
        shop.db.session.flush()


def session_rolls_back_in_savepoint(shop: Shop) -> None:
    with shop.db.session.begin_nested():
        shop.db.session.rollback()


def session_commits_in_savepoint(shop: Shop) -> None:
    shop.db.session.begin_nested()
    shop.db.session.commit()


def second_engine(shop: Shop) -> None:
    shop.db.session.execute(shop.db.metadatas["other"].tables["note"].insert().values(text="paid"))


def second_engine_by_orm(shop: Shop) -> None:
    shop.db.session.add(shop.db.metadatas["other"].info["Memo"](text="paid"))


def deferred_constraint(shop: Shop) -> None:
    shop.db.session.execute(shop.db.metadata.tables["child"].insert().values(parent=1))


def generator(shop: Shop) -> Iterator[None]:
    yield


async def coroutine(shop: Shop) -> None: ...


async def async_generator(shop: Shop) -> AsyncIterator[None]:
    yield


def fails_at_commit(shop: Shop) -> None:
    """A hook of the shop's session suppresses an error right before the COMMIT."""

    def hook(session: Session) -> None:
        with suppress(sa.exc.SQLAlchemyError):
            session.execute(sa.text("SELECT * FROM nowhere"))

    sa.event.listen(shop.paycheckout.session, "before_commit", hook)


WAYS: dict[str, Way] = {
    "raises": lambda shop: 1 / 0,
    "swallows a missing table": swallows("SELECT * FROM nowhere"),
    "swallows a syntax error": swallows("SELEKT 1"),
    "swallows a refused row": swallows("INSERT INTO effect (nothing) VALUES (1)"),
    "swallows a failed flush": flush_fails,
    "says ROLLBACK": says("ROLLBACK"),
    "says ABORT": says("ABORT"),
    "says COMMIT": says("COMMIT"),
    "says END": says("END"),
    "says COMMIT after comments": says("/* now */ -- all\n commit"),
    "says ROLLBACK and BEGIN": says("ROLLBACK", "BEGIN"),
    "says COMMIT and BEGIN": says("COMMIT", "BEGIN"),
    "says START TRANSACTION": says("START TRANSACTION"),
    "session commits": lambda shop: shop.db.session.commit(),
    "session commits in a savepoint": session_commits_in_savepoint,
    "session rolls back": lambda shop: shop.db.session.rollback(),
    "session rolls back in a savepoint": session_rolls_back_in_savepoint,
    "session closes": lambda shop: shop.db.session.close(),
    "session is removed": lambda shop: shop.db.session.remove(),
    "session is reset": lambda shop: shop.paycheckout.session.reset(),
    "session is invalidated": lambda shop: shop.paycheckout.session.invalidate(),
    "connection commits": lambda shop: shop.db.session.connection().commit(),
    "connection rolls back": lambda shop: shop.db.session.connection().rollback(),
    "connection closes": lambda shop: shop.db.session.connection().close(),
    "connection's transaction commits": of_transaction("commit"),
    "connection's transaction rolls back": of_transaction("rollback"),
    "connection is invalidated": lambda shop: shop.db.session.connection().invalidate(),
    "driver rolls back": on_driver("rollback"),
    "driver rolls back twice": on_driver("rollback", "rollback"),
    "second engine": second_engine,
    "second engine by the ORM": second_engine_by_orm,
    "returns a generator": generator,
    "returns a coroutine": coroutine,
    "returns an async generator": async_generator,
    "a hook fails at the commit": fails_at_commit,
    "a deferred constraint fails": deferred_constraint,
}
# In SQLite only the statement fails: the transaction stays valid, and everything is committed.
_FORGIVEN = {name for name in WAYS if name.startswith("swallows a ") and "flush" not in name} | {
    "a hook fails at the commit",
    "a deferred constraint fails",
}
# Other hosts have no `bind_key`, and their sessions no `remove`.
_OF_FLASK_SQLALCHEMY = {"second engine", "second engine by the ORM", "session is removed"}


def add_tables(db: Any) -> None:
    add_effects(db)
    sa.Table("parent", db.metadata, sa.Column("id", sa.Integer, primary_key=True))
    deferred = sa.ForeignKey("parent.id", deferrable=True, initially="DEFERRED")
    sa.Table("child", db.metadata, sa.Column("parent", sa.Integer, deferred))
    if isinstance(db, SQLAlchemy):
        db.Table("note", db.Column("text", db.String(40)), bind_key="other")
        columns = {"id": db.Column(db.Integer, primary_key=True), "text": db.Column(db.String(40))}
        db.metadatas["other"].info["Memo"] = type("Memo", (db.Model,), {"__bind_key__": "other", **columns})


@pytest.fixture
def shop(open_shop: OpenShop, new_database: NewDatabase) -> Shop:
    return open_shop(prepare=add_tables, SQLALCHEMY_BINDS={"other": new_database("other")})


@contextmanager
def breaking(shop: Shop, way: Way, *, atomic: bool) -> Iterator[list[str]]:
    """Connect a receiver that writes, and then breaks its transaction until its list contains "repaired"."""
    heard: list[str] = []

    def receiver(app: Flask, *, order_id: str, event_id: str, **facts: object) -> Any:
        repaired = "repaired" in heard
        heard.append(event_id)
        writes(shop, "receiver", order_id)
        return None if repaired else way(shop)

    with order_paid.connected_to(shop.paycheckout.atomic(receiver) if atomic else receiver, shop.app):
        yield heard


def has_failed_and_runs_again(shop: Shop, order_id: str, way: Way, *, atomic: bool, forgiven: bool) -> None:
    shop.costs("12.50", order_id)
    checkout_id = shop.has_deposit("completed", order_id)
    with breaking(shop, way, atomic=atomic) as heard:
        assert (shop.hears_of(checkout_id), shop.attempt(checkout_id).webhooks) == (200, 1)
        if not forgiven:
            stored = shop.attempt(checkout_id)
            paid = [event for event in shop.events("order_paid") if event.order_id == order_id]
            assert (stored.status == "paid") is not atomic, "only the move of an atomic receiver depends on it"
            assert "breaking.<locals>.receiver" in (stored.problem if atomic else paid[0].last_error)
            assert shop.reconciles(seconds=5).delivered == 0
            assert counts(shop, order_id) == {}
        heard.append("repaired")
        shop.reconciles(minutes=2)
    assert shop.attempt(checkout_id).status == "paid"
    assert counts(shop, order_id) == {"receiver": 1}
    (event,) = (event for event in shop.events("order_paid") if event.order_id == order_id)
    assert set(heard) == {"repaired", event.event_id}
    assert event.delivered_at is not None


@pytest.mark.parametrize("atomic", [True, False], ids=["atomic", "plain"])
def test_it_has_failed_and_runs_again_under_the_same_event_id(shop: Shop, atomic: bool) -> None:
    forgiving = shop.engine.dialect.name == "sqlite"
    failures = {}
    for name, way in WAYS.items():
        if name in _OF_FLASK_SQLALCHEMY and not isinstance(shop.db, SQLAlchemy):
            continue
        try:
            has_failed_and_runs_again(shop, name, way, atomic=atomic, forgiven=forgiving and name in _FORGIVEN)
        except Exception as error:
            failures[name] = repr(error)
    assert failures == {}


@pytest.mark.parametrize("host", [FLASK_SQLALCHEMY])
def test_an_atomic_receiver_writes_through_no_engine_of_its_own(shop: Shop, new_database: NewDatabase) -> None:
    note = shop.db.metadatas["other"].tables["note"]
    own = sa.create_engine(new_database("other"))

    def second_engine_apart(shop: Shop) -> None:
        with own.begin() as connection:
            assert connection.execute(sa.select(note)).all() == []
            connection.execute(note.insert().values(text="paid"))

    has_failed_and_runs_again(shop, "o-1", second_engine_apart, atomic=True, forgiven=False)
    with own.connect() as connection:
        assert connection.execute(sa.select(note)).all() == []
    own.dispose()


@pytest.mark.parametrize("host", [FLASK_SQLALCHEMY])
@pytest.mark.parametrize("atomic", [True, False], ids=["atomic", "plain"])
def test_a_receiver_may_read_through_a_second_engine(shop: Shop, atomic: bool) -> None:
    """Tried with several orders, because SQLAlchemy commits the connections of a session in any order."""
    memo = shop.db.metadatas["other"].info["Memo"]
    orders = [f"order-{number}" for number in range(8)]
    with breaking(shop, lambda shop: shop.db.session.scalars(sa.select(memo)).all(), atomic=atomic) as heard:
        for order_id in orders:
            shop.costs("12.50", order_id)
            assert shop.hears_of(shop.has_deposit("completed", order_id)) == 200
    assert [counts(shop, order_id) for order_id in orders] == [{"receiver": 1}] * 8
    assert len(heard) == 8
    assert "receiver" not in text_of(shop)


@pytest.mark.parametrize("host", [FLASK_SQLALCHEMY])
@pytest.mark.parametrize("atomic", [True, False], ids=["atomic", "plain"])
def test_a_second_engine_with_autocommit_may_be_read_and_not_written(
    open_shop: OpenShop, new_database: NewDatabase, atomic: bool
) -> None:
    other = {"url": new_database("other"), "isolation_level": "AUTOCOMMIT"}
    shop = open_shop(prepare=add_tables, SQLALCHEMY_BINDS={"other": other})
    memo = shop.db.metadatas["other"].info["Memo"]

    def order_total(order_id: str) -> Any:
        shop.db.session.scalars(sa.select(memo)).all()
        return shop.totals[order_id]

    shop.paycheckout.order_total(order_total)
    has_failed_and_runs_again(shop, "o-1", second_engine, atomic=atomic, forgiven=False)


def in_a_savepoint(shop: Shop, order_id: str) -> None:
    with shop.db.session.begin_nested():
        writes(shop, "receiver", order_id)


def from_a_query(shop: Shop, order_id: str) -> None:
    effect = shop.db.metadata.tables["effect"]
    query = sa.select(sa.select(sa.literal("receiver"), sa.literal(order_id)).cte())
    shop.db.session.execute(effect.insert().from_select(["who", "order_id"], query))


@pytest.mark.parametrize("write", [in_a_savepoint, from_a_query])
@pytest.mark.parametrize("atomic", [True, False], ids=["atomic", "plain"])
def test_writes_in_a_savepoint_or_query_are_rolled_back_with_their_receiver(
    shop: Shop, write: Callable[[Shop, str], None], atomic: bool
) -> None:
    """Python's SQLite driver begins no transaction before such a statement."""
    heard: list[str] = []

    def receiver(app: Flask, *, order_id: str, **facts: object) -> None:
        write(shop, order_id)
        heard.append(order_id)
        if len(heard) == 1:
            raise LookupError

    checkout_id = shop.has_deposit("completed")
    with order_paid.connected_to(shop.paycheckout.atomic(receiver) if atomic else receiver, shop.app):
        shop.settles(checkout_id)
        assert counts(shop, "o-1") == {}
        shop.reconciles(minutes=2)
    assert (counts(shop, "o-1"), len(heard)) == ({"receiver": 1}, 2)


@pytest.mark.parametrize("atomic", [True, False], ids=["atomic", "plain"])
def test_a_row_that_the_database_refuses_is_told_to_nobody(
    shop: Shop, caplog: pytest.LogCaptureFixture, atomic: bool
) -> None:
    """PostgreSQL quotes the whole row in its message, including the payment URL."""
    checkout_id = shop.has_deposit("completed")
    with breaking(shop, says("UPDATE paycheckout_checkout SET order_id = NULL"), atomic=atomic):
        shop.settles(checkout_id)
        report = text_of(shop)
    texts = report + caplog.text
    assert "breaking.<locals>.receiver" in report
    assert "constraint" in texts
    assert "/checkout/" not in texts
