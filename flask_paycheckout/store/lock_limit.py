"""The limit for waiting on PostgreSQL for a row that another transaction has locked, if the shop has none of its own.

Without a limit, a request that locks its order and then calls the extension would wait for itself forever, and so would
every process for a transaction that somebody forgot to end. SQLite's own limit is `busy_timeout`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine
from sqlalchemy.orm import Session, SessionTransaction

__all__ = ["begin_limited", "limit_begun", "limit_lock_waits", "limited_when_begun"]

_LIMITED = "flask_paycheckout_limited"
_LOCK_TIMEOUT = "SELECT set_config('lock_timeout', '10s', true) WHERE current_setting('lock_timeout') = '0'"


def limit_lock_waits(connection: Connection) -> None:
    """Limit how long statements of the open transaction wait for locks, until it ends."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_LOCK_TIMEOUT).close()


@contextmanager
def begin_limited(engine: Engine) -> Iterator[Connection]:
    """Open a transaction of our own whose waits for locks are limited; otherwise like `Engine.begin`."""
    with engine.begin() as connection:
        limit_lock_waits(connection)
        yield connection


@contextmanager
def limited_when_begun(session: Session) -> Iterator[None]:
    """Limit the waits of the transaction in this `with` block, on each connection that the session takes for it.

    The session needs the listener `limit_begun`.
    """
    session.info[_LIMITED] = True
    try:
        yield
    finally:
        session.info.pop(_LIMITED, None)


def limit_begun(session: Session, transaction: SessionTransaction, connection: Connection) -> None:
    """Set the limit on a connection that a session has just taken; a listener of `after_begin`."""
    if transaction.parent is None and session.info.get(_LIMITED):
        limit_lock_waits(connection)
