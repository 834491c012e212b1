"""The open transactions of the shop's sessions: the connections in them, and that no function of the shop ends ours.

What a session begins is noted for every session of the shop. Those of the extension are guarded too: while a function
of the shop is called in one, commits and statements that end it are refused, and none is committed that is broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, RootTransaction, StaticPool, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, SessionTransaction

from flask_paycheckout.database.connections import IDLE, IN_ERROR, limit_lock_waits, transaction_status
from flask_paycheckout.database.database_errors import cut_row

_BEGUN = "flask_paycheckout_begun"
WROTE = "flask_paycheckout_wrote"
"""The key in a session's `info` that holds what its open transaction has written."""

_GUARDED = "flask_paycheckout_guarded"
_IN_CALLBACK = "flask_paycheckout_in_callback"
_COMMENTS = r"(?is)(?:\s|--[^\n]*\n|/\*.*?\*/)*"
# A statement that begins or ends a transaction, after comments; the ones of savepoints do neither.
_ENDING = re.compile(
    _COMMENTS + r"(?:COMMIT|END|ABORT|BEGIN|START\s+TRANSACTION|PREPARE\s+TRANSACTION|"
    r"ROLLBACK(?!\s+(?:(?:WORK|TRANSACTION)\s+)?TO))\b"
)
# Before these Python's driver of SQLite begins no transaction, so what they write would be committed at once.
_UNBEGUN = re.compile(_COMMENTS + r"(?:SAVEPOINT|WITH\b.*\b(?:INSERT|UPDATE|DELETE|REPLACE))\b")
_BEGIN = "BEGIN IMMEDIATE"
_QUERY = re.compile(_COMMENTS + r"(?:SELECT|SHOW|VALUES|WITH(?!.*\b(?:INSERT|UPDATE|DELETE|MERGE)\b))\b")
_MUST_NOT = (
    "was called inside a transaction of flask_paycheckout. order_total and receivers must not commit or roll back:"
    " their changes are committed together with what is recorded about the payment"
)


class BrokenTransaction(RuntimeError):
    """A function of the shop left its transaction ended or broken."""


@dataclass
class Begun:
    """A connection in the open transaction of a session, as it was when the session took it."""

    connection: Connection
    transaction: RootTransaction | None
    driver: Any
    """The driver's connection."""

    changes: int | None
    """The number of rows that SQLite's driver had changed; None for other drivers."""

    started: bool = True
    """Whether a statement has begun the transaction in the database; drivers of PostgreSQL wait for the first one."""

    @property
    def fault(self) -> str | None:
        """The fault by which this transaction cannot be committed any more; None as far as the driver tells of none."""
        ended = "it ended the transaction that it was called in"
        if self.connection.closed or self.connection.get_transaction() is not self.transaction:
            return ended
        state = transaction_status(self.driver)
        if state == IN_ERROR:
            return "a statement failed in its transaction, which the database therefore rolls back; use begin_nested()"
        # Everybody shares the connection of a database in memory, and its transactions.
        shared = isinstance(self.connection.engine.pool, StaticPool)
        lost = self.has_changed and not (shared or self.driver.in_transaction)
        return ended if lost or (self.started and state == IDLE) else None

    @property
    def has_changed(self) -> bool:
        """Whether SQLite's driver has changed rows since then."""
        return bool(self.changes is not None and self.driver.total_changes != self.changes)

    def wrote(self) -> bool:
        """Whether this transaction has written, or locked rows, as far as the database can tell."""
        if self.changes is not None:
            return self.has_changed
        if self.connection.dialect.name != "postgresql":
            return True
        return self.connection.exec_driver_sql("SELECT txid_current_if_assigned()").scalar_one() is not None


def begun_in(session: Session) -> list[Begun]:
    """The connections of the session's open transaction."""
    return list(session.info.get(_BEGUN, ()))


# Every session of the process is watched, since a shop may have sessions of any class. A listener is called only while
# its session flushes, executes, begins or ends.
@event.listens_for(Session, "after_begin")
def _on_begin(session: Session, transaction: SessionTransaction, connection: Connection) -> None:
    """Note a connection that a session has just taken."""
    if transaction.parent is not None:
        return
    driver = connection.connection.dbapi_connection
    begun = Begun(connection, connection.get_transaction(), driver, getattr(driver, "total_changes", None))
    session.info.setdefault(_BEGUN, []).append(begun)
    if _GUARDED in session.info:
        guard(session, connection, session.info[_GUARDED])


@event.listens_for(Session, "after_transaction_end")
def _on_end(session: Session, transaction: SessionTransaction) -> None:
    """Forget the connections and the writes of a transaction that has ended."""
    if transaction.parent is None:
        session.info.pop(_BEGUN, None)
        session.info.pop(WROTE, None)


@contextmanager
def guarded(session: Session, patience: float) -> Iterator[None]:
    """Guard each connection that the session takes in this `with` block.

    :param patience: seconds that a statement waits for locks.
    """
    session.info[_GUARDED] = patience
    try:
        yield
    finally:
        session.info.pop(_GUARDED, None)


@contextmanager
def in_callback(session: Session) -> Iterator[None]:
    """Refuse the end of the session's transaction while a function of the shop runs in this `with` block."""
    outer = session.info.get(_IN_CALLBACK, False)
    session.info[_IN_CALLBACK] = True
    try:
        yield
    finally:
        session.info[_IN_CALLBACK] = outer


@event.listens_for(Session, "before_commit")
def refuse_commit(session: Session) -> None:
    """Refuse a commit inside a function of the shop."""
    if session.info.get(_IN_CALLBACK) and not session.in_nested_transaction():
        raise RuntimeError(f"db.session.commit() {_MUST_NOT}")


def guard(session: Session, connection: Connection, patience: float) -> None:
    """Limit how long a connection waits for locks, and let no function of the shop end its transaction."""
    limit_lock_waits(connection, patience)
    for one in _begun_on(connection, session):
        one.started = transaction_status(one.driver) != IDLE
        if one.changes is not None and not one.driver.in_transaction:
            # What the shop has written in a savepoint before is committed.
            one.changes = one.driver.total_changes
    connection.execution_options(**{_GUARDED: session})


def _begun_on(connection: Connection, session: Session) -> list[Begun]:
    return [one for one in begun_in(session) if one.connection is connection]


# These listeners see every connection of the process; registering them in each transaction costs more.
@event.listens_for(Engine, "commit")
def _on_commit(connection: Connection) -> None:
    session = connection.get_execution_options().get(_GUARDED)
    if session is None:
        return
    # The last moment: PostgreSQL answers the COMMIT of a broken transaction by rolling back, without an error.
    # Another connection of the session, which was only read through, may be committed already.
    faults = [one.fault for one in _begun_on(connection, session)]
    if session.info.get(_IN_CALLBACK):
        faults = [f"commit() of its connection {_MUST_NOT}"]
    for fault in filter(None, faults):
        # SQLAlchemy takes the transaction for committed by now, and would not roll it back.
        connection.connection.rollback()
        raise BrokenTransaction(fault)


@event.listens_for(Engine, "before_cursor_execute")
def _on_statement(
    connection: Connection, cursor: Any, statement: str, parameters: Any, context: Any, executemany: bool
) -> None:
    session = connection.get_execution_options().get(_GUARDED)
    if session is None:
        return
    if session.info.get(_IN_CALLBACK) and statement != _BEGIN and _ENDING.match(statement):
        raise RuntimeError(f"{statement.split()[0]} {_MUST_NOT}")
    for one in _begun_on(connection, session):
        # In a second engine with AUTOCOMMIT nothing begins a transaction; there every statement but a query is a fault.
        one.started |= not (getattr(one.driver, "autocommit", False) and _QUERY.match(statement))
        if one.changes is not None and not one.driver.in_transaction and _UNBEGUN.match(statement):
            connection.exec_driver_sql(_BEGIN)


@event.listens_for(Engine, "handle_error")
def _on_error(context: ExceptionContext) -> None:
    """Cut the refused row from an error in a function of the shop, which logs show with what was raised from it.

    A row of our tables contains the payment URL, or where a payout goes.
    """
    options = {} if context.connection is None else context.connection.get_execution_options()
    if _GUARDED in options and isinstance(context.sqlalchemy_exception, IntegrityError):
        cut_row(context.sqlalchemy_exception)
