"""Connections to the shop's database: our own, and the connections of the shop's sessions, whose transactions we watch.

Without a lock timeout, a request that locks its order and then calls the extension would wait for itself forever, and
every process would wait forever for a transaction that was never ended. SQLite has its own limit, `busy_timeout`.

There is one listener of each kind. It acts only in transactions of ours in which functions of the shop are called: such
a function must not end its transaction, leave it broken, or write to a second database.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from sqlalchemy import Connection, Engine, Executable, RootTransaction, StaticPool, Table, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import ORMExecuteState, Session, SessionTransaction

from flask_paycheckout.database.database_errors import (
    MIGRATE,
    READ_ONLY,
    cut_row,
    is_lost_race,
    is_refused_row,
    lacks_payment_table,
    trouble_of,
)

# States of a transaction, by libpq's numbers: no transaction is open, or a statement in it failed.
_IDLE, _IN_ERROR = 0, 3

# Keys in a session's `info`: the connections of its open transaction, and the latest transaction that has written.
_BEGUN, WROTE = "flask_paycheckout_begun", "flask_paycheckout_wrote"
GUARD = "flask_paycheckout_guard"
"""The key in a session's `info` of the object whose method `take` is called with each connection that it takes."""

_OPTION = "flask_paycheckout_transaction"
"""The execution option of a guarded connection that holds its `Begun`."""

LONGEST = 10.0
"""Seconds that a statement of ours waits for locks."""

ENDED = "it ended the transaction that it was called in"
_BROKEN = "a statement failed in its transaction, which the database therefore rolls back; use begin_nested()"
_COMMENTS = r"(?is)(?:\s|--[^\n]*\n|/\*.*?\*/)*"
# Matches a statement that begins or ends a transaction, also after comments. Statements about savepoints do not match.
_ENDING = re.compile(
    _COMMENTS + r"(?:COMMIT|END|ABORT|BEGIN|START\s+TRANSACTION|PREPARE\s+TRANSACTION|"
    r"ROLLBACK(?!\s+(?:(?:WORK|TRANSACTION)\s+)?TO))\b"
)
# Python's SQLite driver begins no transaction before these statements, so their writes would be committed at once.
_UNBEGUN = re.compile(_COMMENTS + r"(?:SAVEPOINT|WITH\b.*\b(?:INSERT|UPDATE|DELETE|REPLACE))\b")
_BEGIN = "BEGIN IMMEDIATE"
_WRITE = re.compile(_COMMENTS + r"(?:WITH\b.*\b)?(?:INSERT|UPDATE|DELETE|MERGE|REPLACE)\b")
_MUST_NOT = (
    "was called inside a transaction of flask_paycheckout. order_total and receivers must not commit or roll back:"
    " their changes are committed together with what is recorded about the payment"
)
_SECOND_ENGINE = (
    "it wrote through a second engine, whose commit is another one than that of the payment tables; see 'Tables in a"
    " second database' in docs/receivers.md"
)

# The objects that already have our listeners, which would run twice if they were added twice: engines (or the class
# `Engine`) whose statements are checked, and engines and session classes whose transactions are watched.
_SEEN: WeakSet[Any] = WeakSet()
_WATCHED: WeakSet[Any] = WeakSet()

confined_to: ContextVar[Engine | None] = ContextVar("flask_paycheckout_confined_to", default=None)
"""The only engine through which the running atomic receiver may write."""


class BrokenTransaction(RuntimeError):
    """A function of the shop left its transaction ended or broken."""


def autocommit(engine: Engine) -> Engine:
    """The engine for single statements: on PostgreSQL each statement commits itself, which saves two round trips.

    On SQLite a transaction costs no round trip, and the engine is returned unchanged.
    """
    return engine.execution_options(isolation_level="AUTOCOMMIT") if engine.dialect.name == "postgresql" else engine


def read_rows(engine: Engine, statement: Executable) -> Sequence[Any]:
    """The rows of a query, on a connection that is released afterwards."""
    with engine.connect() as connection:
        return connection.execute(statement).all()


def schema_of(table: Table, bind: Engine | Connection) -> str | None:
    """The schema of a table for this engine or connection; None for the database's default."""
    translated: Mapping[str | None, str | None] = bind.get_execution_options().get("schema_translate_map") or {}
    return translated.get(table.schema, table.schema)


def _status(driver: Any) -> int | None:
    """The state of the transaction in the database, from psycopg or psycopg2; None for the other drivers."""
    return getattr(getattr(driver, "info", None), "transaction_status", None)


_LIMIT = (
    "SELECT current_schema(), CASE WHEN current_setting('lock_timeout')::interval NOT BETWEEN '1ms' AND '{0}ms'"
    " THEN set_config('lock_timeout', '{0}ms', true) END{1}"
)
# Selects the limit that the connection began with, in milliseconds.
_RESET = ", reset_val::int FROM pg_settings WHERE name = 'lock_timeout'"
_OWN = "flask_paycheckout.lock_timeout"


def limit_lock_waits(connection: Connection, seconds: float = LONGEST) -> str | None:
    """Set a lock timeout for the statements of the open transaction; a shorter limit stays.

    The limit with which a connection began is queried once. If it is short enough, no further statement is needed.

    :returns: the connection's schema in PostgreSQL; None if no statement was needed.
    """
    if connection.dialect.name != "postgresql":
        return None
    longest = round(1000 * seconds)
    own = connection.info.get(_OWN)
    if own is not None and 1 <= own <= longest:
        return None
    schema, _, *begun_with = connection.exec_driver_sql(_LIMIT.format(longest, _RESET if own is None else "")).one()
    if begun_with:
        (connection.info[_OWN],) = begun_with
    return str(schema)


@contextmanager
def begin_limited(engine: Engine) -> Iterator[Connection]:
    """Open a transaction of our own with a lock timeout; otherwise like `Engine.begin`."""
    with engine.begin() as connection:
        limit_lock_waits(connection)
        yield connection


@contextmanager
def lost_races_ignored() -> Iterator[None]:
    """Suppress the error if the transaction in the `with` block was rolled back because of another transaction.

    Use it around the transaction, not inside: a failing COMMIT then also cancels a `return` in the block.
    """
    try:
        yield
    except DBAPIError as error:
        if not is_lost_race(error):
            raise


@dataclass(eq=False)
class Guard:
    """The limits of a transaction in which functions of the shop are called."""

    engine: Engine
    """The engine of the payment tables."""

    patience: float
    """Seconds that each statement waits for locks."""

    require_same: Callable[[str, str], object]
    """Checks that a place, such as the schema, is the same as in earlier transactions; takes its kind and its name."""

    only: Engine | None
    """The only engine through which the functions may write; None: any."""

    calling: bool = field(default=False, init=False)
    """Whether a function is running, which must not end the transaction."""

    taken: list[Begun] = field(default_factory=list, init=False)
    """The connections of the transaction."""

    def take(self, begun: Begun) -> None:
        """Guard a connection of the session: its lock timeout, its statements and its commit."""
        schema = limit_lock_waits(begun.connection, self.patience)
        if schema is not None and begun.connection.engine.pool is self.engine.pool:
            self.require_same("schema", schema)
        begun.put_under(self)
        self.taken.append(begun)

    def require_whole(self) -> None:
        """Check that the transaction is open and not broken.

        :raises BrokenTransaction: the transaction has ended or is broken.
        """
        for begun in self.taken:
            if fault := begun.fault:
                raise BrokenTransaction(fault)


@dataclass(eq=False)
class Begun:
    """A connection in the open transaction of a session, with its state when the session took it."""

    connection: Connection
    started: bool = True
    """Whether a statement has begun the transaction in the database; PostgreSQL's drivers begin with the first one."""

    guard: Guard = field(init=False)
    """The guard of a transaction of ours, set by `put_under`."""

    driver: Any = field(init=False)
    """The driver's connection."""

    changes: int | None = field(init=False)
    """The number of rows that SQLite's driver had changed at that time; None for other drivers."""

    schema: str | None = field(default=None, init=False)
    """The connection's schema in PostgreSQL; None until it was queried."""

    began_at: object = field(default=None, init=False)
    """The time when the transaction began in PostgreSQL, set by `put_under`; None if the driver knows the state."""

    _transaction: RootTransaction | None = field(init=False)

    def __post_init__(self) -> None:
        self._transaction = self.connection.get_transaction()
        self.driver = self.connection.connection.dbapi_connection
        self.changes = getattr(self.driver, "total_changes", None)

    @property
    def is_open(self) -> bool:
        """Whether a transaction is open in the database, according to the driver; True if the driver does not know."""
        return _status(self.driver) != _IDLE if self.changes is None else bool(self.driver.in_transaction)

    @property
    def fault(self) -> str | None:
        """The fault because of which this transaction can no longer be committed; None if no fault is known."""
        begun = self.started if self.changes is None else self.driver.total_changes != self.changes
        # All threads share the connection of a database in memory, and its transactions.
        lost = begun and not (self.is_open or isinstance(self.connection.engine.pool, StaticPool))
        if lost or self.connection.get_transaction() is not self._transaction:
            return ENDED
        if self.began_at is not None:
            return self._fault_in_database()
        return _BROKEN if self.changes is None and _status(self.driver) == _IN_ERROR else None

    def _fault_in_database(self) -> str | None:
        """The `fault`, found by a query: the database refuses every query in a broken transaction."""
        try:
            return ENDED if self._asked_beginning() != self.began_at else None
        except DBAPIError as error:
            if trouble_of(error) is not None:
                raise
            return _BROKEN

    def _asked_beginning(self) -> object:
        return self.connection.exec_driver_sql("SELECT now()").scalar_one()

    @property
    def has_changed(self) -> bool:
        """Whether SQLite's driver has changed rows that are not committed."""
        return self.changes is not None and self.is_open and self.driver.total_changes != self.changes

    def wrote(self) -> bool:
        """Whether this transaction has written, or locked rows, according to the database."""
        if self.changes is not None or not self.is_open:
            return self.has_changed
        query = "SELECT txid_current_if_assigned(), current_schema()"
        try:
            transaction_id, self.schema = self.connection.exec_driver_sql(query).one()
        except DBAPIError as error:
            if trouble_of(error) is not None:
                raise
            # The transaction is broken. Only pg8000 does not report this.
            return True
        return transaction_id is not None

    def put_under(self, guard: Guard) -> None:
        """Guard its statements and its commit, and count its changes from now on."""
        self.guard, self.started = guard, _status(self.driver) != _IDLE
        silent = self.changes is None and _status(self.driver) is None
        if silent and not getattr(self.driver, "autocommit", False):
            self.began_at = self._asked_beginning()
        if self.changes is not None and not self.driver.in_transaction:
            # Writes of the shop in an earlier savepoint are committed already.
            self.changes = self.driver.total_changes
        watch(self.connection.engine)
        self.connection.execution_options(**{_OPTION: self})

    def before_statement(self, statement: str) -> None:
        """Refuse a statement that would end the transaction; begin the transaction if the driver would not do so.

        :raises RuntimeError: the statement would end the transaction.
        """
        if self.guard.calling and statement != _BEGIN and _ENDING.match(statement):
            raise RuntimeError(f"{statement.split()[0]} {_MUST_NOT}")
        # With autocommit, no statement begins a transaction; a second engine that is only read may use autocommit.
        self.started |= not getattr(self.driver, "autocommit", False)
        if self.changes is not None and not self.driver.in_transaction and _UNBEGUN.match(statement):
            self.connection.exec_driver_sql(_BEGIN)

    def before_commit(self) -> None:
        """Refuse the COMMIT of a transaction that is broken, or in which a function of the shop is running.

        PostgreSQL answers the COMMIT of a broken transaction by rolling back, without an error.

        :raises BrokenTransaction: the COMMIT is refused, and the transaction rolled back.
        """
        fault = f"commit() of its connection {_MUST_NOT}" if self.guard.calling else self.fault
        if fault is not None:
            # SQLAlchemy already considers the transaction committed, and would not roll it back.
            self.connection.connection.rollback()
            raise BrokenTransaction(fault)


def watch(engine: Engine, *, strict: bool = False) -> None:
    """Guard the transactions of shops on this engine, and drop its connections that became read-only.

    :param strict: check the statements of all engines of the process, for apps in debug or testing mode.
    """
    watched = Engine if strict else engine
    if Engine not in _SEEN and watched not in _SEEN:
        _SEEN.add(watched)
        event.listen(watched, "before_cursor_execute", _on_statement)
    if engine not in _WATCHED:
        _WATCHED.add(engine)
        event.listen(engine, "commit", _on_commit)
        event.listen(engine, "savepoint", _on_savepoint)
        event.listen(engine, "handle_error", _on_error)


def watch_sessions(kind: type[Session]) -> None:
    """Record the connections that sessions of a class take, and their writes."""
    if kind not in _WATCHED:
        _WATCHED.add(kind)
        event.listen(kind, "after_begin", _on_begin)
        event.listen(kind, "after_flush", _on_flush)
        event.listen(kind, "do_orm_execute", _on_execute)


def begun_in(session: Session) -> list[Begun]:
    """The database connections that the session's open transaction uses."""
    return [begun for begun in session.info.get(_BEGUN, ()) if not begun.connection.closed]


def _on_begin(session: Session, transaction: SessionTransaction, connection: Connection) -> None:
    """Record a connection that a session has just taken."""
    connections = begun_in(session)
    # Ignore savepoints. Record each connection once, although the session's class and its base may both be watched.
    if transaction.parent is not None or any(each.connection is connection for each in connections):
        return
    begun = Begun(connection)
    session.info[_BEGUN] = [*connections, begun]
    if GUARD in session.info:
        session.info[GUARD].take(begun)


def _on_flush(session: Session, context: object) -> None:
    session.info[WROTE] = session.get_transaction()


def _on_execute(state: ORMExecuteState) -> None:
    if state.is_insert or state.is_update or state.is_delete:
        _on_flush(state.session, None)


def _on_statement(connection: Connection, cursor: object, statement: str, *rest: object) -> None:
    begun = connection.get_execution_options().get(_OPTION)
    only = confined_to.get() if begun is None else begun.guard.only
    # Compare pools, because an engine with other options has the same pool.
    if only is not None and connection.engine.pool is not only.pool and _WRITE.match(statement):
        raise RuntimeError(_SECOND_ENGINE)
    if begun is not None:
        begun.before_statement(statement)


def _on_commit(connection: Connection) -> None:
    begun = connection.get_execution_options().get(_OPTION)
    if begun is not None:
        begun.before_commit()


def _on_savepoint(connection: Connection, name: str | None) -> None:
    """Begin SQLite's transaction before a savepoint, because releasing the savepoint would commit its writes otherwise.

    A guarded connection begins the transaction before the statement instead.
    """
    if connection.dialect.name == "sqlite" and _OPTION not in connection.get_execution_options():
        driver: Any = connection.connection.dbapi_connection
        if not driver.in_transaction:
            connection.exec_driver_sql("BEGIN")


def _on_error(context: ExceptionContext) -> None:
    error, connection = context.sqlalchemy_exception, context.connection
    if error is None:
        return
    if context.dialect.name == "postgresql" and trouble_of(error) is READ_ONLY:
        # A connection to a server that became a replica still works for reading, so the pool would keep it forever.
        context.is_disconnect = True
    if lacks_payment_table(error):
        error.add_detail(MIGRATE)
    if is_refused_row(error) and connection is not None and _OPTION in connection.get_execution_options():
        # Logs show this error as the cause of the shop function's error. A row of our tables contains the payment URL,
        # or a payout's destination.
        cut_row(error)
