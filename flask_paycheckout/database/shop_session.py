"""Protection of the shop's session: its uncommitted changes are detected, and never committed by the extension."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, StaticPool, Table, event
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import ORMExecuteState, Session

from flask_paycheckout.database.hosts import ShopDatabase
from flask_paycheckout.database.open_transactions import WROTE, begun_in
from flask_paycheckout.errors import UncommittedChanges

_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLAC")


@dataclass(frozen=True, eq=False)
class ShopSessions:
    """The sessions of one app's shop: that of the running context, with what it has not committed, and our own.

    :param table: a payment table; the session says which engine it is on.
    """

    database: ShopDatabase
    table: Table

    def of_context(self) -> Session:
        """The session of the running application context."""
        return self.database.session()

    def own(self) -> AbstractContextManager[Session]:
        """Open an application context in which the shop's session is a new one."""
        return self.database.own()

    def engine(self) -> Engine:
        """The engine of the payment tables."""
        with self.own() as session:
            return self.database.engine(self._engine_of(session))

    def refuse_uncommitted(self, call: str, *, only_if_blocking: bool = True) -> None:
        """Raise when the shop's session holds changes that are not committed.

        :param only_if_blocking: raise only when they would block our own write, or be committed by it: SQLite has one
            writer, and an in-memory database has a single connection.
        :raises UncommittedChanges: gives the changed classes, never their values.
        :raises ConfigurationError: the shop gives no new sessions.
        """
        session = self.database.current()
        if session is None:
            return
        engine = self._engine_of(session)
        single_writer = engine.dialect.name == "sqlite" or isinstance(engine.pool, StaticPool)
        if only_if_blocking and not single_writer:
            return
        # No session event tells of writes through the session's plain connection, but SQLite counts.
        unseen = any(begun.has_changed for begun in begun_in(session))
        written = session.info.get(WROTE) or ("rows written through its connection" if unseen else "")
        locked = single_writer and _holds_lock(session)
        changed = written or (_pending(session) if locked or not only_if_blocking else "")
        if changed:
            raise UncommittedChanges(call, changed)
        if locked and not session.in_nested_transaction():
            # If every transaction takes SQLite's one write lock, even a session that has only read would block us
            # forever.
            session.rollback()

    def allow_reading(self, call: str) -> None:
        """Make sure that the shop's session does not block a read on another connection.

        A session that has only read is rolled back. SQLite allows reads beside a writer, unless every transaction
        begins by taking the one write lock; an in-memory database has one connection, whose transaction our read would
        end.

        :raises UncommittedChanges: the session has uncommitted writes; gives the changed classes.
        """
        session = self.database.current()
        # A session whose flush failed holds no lock, and raises when it is used.
        if session is None or not session.is_active:
            return
        engine = self._engine_of(session)
        if isinstance(engine.pool, StaticPool) or (_holds_lock(session) and not _can_begin(engine)):
            self.refuse_uncommitted(call)

    def let_clean_go(self) -> None:
        """Roll the shop's session back if it has only read, so that a page needs no second connection beside it."""
        session = self.database.current()
        if session is None or not session.is_active or session.in_nested_transaction():
            return
        begun = begun_in(session)
        wrote = session.info.get(WROTE) or _pending(session) or any(one.fault or one.wrote() for one in begun)
        if begun and not wrote:
            session.rollback()

    def open_connection(self) -> Connection | None:
        """The connection of the open transaction of the shop's session; None without one.

        A read on it sees the transaction's own writes, and does not wait for its locks. Nothing is flushed.
        """
        session = self.database.current()
        # A session whose flush failed raises when it is used.
        if session is None or not session.is_active or not session.in_transaction():
            return None
        return session.connection(bind_arguments={"clause": self.table})

    def _engine_of(self, session: Session) -> Engine:
        return session.get_bind(clause=self.table).engine


def _can_begin(engine: Engine) -> bool:
    """Whether a transaction can begin on SQLite now, without waiting for another one's lock."""
    with engine.connect() as connection:
        driver: Any = connection.connection.dbapi_connection
        (patience,) = driver.execute("PRAGMA busy_timeout").fetchone()
        driver.execute("PRAGMA busy_timeout = 0")
        try:
            connection.begin()
        except OperationalError:
            return False
        finally:
            driver.execute(f"PRAGMA busy_timeout = {int(patience)}")
    return True


def _holds_lock(session: Session) -> bool:
    """Whether a SQLite connection of the session is in a real transaction, and not only in one of SQLAlchemy's."""
    return any(getattr(begun.driver, "in_transaction", False) for begun in begun_in(session))


def _pending(session: Session) -> str:
    """The names of the classes with unflushed changes."""
    changed = [*session.new, *session.deleted, *(one for one in session.dirty if session.is_modified(one))]
    return ", ".join(sorted({type(one).__name__ for one in changed}))


@event.listens_for(Session, "after_flush")
def _after_flush(session: Session, context: object) -> None:
    session.info[WROTE] = _pending(session) or session.info.get(WROTE) or "flushed rows"


@event.listens_for(Session, "do_orm_execute")
def _on_execute(state: ORMExecuteState) -> None:
    # A `text()` statement is known by its first word.
    is_written_out = getattr(state.statement, "text", "").lstrip()[:6].upper() in _WRITES
    if state.is_insert or state.is_update or state.is_delete or is_written_out:
        state.session.info.setdefault(WROTE, "an executed statement")
