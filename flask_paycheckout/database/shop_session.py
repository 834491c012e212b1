"""Protection of the shop's session: its uncommitted changes are detected, and never committed by the extension."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from weakref import WeakSet

from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Connection, Engine, StaticPool, event
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import ORMExecuteState, Session, SessionTransaction, class_mapper, scoped_session
from sqlalchemy.util import ScopedRegistry

from flask_paycheckout.database.open_transactions import begun_in, forget_begun, is_watched, note_begun, refuse_commit
from flask_paycheckout.errors import ConfigurationError, UncommittedChanges

__all__ = ["allow_reading", "let_clean_go", "open_connection", "own_session", "refuse_uncommitted", "watch_sessions"]

# Each `db.session` that was found to make new sessions.
_giving_new_sessions: WeakSet[Any] = WeakSet()

_WROTE = "flask_paycheckout_wrote"
_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLAC")


def watch_sessions(db: SQLAlchemy) -> None:
    """Record of each session of this `db` what it does in its open transaction, and let the shop end none of ours."""
    # SQLAlchemy ignores a listener that is added twice. `event.contains` is no safe check before: a new object may have
    # the address of a deleted one.
    event.listen(db.session, "after_flush", _after_flush)
    event.listen(db.session, "do_orm_execute", _on_execute)
    event.listen(db.session, "after_begin", note_begun)
    event.listen(db.session, "after_transaction_end", forget_begun)
    event.listen(db.session, "before_commit", refuse_commit)
    event.listen(db.session, "after_transaction_end", _on_end)


def refuse_uncommitted(db: SQLAlchemy, call: str, *, only_if_blocking: bool = False) -> None:
    """Raise when the current `db.session` holds changes that are not committed.

    :param only_if_blocking: raise only when they would block our own write, or be committed by it: SQLite has one
        writer, and an in-memory database has a single connection.
    :raises UncommittedChanges: gives the changed classes, never their values.
    :raises ConfigurationError: `db.session` was replaced by an object that makes no new sessions.
    """
    if not _registry(db).has():
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
        # If every transaction takes SQLite's one write lock, even a session that has only read would block us forever.
        session.rollback()


@contextmanager
def own_session(db: SQLAlchemy, context: Callable[[], AbstractContextManager[object]]) -> Iterator[scoped_session[Any]]:
    """Open an application context in which `db.session` is a new session.

    If sessions do not belong to application contexts, as with a `scopefunc` of the shop, the caller's session is set
    aside meanwhile, without commit, rollback or close.

    :param context: opens an application context of the shop.
    :raises ConfigurationError: `db.session` was replaced by an object that makes no new sessions.
    """
    registry = _registry(db)
    before = _current(registry)
    host = None
    try:
        with context():
            found = _current(registry)
            if found is not None:
                # A session other than the caller's is left over from an earlier context.
                registry.clear()
                host = found if found is before else None
            yield db.session
    finally:
        if host is not None:
            # Flask-SQLAlchemy removes our session at the end of the context, unless the shop replaced that as well.
            db.session.remove()
            registry.set(host)


def _registry(db: SQLAlchemy) -> ScopedRegistry[Any]:
    if db.session not in _giving_new_sessions:
        _require_new_sessions(db.session)
        watch_sessions(db)
        _giving_new_sessions.add(db.session)
    return db.session.registry


def _require_new_sessions(sessions: Any) -> None:
    if isinstance(sessions, scoped_session):
        one, other = sessions.session_factory(), sessions.session_factory()
        if one is not other:
            one.close()
            other.close()
            return
    raise ConfigurationError(
        "db.session was replaced by an object that always returns the same session, so receivers would commit the"
        " shop's own changes in it. Put scoped_session(sessionmaker(...)) there, which makes new sessions."
    )


def _current(registry: ScopedRegistry[Any]) -> Session | None:
    """The registry's session for the current scope, if there is one."""
    try:
        return registry() if registry.has() else None
    except RuntimeError:
        # Sessions belong to application contexts, and none is open.
        return None


def allow_reading(db: SQLAlchemy, call: str, engine: Engine) -> None:
    """Make sure that the current `db.session` does not block a read on another connection.

    A session that has only read is rolled back. SQLite allows reads beside a writer, unless every transaction begins by
    taking the one write lock; an in-memory database has one connection, whose transaction our read would end.

    :param engine: the engine to read from.
    :raises UncommittedChanges: the session has uncommitted writes; gives the changed classes.
    """
    # A session whose flush failed holds no lock, and raises when it is used.
    if not _registry(db).has() or not db.session().is_active:
        return
    if isinstance(engine.pool, StaticPool) or (_holds_lock(db.session()) and not _can_begin(engine)):
        refuse_uncommitted(db, call, only_if_blocking=True)


def let_clean_go(db: SQLAlchemy) -> None:
    """Roll the current `db.session` back if it has only read, so that a page needs no second connection beside it."""
    if not _registry(db).has():
        return
    session = db.session()
    begun = begun_in(session)
    if not begun or not session.is_active or session.in_nested_transaction():
        return
    if not (session.info.get(_WROTE) or _pending(session) or any(one.fault or one.wrote() for one in begun)):
        session.rollback()


def open_connection(db: SQLAlchemy, model: type[Any]) -> Connection | None:
    """The connection of the open transaction of `db.session`; None without one.

    A read on it sees the transaction's own writes, and does not wait for its locks. Nothing is flushed.

    :param model: a mapped class on the database to read from.
    """
    session = _current(_registry(db))
    # A session whose flush failed raises when it is used.
    if session is None or not session.is_active or not session.in_transaction():
        return None
    return session.connection(bind_arguments={"mapper": class_mapper(model)})


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


def _wrote_unseen(session: Session) -> str:
    """Describe writes through the session's plain connection: no session event tells of them, but SQLite counts."""
    changed = any(begun.has_changed for begun in begun_in(session))
    return "rows written through its connection" if changed else ""


def _holds_lock(session: Session) -> bool:
    """Whether a SQLite connection of the session is in a real transaction, and not only in one of SQLAlchemy's."""
    if not session.in_transaction():
        return False
    if not is_watched(session):
        # The transaction began before the session was watched.
        return bool(getattr(session.connection().connection.dbapi_connection, "in_transaction", False))
    return any(getattr(begun.driver, "in_transaction", False) for begun in begun_in(session))


def _pending(session: Session) -> str:
    """The names of the classes with unflushed changes."""
    changed = [*session.new, *session.deleted, *(one for one in session.dirty if session.is_modified(one))]
    return ", ".join(sorted({type(one).__name__ for one in changed}))


def _after_flush(session: Session, context: object) -> None:
    session.info[_WROTE] = _pending(session) or session.info.get(_WROTE) or "flushed rows"


def _on_execute(state: ORMExecuteState) -> None:
    if state.is_insert or state.is_update or state.is_delete or _is_written_out(state.statement):
        state.session.info[_WROTE] = state.session.info.get(_WROTE) or "an executed statement"


def _is_written_out(statement: Any) -> bool:
    """Whether a `text()` statement begins with the keyword of a write."""
    return getattr(statement, "text", "").lstrip()[:6].upper() in _WRITES


def _on_end(session: Session, transaction: SessionTransaction) -> None:
    if transaction.parent is None:
        session.info.pop(_WROTE, None)
