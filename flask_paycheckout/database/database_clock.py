"""The database's clock, for comparisons with what another host has stored."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import Engine, func, select

from flask_paycheckout.clock import Clock, as_utc, utc_now
from flask_paycheckout.database.connections import autocommit


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
