"""The checks of the shop's database: its tables against the models, its settings, and a trial write."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    DateTime,
    Index,
    Integer,
    String,
    Table,
    UniqueConstraint,
    inspect,
)
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.database.connections import schema_of
from flask_paycheckout.database.database_errors import MIGRATE, database_text, trouble_of
from flask_paycheckout.database.models import Models
from flask_paycheckout.doctor.checks import Check, Level, failure, ok, warning
from flask_paycheckout.doctor.order_ids import check_order_ids
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.runtime import Runtime
from flask_paycheckout.wiring.host import unsupported

_TIMEOUT = 5000
# A value for the trial write, for each column type of the tables.
_FILLERS: dict[Any, Any] = {Integer: 0, String: "", DateTime: datetime(2000, 1, 1, tzinfo=UTC), Boolean: False}


def check_host(shop: Runtime) -> Iterator[Check]:
    """Yield each reason why the extension cannot work in this shop at all."""
    with ExitStack() as opened:
        connection = None
        try:
            engine = shop.sessions.engine()
            # Errors of the database itself are checked later.
            with suppress(SQLAlchemyError):
                connection = shop.sessions.open_connection() or opened.enter_context(engine.connect())
        except ConfigurationError as error:
            finding, _, remedy = str(error).partition(". ")
            yield failure("host", finding, remedy)
            return
        for reason in unsupported(shop.app, shop.models, shop.settings, engine, connection):
            yield failure("host", reason.found, reason.remedy)


def check_database(shop: Runtime) -> Iterator[Check]:
    """Check connection, tables, settings and a trial write, up to the first failure; every write is rolled back."""
    models = shop.models
    about, remedy = "database", "See SQLALCHEMY_DATABASE_URI, and whether the database runs."
    try:
        engine = shop.engine()
        with engine.connect() as connection:
            yield ok("database", f"{engine.dialect.name} answers")
            tables = list(_tables(connection, models))
            yield from tables
            if any(check.level is Level.FAILURE for check in tables):
                return
            dialect = engine.dialect.name
            for setting in _SETTINGS.get(dialect, ()):
                value = connection.exec_driver_sql(setting.query).scalar_one()
                if setting.is_unsafe(value):
                    yield warning(_NAMES[dialect], setting.found.format(value), setting.remedy)
            yield from _pooler(connection)
            yield from check_order_ids(connection, models)
            about = "writing"
            remedy = (
                f"{MIGRATE} Let the shop's database user insert into its tables; for SQLite, into the file's folder."
            )
            yield _trial(connection, models)
    except SQLAlchemyError as error:
        trouble = trouble_of(error)
        yield failure(about, database_text(error), trouble.remedy if trouble else remedy)


# The tables


def _tables(connection: Connection, models: Models) -> Iterator[Check]:
    inspector = inspect(connection)
    for table in models.tables:
        where = table.name, schema_of(table, connection)
        if not inspector.has_table(*where):
            yield failure("tables", f"{table.name} does not exist", MIGRATE)
            continue
        indexes: list[Any] = [*inspector.get_indexes(*where)]
        columns = {column["name"]: column["type"] for column in inspector.get_columns(*where)}
        unique = [*inspector.get_unique_constraints(*where), *(index for index in indexes if index["unique"])]
        faults = [*_column_faults(table, columns, connection.dialect.name), *_unique_faults(table, unique)]
        yield from (failure("tables", f"{table.name}{fault}", MIGRATE) for fault in faults)
        missing = [" and ".join(names) for names in _lacking(table.indexes, indexes)]
        if missing:
            yield warning("tables", f"{table.name} lacks the index of {', '.join(missing)}", MIGRATE)
        if not (faults or missing):
            yield ok("tables", f"{table.name} is as the models say")


def _column_faults(table: Table, types: Mapping[str, Any], dialect: str) -> Iterator[str]:
    for column in table.columns:
        fault = _fault(column, types[column.name], dialect) if column.name in types else "does not exist"
        if fault:
            yield f".{column.name} {fault}"


def _fault(column: Column[Any], stored: Any, dialect: str) -> str | None:
    length = getattr(stored, "length", None)
    if not isinstance(stored, _type_family(column.type)):
        return f"is {stored}, not {column.type}"
    if isinstance(column.type, String) and length is not None and length < (column.type.length or length + 1):
        return f"is limited to {length} characters"
    # SQLite stores times as text, without a zone.
    if isinstance(column.type, DateTime) and column.type.timezone and dialect == "postgresql" and not stored.timezone:
        return "does not keep the time zone"
    return None


def _type_family(type_: Any) -> type[Any]:
    """The family of a column type, a key of `_FILLERS`; `object` for a type that only the shop's own columns use."""
    return next((family for family in _FILLERS if isinstance(type_, family)), object)


def _unique_faults(table: Table, stored: Iterable[Any]) -> Iterator[str]:
    # Unique columns prevent two processes from storing one checkout, event or booking twice.
    for names in _lacking((each for each in table.constraints if isinstance(each, UniqueConstraint)), stored):
        yield f".{' and '.join(names)} {'is' if len(names) == 1 else 'together are'} not unique"


def _lacking(expected: Iterable[Index | UniqueConstraint], stored: Iterable[Any]) -> list[tuple[str, ...]]:
    """The columns of the expected indexes or constraints that are missing."""
    columns = {tuple(column.name for column in each.columns) for each in expected}
    return sorted(columns - {tuple(each["column_names"]) for each in stored})


# The settings


class _Setting(NamedTuple):
    """A setting of the database, and the reason why some of its values are not safe."""

    query: str
    is_unsafe: Callable[[Any], bool]
    found: str
    """The finding, with a placeholder for the value."""

    remedy: str


_NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
_SETTINGS: dict[str, Sequence[_Setting]] = {
    "sqlite": (
        _Setting(
            "SELECT coalesce(max(file), '') FROM pragma_database_list WHERE name = 'main'",
            lambda file: not file,
            "in memory: other processes cannot see it, and it ends with this one",
            "Name a file in its address.",
        ),
        _Setting(
            "PRAGMA journal_mode",
            lambda mode: mode not in ("wal", "memory"),
            "the journal mode is {}: readers block writers",
            "Once, on this database: PRAGMA journal_mode=WAL.",
        ),
        _Setting(
            "PRAGMA busy_timeout",
            lambda milliseconds: int(milliseconds) < _TIMEOUT,
            "a writer waits only {} ms for another one before it fails",
            'Set SQLALCHEMY_ENGINE_OPTIONS = {"connect_args": {"timeout": 30}}.',
        ),
        _Setting(
            "PRAGMA synchronous",
            lambda level: str(level) == "0",
            "synchronous is OFF: a power cut can lose payments",
            "Leave PRAGMA synchronous at its default.",
        ),
    ),
    "postgresql": (
        _Setting(
            "SELECT upper(current_setting('transaction_isolation'))",
            lambda level: level != "READ COMMITTED",
            "the isolation level is {}: simultaneous changes may fail until the next round of reconcile",
            "READ COMMITTED, the default, is enough.",
        ),
        *(
            _Setting(
                f"SHOW {name}",
                lambda value: value == "off",
                f"{name} is {{}}: a crash of the server can lose committed rows, such as the checkout that a customer"
                " is paying",
                f"Set {name} = on.",
            )
            for name in ("fsync", "synchronous_commit")
        ),
        # Commits that a replica lacks are lost when it takes over.
        _Setting(
            "SELECT count(*) FROM pg_stat_replication WHERE current_setting('synchronous_standby_names') = ''"
            " OR current_setting('synchronous_commit') = 'local'",
            bool,
            "a replica is connected, and commits do not wait for it: a failover can lose the last payments and sends,"
            " and a payout whose send is lost may be sent again",
            "Set synchronous_standby_names and synchronous_commit = on; see docs/outages.md.",
        ),
    ),
}


def _pooler(connection: Connection) -> Iterator[Check]:
    """Warn if psycopg prepares statements although a pooler changes connections between transactions."""
    driver: Any = connection.connection.dbapi_connection
    # Only psycopg has this attribute.
    if getattr(driver, "prepare_threshold", None) is None:
        return
    # A pooler reports an invented process id to its clients.
    if driver.info.backend_pid != connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one():
        yield warning(
            "PostgreSQL",
            "a pooler such as PgBouncer stands before it, and statements are prepared: in its transaction mode calls"
            " fail, because the next transaction runs on another connection",
            'Set SQLALCHEMY_ENGINE_OPTIONS = {"connect_args": {"prepare_threshold": None}}.',
        )


# A trial


def _trial(connection: Connection, models: Models) -> Check:
    """Insert a row into each table and roll back, to check that writes are allowed and rollbacks work."""
    mark = uuid.uuid4().hex
    connection.rollback()
    for table in models.tables:
        connection.execute(table.insert().values(_row(table, mark)))
    connection.rollback()
    return ok("writing", "rows can be written and rolled back")


def _row(table: Table, mark: str) -> dict[str, Any]:
    """A value for each column that takes no NULL and has no default.

    :param mark: the value of texts, which are unique in some tables.
    """
    generated = table.autoincrement_column
    needed = [c for c in table.columns if c is not generated and not (c.nullable or c.default or c.server_default)]
    return {
        c.name: mark[: c.type.length] if isinstance(c.type, String) else _FILLERS.get(_type_family(c.type))
        for c in needed
    }
