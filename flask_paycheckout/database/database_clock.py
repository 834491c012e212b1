"""The database's clock: the one that all hosts of a shop share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Engine, func, select

from flask_paycheckout.clock import Clock, as_utc, utc_now
from flask_paycheckout.database.autocommit import autocommit


class DatabaseClock:
    """Gives the database's time, for comparisons with what another host has stored.

    The clocks of two hosts may differ by more than the time that is compared. Everything else goes by the app's clock.

    :param clock: the clock that a test gave the app; the database's time then moves on by it, from `init_app` on.
    """

    def __init__(self, engine: Callable[[], Engine], clock: Clock | None) -> None:
        self._engine = engine
        self._clock = clock
        self._made = None if clock is None else (clock(), utc_now())
        self._base: datetime | None = None

    def __call__(self) -> datetime:
        if self._clock is None or self._made is None:
            return self._read()
        by_clock, by_machine = self._made
        if self._base is None:
            self._base = self._read() - (utc_now() - by_machine)
        return self._base + (self._clock() - by_clock)

    def _read(self) -> datetime:
        with autocommit(self._engine()).connect() as connection:
            return as_utc(connection.execute(select(func.current_timestamp())).scalar_one())
