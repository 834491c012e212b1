"""The shop's own database: its set-up, column types for money, times and secrets, and the tables of orders.

Features have their own tables.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet, MultiFernet
from flask import current_app
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Dialect, ForeignKey, String, Text, event
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from flask import Flask
    from sqlalchemy import Connection, Engine


class Model(DeclarativeBase):
    """The base class of the shop's models, with their metadata."""


db = SQLAlchemy(metadata=Model.metadata)


class AsText(TypeDecorator[Any]):
    """A column that keeps its values as text, which `write` makes and `read` understands."""

    impl = Text

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else self.write(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else self.read(value)

    def write(self, value: Any) -> str:
        raise NotImplementedError

    def read(self, text: str) -> Any:
        raise NotImplementedError


class Money(AsText):
    """An exact amount: SQLite would turn NUMERIC into a float."""

    cache_ok = True

    def write(self, value: Decimal) -> str:
        return f"{value:f}"

    def read(self, text: str) -> Decimal:
        return Decimal(text)


class Moment(AsText):
    """An aware UTC time as ISO 8601 text of fixed width, which sorts by time: SQLite would lose the time zone."""

    cache_ok = True

    def write(self, value: datetime) -> str:
        return value.astimezone(UTC).isoformat(timespec="microseconds")

    def read(self, text: str) -> datetime:
        return datetime.fromisoformat(text)


class Sealed(AsText):
    """Text that is encrypted: the first of BRAND_KEYS encrypts, and each of them decrypts."""

    cache_ok = True

    def write(self, value: str) -> str:
        return _brand_keys().encrypt(value.encode()).decode()

    def read(self, text: str) -> str:
        return _brand_keys().decrypt(text).decode()


def _brand_keys() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in current_app.config["BRAND_KEYS"]])


def init_app(app: Flask) -> None:
    db.init_app(app)
    with app.app_context():
        if db.engine.dialect.name == "sqlite":
            prepare_sqlite(db.engine)


def create_tables(app: Flask) -> None:
    """Create all tables; called last, when every model is defined, including those of flask_paycheckout."""
    with app.app_context():
        db.create_all()
        # Processes that are forked from this one, for example by gunicorn --preload, must not share its connection.
        db.engine.dispose()


def prepare_sqlite(engine: Engine) -> None:
    """Allow reads during a write, and make writers wait for each other instead of failing."""

    @event.listens_for(engine, "connect")
    def open_connection(connection: Any, record: object) -> None:
        connection.isolation_level = None  # the driver must not begin transactions itself; `begin` does
        connection.executescript("PRAGMA busy_timeout = 30000; PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A transaction that reads first and writes later would fail if another one has written in between.
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def now() -> datetime:
    """The current time by the clock of the current app."""
    time: datetime = current_app.extensions["clock"]()
    return time


# Without 0, O, 1 and I, which people confuse.
_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"


def new_order_id() -> str:
    """Make an id such as `K7QM-2XHB-9TRE`, with 60 random bits, because anybody who knows the id may see the order."""
    return "-".join("".join(secrets.choice(_ALPHABET) for _ in range(4)) for _ in range(3))


class Order(Model):
    """An order; its `state` in the shop is open, paid, refunded or cancelled."""

    __tablename__ = "orders"

    id: Mapped[str] = mapped_column(String(14), primary_key=True, default=new_order_id)
    form_key: Mapped[str] = mapped_column(String(64), unique=True)
    """The secret of the form that placed the order, so that a form that is sent twice places one order."""

    name: Mapped[str] = mapped_column(String(100))
    email: Mapped[str] = mapped_column(String(200))
    state: Mapped[str] = mapped_column(String(10), default="open")
    placed_at: Mapped[datetime] = mapped_column(Moment, default=now)
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
