"""The database's clock, for comparisons with times that another host has stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from sqlalchemy import Engine, func, select

from flask_paycheckout.clock import Clock, as_utc, utc_now
from flask_paycheckout.database.connections import autocommit


@dataclass(frozen=True)
class DatabaseClock:
    """Returns the database's time, for comparisons with times that another host has stored.

    The clocks of two hosts may differ by more than the compared times. All other code uses the app's clock.

    :param clock: the clock that a test gave the app; the database's time then advances with it, from the first use on.
    """

    engine: Callable[[], Engine]
    clock: Clock | None

    def __call__(self) -> datetime:
        return self._read() if self.clock is None else self.clock() + self._ahead

    @cached_property
    def _ahead(self) -> timedelta:
        """The time by which the database is ahead of the app's clock."""
        return self._read() - (self.clock or utc_now)()

    def _read(self) -> datetime:
        with autocommit(self.engine()).connect() as connection:
            return as_utc(connection.execute(select(func.current_timestamp())).scalar_one())
