"""Knows whether the shop's own session holds work that is not committed, so that nothing of ours commits it."""

from __future__ import annotations

from typing import Any

from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Connection, StaticPool, event
from sqlalchemy.orm import ORMExecuteState, Session, SessionTransaction

from flask_paycheckout.errors import UncommittedChanges

__all__ = ["refuse_uncommitted", "watch_writes"]

_WROTE = "flask_paycheckout_wrote"
_COUNT = "flask_paycheckout_count"
_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLAC")


def watch_writes(db: SQLAlchemy) -> None:
    """Remember of each session of this `db` what it wrote in its open transaction."""
    # Listening twice is listening once; asking event.contains first is not safe, since a new object may have the
    # address of one that is gone and be taken for it.
    event.listen(db.session, "after_flush", _after_flush)
    event.listen(db.session, "do_orm_execute", _on_execute)
    event.listen(db.session, "after_begin", _on_begin)
    event.listen(db.session, "after_transaction_end", _on_end)


def refuse_uncommitted(db: SQLAlchemy, call: str, *, only_if_blocking: bool = False) -> None:
    """Raise when the current `db.session` holds changes that are not committed.

    :param only_if_blocking: raise only where our own write could not proceed beside them, or would commit them:
        SQLite has one writer, and an in-memory one has a single connection for everybody.
    :raises UncommittedChanges: names the changed classes, never their values.
    """
    if not db.session.registry.has():
        return
    session = db.session()
    single_writer = db.engine.dialect.name == "sqlite" or isinstance(db.engine.pool, StaticPool)
    if only_if_blocking and not single_writer:
        return
    written = session.info.get(_WROTE) or _wrote_unseen(session)
    locked = single_writer and _holds_lock(session)
    changed = written or (_pending(session) if locked or not only_if_blocking else "")
    if changed:
        raise UncommittedChanges(call, changed)
    if locked and not session.in_nested_transaction():
        # Where every transaction takes SQLite's one write lock, a session that only read would lock us out for ever.
        session.rollback()


def _connection_of(session: Session) -> Any:
    """The SQLite connection of the session's open transaction, or None."""
    if not session.in_transaction():
        return None
    return session.connection().connection.dbapi_connection


def _wrote_unseen(session: Session) -> str:
    """Rows that a plain connection changed, past every event of the session; SQLite counts them."""
    before, connection = session.info.get(_COUNT), _connection_of(session)
    changed = before is not None and getattr(connection, "total_changes", before) != before
    return "rows written through its connection" if changed else ""


def _holds_lock(session: Session) -> bool:
    """Whether the session's SQLite connection is inside a real transaction, not only in SQLAlchemy's view."""
    return bool(getattr(_connection_of(session), "in_transaction", False))


def _pending(session: Session) -> str:
    """The classes with changes that are not flushed yet."""
    changed = [*session.new, *session.deleted, *(one for one in session.dirty if session.is_modified(one))]
    return ", ".join(sorted({type(one).__name__ for one in changed}))


def _after_flush(session: Session, context: object) -> None:
    session.info[_WROTE] = _pending(session) or session.info.get(_WROTE) or "flushed rows"


def _on_execute(state: ORMExecuteState) -> None:
    if state.is_insert or state.is_update or state.is_delete or _is_written_out(state.statement):
        state.session.info[_WROTE] = state.session.info.get(_WROTE) or "an executed statement"


def _is_written_out(statement: Any) -> bool:
    """Whether a `text()` statement begins as a write does."""
    return getattr(statement, "text", "").lstrip()[:6].upper() in _WRITES


def _on_begin(session: Session, transaction: SessionTransaction, connection: Connection) -> None:
    if transaction.parent is None:
        session.info[_COUNT] = getattr(connection.connection.dbapi_connection, "total_changes", None)


def _on_end(session: Session, transaction: SessionTransaction) -> None:
    if transaction.parent is None:
        session.info.pop(_WROTE, None)
        session.info.pop(_COUNT, None)
