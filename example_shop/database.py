"""The shop's own database: its set-up, column types for money, times and secrets, and the tables of orders.

Features have tables of their own.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cryptography.fernet import Fernet, MultiFernet
from flask import current_app
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Dialect, ForeignKey, String, Text, event
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from flask import Flask
    from sqlalchemy import Connection, CursorResult, Delete, Engine, Update


class Base(DeclarativeBase):
    """The base class of the shop's models, with their metadata."""


db = SQLAlchemy(model_class=Base)

if TYPE_CHECKING:
    # db.Model is made at run time; type checkers see its base class instead.
    Model = Base
else:
    Model = db.Model


class Money(TypeDecorator[Decimal]):
    """An amount as exact text: SQLite would turn NUMERIC into a float."""

    impl = String(40)
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> str | None:
        return None if value is None else format(value, "f")

    def process_result_value(self, value: Any, dialect: Dialect) -> Decimal | None:
        return None if value is None else Decimal(value)


class Moment(TypeDecorator[datetime]):
    """An aware UTC time as ISO 8601 text of one width, so that it sorts: SQLite would forget the time zone."""

    impl = String(32)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        return None if value is None else value.astimezone(UTC).isoformat(timespec="microseconds")

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        return None if value is None else datetime.fromisoformat(value)


class Sealed(TypeDecorator[str]):
    """Text that is encrypted in the database: the first of BRAND_KEYS encrypts, and each of them decrypts."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else _brand_keys().encrypt(value.encode()).decode()

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else _brand_keys().decrypt(value.encode()).decode()


def _brand_keys() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in current_app.config["BRAND_KEYS"]])


def changed(statement: Update | Delete) -> int:
    """Run a conditional UPDATE or DELETE without committing, and return the number of rows that it matched."""
    return cast("CursorResult[Any]", db.session.execute(statement)).rowcount


def init_app(app: Flask) -> None:
    db.init_app(app)
    with app.app_context():
        if db.engine.dialect.name == "sqlite":
            prepare_sqlite(db.engine)


def create_tables(app: Flask) -> None:
    """Create all tables; called last, when every model is defined, including those of flask_paycheckout."""
    with app.app_context():
        path = db.engine.url.database
        if db.engine.dialect.name == "sqlite" and path and path != ":memory:":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        db.create_all()
        if path and path != ":memory:":
            # Processes that are forked from this one, as by gunicorn --preload, must not share its connection.
            db.engine.dispose()


def prepare_sqlite(engine: Engine) -> None:
    """Let readers work beside one writer, and let writers wait for each other instead of failing."""

    @event.listens_for(engine, "connect")
    def open_connection(connection: Any, record: object) -> None:
        connection.isolation_level = None  # the driver must not begin transactions itself; `begin` does
        connection.execute("PRAGMA busy_timeout = 30000")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A transaction that reads first and writes later would fail when another has written in between.
        connection.exec_driver_sql("BEGIN IMMEDIATE")


# Without 0, O, 1 and I, which people confuse.
_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"


def new_order_id() -> str:
    """Make an id such as `K7QM-2XHB-9TRE`, with 60 random bits, because anybody who knows the id may see the order."""
    return "-".join("".join(secrets.choice(_ALPHABET) for _ in range(4)) for _ in range(3))


class Order(Model):
    """An order; its `state` in the shop is open, paid, refunded or cancelled."""

    __tablename__ = "orders"

    id: Mapped[str] = mapped_column(String(14), primary_key=True, default=new_order_id)
    name: Mapped[str] = mapped_column(String(100))
    email: Mapped[str] = mapped_column(String(200))
    state: Mapped[str] = mapped_column(String(10), default="open")
    placed_at: Mapped[datetime] = mapped_column(Moment)
    lines: Mapped[list[Line]] = relationship(cascade="all, delete-orphan", order_by="Line.id", lazy="selectin")

    @property
    def total(self) -> Decimal:
        return sum((line.total for line in self.lines), Decimal(0))

    @property
    def consigned(self) -> bool:
        """Whether a line is consigned, so that the shop must receive the full price."""
        return any(line.consigned for line in self.lines)


class Line(Model):
    """One kind of jar in an order, with the price and the name at the time of ordering."""

    __tablename__ = "lines"

    id: Mapped[int] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"))
    slug: Mapped[str] = mapped_column(String(40))
    name: Mapped[str] = mapped_column(String(100))
    price: Mapped[Decimal] = mapped_column(Money)
    quantity: Mapped[int]
    consigned: Mapped[bool]

    @property
    def total(self) -> Decimal:
        return self.price * self.quantity
