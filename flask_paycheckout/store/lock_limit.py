"""The limit for waiting on PostgreSQL for a row that another transaction has locked, if the shop has none of its own.

Without a limit, a request that locks its order and then calls the extension would wait for itself forever, and so would
every process for a transaction that somebody forgot to end. SQLite's own limit is `busy_timeout`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine

__all__ = ["begin_limited", "limit_lock_waits"]

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
