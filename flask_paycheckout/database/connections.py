"""Connections of our own to the shop's database: single statements, locks, replacement after a failover.

Without a limit for locks, a request that locks its order and then calls the extension would wait for itself forever,
and so would every process for a transaction that somebody forgot to end. A web request waits for a second at most,
since its thread is missed by the shop's other pages. SQLite's own limit is `busy_timeout`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, Executable, event, func, select
from sqlalchemy.engine import ExceptionContext

from flask_paycheckout.client.per_process import PerProcess
from flask_paycheckout.clock import Clock, as_utc, utc_now
from flask_paycheckout.database.database_errors import READ_ONLY, trouble_of

# States of a transaction, as libpq numbers them: none is open, or a statement failed in it.
IDLE, IN_ERROR = 0, 3


def autocommit(engine: Engine) -> Engine:
    """The engine for single statements: on PostgreSQL each commits by itself, which saves two round trips.

    On SQLite a transaction costs no round trip, and the engine is returned as it is.
    """
    return engine.execution_options(isolation_level="AUTOCOMMIT") if engine.dialect.name == "postgresql" else engine


def read_rows(engine: Engine, statement: Executable, parameters: Mapping[str, Any] | None = None) -> Sequence[Any]:
    """The rows of a query, on a connection that is free again afterwards."""
    with engine.connect() as connection:
        return connection.execute(statement, parameters).all()


def commits_each_statement(connection: Connection) -> bool:
    """Whether every statement of a connection commits by itself, as far as its driver tells."""
    connection.exec_driver_sql("SELECT 1").close()
    driver: Any = connection.connection.dbapi_connection
    if hasattr(driver, "in_transaction"):
        # SQLite's driver begins with the first write, unless it leaves that to the shop's own BEGIN.
        begins = driver.isolation_level is not None and getattr(driver, "autocommit", False) is not True
        return not (begins or driver.in_transaction)
    return transaction_status(driver) == IDLE


def transaction_status(driver: Any) -> int | None:
    """The state of the transaction in the database, as psycopg and psycopg2 tell it; None for other drivers."""
    return getattr(getattr(driver, "info", None), "transaction_status", None)


_LONGEST = 10.0
# Seconds that a web request waits for locks altogether, and how many of a process at once; the others hardly wait.
_WEB, _MOST_WAITING, _HARDLY = 1.0, 2, 0.1
_WAITED = "flask_paycheckout.waited"
_LIMIT = (
    "SELECT set_config('lock_timeout', '{0}ms', true)"
    " WHERE current_setting('lock_timeout')::interval NOT BETWEEN '1ms' AND '{0}ms'"
)
# The limit that the connection began with, in milliseconds; where that is too long, the second column sets another one.
_ASK = (
    "SELECT reset_val::int, CASE WHEN setting::int NOT BETWEEN 1 AND {0}"
    " THEN set_config('lock_timeout', '{0}ms', true) END FROM pg_settings WHERE name = 'lock_timeout'"
)
_OWN = "flask_paycheckout.lock_timeout"


def limit_lock_waits(connection: Connection, seconds: float = _LONGEST) -> None:
    """Limit how long statements of the open transaction wait for locks, until it ends; a shorter limit stays.

    A connection is asked once for the limit that it began with. One that is short enough costs no statement again.
    """
    if connection.dialect.name != "postgresql":
        return
    longest = round(1000 * seconds)
    own = connection.info.get(_OWN)
    if own is None:
        connection.info[_OWN] = connection.exec_driver_sql(_ASK.format(longest)).scalar_one()
    elif not 1 <= own <= longest:
        connection.exec_driver_sql(_LIMIT.format(longest)).close()


@contextmanager
def begin_limited(engine: Engine) -> Iterator[Connection]:
    """Open a transaction of our own whose waits for locks are limited; otherwise like `Engine.begin`."""
    with engine.begin() as connection:
        limit_lock_waits(connection)
        yield connection


class LockWaits:
    """How long the transactions wait for locks in which functions of the shop are called.

    :param request: returns a dictionary that lives as long as the current web request; None outside of one.
    """

    def __init__(self, request: Callable[[], dict[str, Any] | None]) -> None:
        self._request = request
        self._web: PerProcess[list[float]] = PerProcess(list)

    @contextmanager
    def limited(self) -> Iterator[float]:
        """Yield the seconds that each statement of a transaction may wait, which lasts as long as the `with` block."""
        request = self._request()
        if request is None:
            yield _LONGEST
            return
        open_now, began = self._web(), time.monotonic()
        left = max(_WEB - request.setdefault(_WAITED, 0.0), _HARDLY)
        patience = left if len(open_now) < _MOST_WAITING else _HARDLY
        open_now.append(began)
        try:
            yield patience
        finally:
            # Any one, since only their number counts.
            open_now.pop()
            request[_WAITED] += time.monotonic() - began


def replace_read_only_connections(engine: Engine) -> None:
    """Let the pool drop its connections when one of them turns out to be read-only.

    A connection to a server that became a replica works on for reading, so the pool would keep it for ever.
    """
    if engine.dialect.name == "postgresql":
        # SQLAlchemy ignores a listener that is added twice.
        event.listen(engine, "handle_error", _on_error)


def _on_error(context: ExceptionContext) -> None:
    error = context.sqlalchemy_exception
    if error is not None and trouble_of(error) is READ_ONLY:
        context.is_disconnect = True


class DatabaseClock:
    """Gives the database's time, for comparisons with what another host has stored.

    The clocks of two hosts may differ by more than the time that is compared. Everything else goes by the app's clock.

    :param clock: the clock that a test gave the app; the database's time then moves on by it, from `init_app` on.
    """

    def __init__(self, engine: Callable[[], Engine], clock: Clock | None) -> None:
        self._engine = engine
        self._clock = clock
        self._ahead_of_machine = (clock or utc_now)() - utc_now()
        self._behind_database: timedelta | None = None

    def __call__(self) -> datetime:
        if self._clock is None:
            return self._read()
        if self._behind_database is None:
            self._behind_database = self._read() - utc_now() - self._ahead_of_machine
        return self._clock() + self._behind_database

    def _read(self) -> datetime:
        with autocommit(self._engine()).connect() as connection:
            return as_utc(connection.execute(select(func.current_timestamp())).scalar_one())
