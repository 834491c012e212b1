"""Shops in which the extension cannot work: each is refused by name, with a remedy, before any checkout is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from flask_sqlalchemy.session import Session
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session as PlainSession,
    mapped_column,
    scoped_session,
    sessionmaker,
)

from flask_paycheckout import ConfigurationError, PayCheckout
from tests.conftest import NewDatabase, OpenShop
from tests.scripted import SETTINGS, Shop


def driver(**fields: object) -> Any:
    """A replacement for the driver of a database."""

    class Error(Exception):
        pass

    def connect(*arguments: object, **keywords: object) -> None:
        raise Error("nobody listens")

    names = [
        "InterfaceError",
        "DatabaseError",
        "OperationalError",
        "IntegrityError",
        "ProgrammingError",
        "InternalError",
    ]
    errors = {name: type(name, (Error,), {}) for name in names}
    return SimpleNamespace(paramstyle="format", VERSION=(1, 4, 6), Error=Error, connect=connect, **errors, **fields)


def app_with(make: Callable[[], Flask] = lambda: Flask("shop"), **config: Any) -> Flask:
    app = make()
    app.config.update(SETTINGS | {"SQLALCHEMY_DATABASE_URI": "sqlite://"} | config)
    return app


def with_delimiters() -> Flask:
    app = Flask("shop")
    app.jinja_env.variable_start_string, app.jinja_env.variable_end_string = "[[", "]]"
    return app


def without_escapes() -> Flask:
    app = Flask("shop")
    app.jinja_env.autoescape = False
    return app


@pytest.mark.parametrize(
    ("app", "message"),
    [
        (lambda: app_with(lambda: Flask("shop", host_matching=True, static_host="shop.example")), "host_matching"),
        (lambda: app_with(with_delimiters), "delimiters of app.jinja_env"),
        (lambda: app_with(without_escapes), "app.jinja_env escapes nothing"),
        *(
            (
                lambda name=name: app_with(
                    SQLALCHEMY_DATABASE_URI=f"{name}+pymysql://nobody@127.0.0.1:9/none",
                    SQLALCHEMY_ENGINE_OPTIONS={"module": driver()},
                ),
                f"database is {name}, .* Take SQLite 3.35 or newer, or PostgreSQL 13 or newer",
            )
            for name in ("mysql", "mariadb")
        ),
        (
            lambda: app_with(SQLALCHEMY_ENGINE_OPTIONS={"module": driver(sqlite_version_info=(3, 34, 1))}),
            r"sqlite 3\.34\.1, which is too old",
        ),
    ],
    ids=["host_matching", "delimiters", "no escapes", "MySQL", "MariaDB", "old SQLite"],
)
def test_a_fault_that_init_app_can_know_is_refused_there(app: Callable[[], Flask], message: str) -> None:
    flask_app = app()
    with pytest.raises(ConfigurationError, match=message):
        PayCheckout().init_app(flask_app, SQLAlchemy(flask_app))


class Tenant:
    """A base class with a column that must have a value in each row of the shop's own tables."""

    tenant: Mapped[str]


class Staff:
    """A base class with columns that have a default or may be empty."""

    made_by: Mapped[str] = mapped_column(default="staff")
    made_at: Mapped[datetime] = mapped_column(server_default=sa.func.now())
    region: Mapped[str] = mapped_column(server_default=sa.FetchedValue())
    closed_at: Mapped[datetime | None]


class Numbered:
    """A base class whose primary key has another name than ours."""

    uid: Mapped[str] = mapped_column(primary_key=True, default="1")


def sets_up(base: type) -> None:
    """Set the extension up in a shop whose models have the columns of this class."""
    app = app_with()
    PayCheckout().init_app(app, SQLAlchemy(app, model_class=type("Base", (base, DeclarativeBase), {})))


def test_a_column_of_the_shops_own_that_no_payment_has_a_value_for_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"the column paycheckout_checkout\.tenant .*=FetchedValue"):
        sets_up(Tenant)
    with pytest.raises(ConfigurationError, match=r"the column paycheckout_checkout\.uid .* primary key"):
        sets_up(Numbered)
    sets_up(Staff)


# Checks at the first use


@contextmanager
def bound_to_a_connection(shop: Shop) -> Iterator[None]:
    """Bind the session to a connection, as tests do that roll everything back."""
    usual = shop.db.session
    with shop.db.engine.connect() as connection:
        make = sessionmaker(class_=PlainSession, bind=connection, join_transaction_mode="create_savepoint")
        shop.db.session = scoped_session(make)
        yield
        shop.db.session.remove()
    shop.db.session = usual


@contextmanager
def on_an_old_server(shop: Shop) -> Iterator[None]:
    with shop.db.engine.connect(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(shop.db.engine.dialect, "server_version_info", (12, 22))
        yield


@contextmanager
def with_delimiters_of_its_own(shop: Shop) -> Iterator[None]:
    shop.app.jinja_env.block_start_string = "<%"
    yield


@pytest.mark.parametrize(
    ("world", "database_kind", "message"),
    [
        (bound_to_a_connection, "sqlite", "bound to a connection of its own"),
        (bound_to_a_connection, "postgresql", "bound to a connection of its own"),
        (on_an_old_server, "postgresql", r"postgresql 12\.22, which is too old"),
        (with_delimiters_of_its_own, "sqlite", "delimiters"),
    ],
    ids=["connection", "connection of a server", "old PostgreSQL", "delimiters"],
)
def test_a_fault_that_the_first_use_can_know_is_refused_there_and_by_doctor(
    open_shop: OpenShop, world: Callable[[Shop], Any], message: str
) -> None:
    shop = open_shop()
    with shop.app.app_context(), world(shop):
        with pytest.raises(ConfigurationError, match=message):
            shop.paycheckout.start("o-1")
        ran = shop.runs("doctor")
    assert shop.service.created == []
    (line,) = (line for line in ran.stdout.splitlines() if line.startswith("failure"))
    assert line.startswith("failure  host: ")
    assert ran.exit_code == 1


# Tenants

tenant: ContextVar[str] = ContextVar("tenant", default="a")


class OfEngines(Session):
    """A session with the engine of the current tenant."""

    def get_bind(self, *arguments: Any, **keywords: Any) -> Any:
        return self._db.engines[None if tenant.get() == "a" else "b"]


class OfSchemas(Session):
    """A session with the schema of the current tenant, by an option of the engine."""

    def get_bind(self, *arguments: Any, **keywords: Any) -> Any:
        schemas = {None: None if tenant.get() == "a" else "b"}
        return self._db.engine.execution_options(schema_translate_map=schemas)


def of_search_path(shop: Shop) -> None:
    """Let each transaction of the shop begin with the schema of the current tenant."""

    def begin(session: Any, transaction: object, connection: sa.Connection) -> None:
        if tenant.get() == "b":
            connection.exec_driver_sql("SET LOCAL search_path TO b")

    sa.event.listen(shop.db.session, "after_begin", begin)


def nothing(shop: Shop) -> None: ...


@pytest.mark.parametrize(
    ("sessions", "database_kind", "prepare"),
    [(OfEngines, "sqlite", nothing), (OfSchemas, "sqlite", nothing), (Session, "postgresql", of_search_path)],
    ids=["database", "schema of the engine", "search_path"],
)
def test_a_second_tenant_is_refused_before_a_payment_of_it_is_begun(
    open_shop: OpenShop, new_database: NewDatabase, sessions: type[Session], prepare: Callable[[Shop], None]
) -> None:
    shop = open_shop(session_options={"class_": sessions}, SQLALCHEMY_BINDS={"b": new_database("b")})
    prepare(shop)
    if shop.engine.dialect.name == "postgresql":
        shop.executes(sa.text("CREATE SCHEMA b"))
    shop.starts()
    token = tenant.set("b")
    try:
        with shop.app.app_context():
            shop.db.session.execute(sa.text("SELECT 1"))
            with pytest.raises(ConfigurationError, match=r"leads to another .* than before"):
                shop.paycheckout.start("o-2")
    finally:
        tenant.reset(token)
    assert len(shop.service.created) == 1
    shop.has_paid()


class Routing(Session):
    """A session that reads from a replica and writes to the primary, as in SQLAlchemy's documentation."""

    def get_bind(self, mapper: Any = None, clause: Any = None, bind: Any = None, **keywords: Any) -> Any:
        if bind is not None:
            return bind
        writes = self._flushing or isinstance(clause, sa.Update | sa.Delete | sa.Insert)
        return self._db.engines[None if writes else "replica"]


def test_a_session_that_reads_from_a_replica_is_asked_as_a_writer(open_shop: OpenShop, tmp_path: Any) -> None:
    path = tmp_path / "shop.db"
    shop = open_shop(
        session_options={"class_": Routing},
        SQLALCHEMY_DATABASE_URI=f"sqlite:///{path}",
        SQLALCHEMY_BINDS={"replica": f"sqlite:///file:{path}?mode=ro&uri=true"},
    )
    shop.has_paid()
    checkout_id = str(shop.attempts()[0].checkout_id)
    with shop.app.app_context():
        for _ in "twice":
            shop.paycheckout.pay_out("p-1", "5.00", "USD", by="Ada")
        shop.paycheckout.refund(checkout_id, "1.00", by="Ada", why="broke")
        shop.db.session.commit()


def test_the_first_use_leaves_the_pool_to_those_that_hold_a_connection(shop: Shop) -> None:
    with shop.app.app_context():
        engine = shop.db.engine
        engine.dispose()
        with engine.connect():
            shop.paycheckout.order_status("o-1")
        assert engine.pool.checkedin() == 2, "both came back to the same pool"
