"""The limit for waiting on PostgreSQL for a row that another transaction has locked.

Without a limit, a request that locks its order and then calls the extension would wait for itself forever, and so would
every process for a transaction that somebody forgot to end. A web request waits for a second at most, since its thread
is missed by the shop's other pages. SQLite's own limit is `busy_timeout`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine

from flask_paycheckout.client.per_process import PerProcess

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
        self._web: PerProcess[list[object]] = PerProcess(list)

    @contextmanager
    def limited(self) -> Iterator[float]:
        """Yield the seconds that each statement of a transaction may wait, which lasts as long as the `with` block."""
        request = self._request()
        if request is None:
            yield _LONGEST
            return
        open_now, mine, began = self._web(), object(), time.monotonic()
        left = _WEB - request.get(_WAITED, 0.0) if len(open_now) < _MOST_WAITING else _HARDLY
        open_now.append(mine)
        try:
            yield max(left, _HARDLY)
        finally:
            open_now.remove(mine)
            request[_WAITED] = request.get(_WAITED, 0.0) + time.monotonic() - began
