"""The sandbox's database: mapped base class, exact column types, engines and transactions.

Money is stored as exact text, times in UTC. No transaction is open during an HTTP call, because the receiver of a
webhook may call the sandbox again, perhaps in the same thread.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, TypeVar, cast

from sqlalchemy import (
    Connection,
    CursorResult,
    DateTime,
    Dialect,
    Engine,
    ForeignKey,
    String,
    Table as AnyTable,
    UpdateBase,
    create_engine,
    create_mock_engine,
    delete,
    event,
    insert,
)
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.orm import DeclarativeBase, InstrumentedAttribute, Mapped, Session, mapped_column
from sqlalchemy.pool import NullPool, QueuePool
from sqlalchemy.types import TypeDecorator

from flask_paycheckout.sandbox.world.context import world

_BUSY_SECONDS = 30
_CONNECT_SECONDS = 10
# First key of the advisory lock, the same in all sandbox processes; the second is the schema's.
_WORLD = 790_112
_EXCLUSIVE = "sandbox_alone"
# Shared by all engines of a process, so that a further world compiles no statement anew.
_DIALECTS: dict[str, Dialect] = {}
_COMPILED: dict[Any, Any] = {}


class ExactDecimal(TypeDecorator[Decimal]):
    """A decimal stored as text, exactly; numbers of a database may be rounded."""

    impl = String(64)
    cache_ok = True
    python_type = Decimal

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> str | None:
        return None if value is None else f"{value:f}"

    def process_result_value(self, value: str | None, dialect: Dialect) -> Decimal | None:
        return None if value is None else Decimal(value)


class UtcTime(TypeDecorator[datetime]):
    """An aware time, stored in UTC; SQLite has no time zones, so UTC is restored on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True
    python_type = datetime

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Table(DeclarativeBase):
    """Base of all mapped classes of the sandbox."""

    type_annotation_map = {Decimal: ExactDecimal, datetime: UtcTime}  # noqa: RUF012 - SQLAlchemy's own protocol


Model = TypeVar("Model", bound=Table)
Serial = Annotated[int, mapped_column(primary_key=True)]
"""Numbers rows in the order of their creation."""
AccountId = Annotated[str, mapped_column(ForeignKey("account.user_id", ondelete="CASCADE"), index=True)]
"""The user id of the account that a row belongs to, and is removed with."""


class Made(Table):
    """Base of the objects that merchants create by calls, numbered in the order of creation."""

    __abstract__ = True

    number: Mapped[Serial]
    id: Mapped[str] = mapped_column(unique=True)
    user_id: Mapped[AccountId]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


def read_url(database: str) -> URL:
    """Parse the URL of a database. :raises ArgumentError: it is malformed."""
    try:
        return make_url(database)
    except ValueError:
        raise ArgumentError("Could not parse the address of the database; its port is no number.") from None


def is_memory(database: str) -> bool:
    url = read_url(database)
    return url.get_backend_name() == "sqlite" and url.database in {None, "", ":memory:"}


def make_engine(database: str, *, is_one_of_many: bool) -> Engine:
    """Make the engine of a database. All other transactions wait for an exclusive one.

    SQLite: write-ahead log, and each transaction takes the write lock when it begins. PostgreSQL: each transaction
    shares an advisory lock, which an exclusive one takes alone. Statements are compiled once for all worlds.

    :param is_one_of_many: whether this process has many such databases, so that none may keep connections.
    """
    # Errors quote no parameters, which hold secrets of accounts and addresses of checkouts.
    options: dict[str, Any] = {"hide_parameters": True}
    url = read_url(database)
    is_sqlite = url.get_backend_name() == "sqlite"
    if is_sqlite:
        options["connect_args"] = {"check_same_thread": False, "timeout": _BUSY_SECONDS}
    else:
        connect = {} if "connect_timeout" in url.query else {"connect_timeout": _CONNECT_SECONDS}
        options |= {"pool_pre_ping": True, "connect_args": connect}
    if is_one_of_many and not is_memory(database):
        # Many worlds would keep more connections than a server or a process allows.
        options |= {"poolclass": NullPool}
    elif is_sqlite:
        # SQLite allows one writer at a time, and waiting connections only poll for its lock.
        # Threads that wait for the only connection get it in the order in which they asked.
        options |= {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0, "pool_timeout": _BUSY_SECONDS}
    engine = create_engine(_with_psycopg(url), **options)
    engine.dialect = _DIALECTS.setdefault(engine.dialect.name, engine.dialect)
    engine.update_execution_options(compiled_cache=_COMPILED)
    if is_sqlite:
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_immediate)
    else:
        event.listen(engine, "begin", _share_the_world)
    return engine


def _with_psycopg(url: URL) -> URL:
    return url.set(drivername="postgresql+psycopg") if url.drivername in {"postgresql", "postgres"} else url


def _prepare_sqlite(connection: sqlite3.Connection, record: object) -> None:
    # The driver would begin a transaction only before the first write; SQLAlchemy begins it explicitly.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_immediate(connection: Connection) -> None:
    # A shop's listener on the class `Engine` may have begun the transaction.
    if not connection.connection.driver_connection.in_transaction:  # type: ignore[union-attr]
        connection.connection.cursor().execute("BEGIN IMMEDIATE")


def _share_the_world(connection: Connection) -> None:
    how = "" if connection.get_execution_options().get(_EXCLUSIVE) else "_shared"
    connection.connection.cursor().execute(f"SELECT pg_advisory_xact_lock{how}({_WORLD}, hashtext(current_schema()))")


@contextmanager
def transaction(*, exclusive: bool = False) -> Iterator[Session]:
    """A transaction of the current application, committed at the end.

    :param exclusive: whether no other transaction may run at the same time, in any process, because all tables change.
    """
    with Session(world().engine, expire_on_commit=False) as session, session.begin():
        if exclusive:
            session.connection(execution_options={_EXCLUSIVE: True})
        yield session


def insert_rows(session: Session, model: type[Table], rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows with these values immediately; much cheaper than objects."""
    session.connection().execute(insert(model.__table__), rows)  # type: ignore[arg-type]  # every mapped table is one


KEPT = 1000
"""The number of mails, and of requests in the log, that are kept."""
_SWEEP_EVERY = 100


def sweep(session: Session, column: InstrumentedAttribute[Any], number: int) -> None:
    """Delete all but the newest rows after every hundredth row; to be called with the number of each new row."""
    if number % _SWEEP_EVERY == 0:
        session.execute(delete(column.class_).where(column <= number - KEPT))


@cache
def tables_of_world() -> list[AnyTable]:
    """All tables, in the order of their foreign keys: a table comes after those it refers to."""
    return Table.metadata.sorted_tables


def empty_tables(session: Session) -> None:
    """Delete all rows of the tables that a reset empties, and forget their objects."""
    connection = session.connection()
    for table in reversed(tables_of_world()):
        connection.execute(table.delete())
    session.expunge_all()


def make_tables(session: Session, *, is_new: bool) -> None:
    """Create missing tables; with `is_new`, all tables, without checking.

    :raises SQLAlchemyError: another version made the tables, whose columns differ.
    """
    if is_new and session.get_bind().dialect.name == "sqlite":
        # Directly by the driver, because this is half of the cost of a sandbox in memory.
        cursor = session.connection().connection.cursor()
        for statement in _sqlite_schema():
            cursor.execute(statement)
        cursor.close()
    else:
        Table.metadata.create_all(session.connection(), checkfirst=not is_new)
        for table in tables_of_world():
            session.execute(table.select().limit(0))


@cache
def _sqlite_schema() -> list[str]:
    """All CREATE statements, compiled once per process."""
    statements: list[str] = []
    dialect = SQLiteDialect()
    compiler = create_mock_engine(
        "sqlite://", lambda statement, *_: statements.append(str(statement.compile(dialect=dialect)))
    )
    Table.metadata.create_all(compiler, checkfirst=False)
    return statements


def rows_changed(session: Session, statement: UpdateBase) -> int:
    """Execute a conditional statement, and return how many rows it changed; 0 when the condition does not hold."""
    result = session.execute(statement, execution_options={"synchronize_session": False})
    return cast("CursorResult[Any]", result).rowcount
