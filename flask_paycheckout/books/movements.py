"""The lines of the books of a period, read in pages from the table of bookings, oldest first.

Each page is a short read-only transaction that begins where the page before ended, so that an export of any length
holds no snapshot, no lock and only one page of rows. Pages of a closed period are the same however often they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Engine, func, select, text, tuple_

from flask_paycheckout.books.lines import Line, LineKind
from flask_paycheckout.clock import as_utc

if TYPE_CHECKING:
    from flask_paycheckout.models import Models

__all__ = ["Movements", "Period", "line_of"]

PAGE = 1000
"""The most rows that are in memory at once."""

_OLDEST_WRITE = text(
    "SELECT extract(epoch FROM clock_timestamp() - min(xact_start)) FROM pg_stat_activity"
    " WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()"
)


@dataclass(frozen=True)
class Period:
    """The time, and the merchant account, whose movements are read."""

    start: datetime | None
    """The first moment that is included; None for the beginning."""

    end: datetime | None
    """The first moment that is not included any more; None for no end."""

    account: str | None = None
    """Only this merchant account; None for all."""


class Movements:
    """Reads the books of one app.

    :param engine: returns the engine of the tables, when first needed.
    """

    def __init__(self, engine: Callable[[], Engine], models: Models) -> None:
        self._engine = engine
        self._table = models.bookings

    def read(self, period: Period) -> Iterator[Line]:
        """The lines of a period, oldest first; of the same moment in the order in which they were stored."""
        c = self._table.c
        place: tuple[datetime, int] | None = None
        paged = select(self._table).order_by(c.booked_at, c.id).limit(PAGE)
        while True:
            # One lower bound: of two, SQLite could read each page from the beginning of the period.
            after = [tuple_(c.booked_at, c.id) > place] if place else []
            page = paged.where(*after, *self._within(period, since=place is None))
            with self._reading.connect() as connection:
                rows = connection.execute(page).mappings().all()
            yield from map(line_of, rows)
            if len(rows) < PAGE:
                return
            place = as_utc(rows[-1]["booked_at"]), rows[-1]["id"]

    def count(self, period: Period) -> int:
        """The number of lines of a period."""
        counted = select(func.count()).select_from(self._table).where(*self._within(period))
        with self._reading.connect() as connection:
            return connection.execute(counted).scalar_one()

    def first(self, account: str | None = None) -> datetime | None:
        """The time of the first line; None without any."""
        at = self._table.c.booked_at
        first = select(at).where(*self._within(Period(None, None, account))).order_by(at).limit(1)
        with self._reading.connect() as connection:
            found = connection.execute(first).scalar()
        return None if found is None else as_utc(found)

    def oldest_write(self) -> timedelta:
        """How long the oldest transaction that wrote has been open; zero where the database does not say."""
        with self._reading.connect() as connection:
            if connection.dialect.name != "postgresql":
                return timedelta(0)
            seconds = connection.execute(_OLDEST_WRITE).scalar()
        return timedelta(seconds=float(seconds or 0))

    @cached_property
    def _reading(self) -> Engine:
        return self._engine().execution_options(postgresql_readonly=True)

    def _within(self, period: Period, *, since: bool = True) -> list[ColumnElement[bool]]:
        c = self._table.c
        start = [] if period.start is None or not since else [c.booked_at >= period.start]
        end = [] if period.end is None else [c.booked_at < period.end]
        return start + end + ([] if period.account is None else [c.account == period.account])


def line_of(row: Mapping[Any, Any]) -> Line:
    """The line that a booking's row stores, every column by its name."""
    numbers = {name: None if row[name] is None else Decimal(row[name]) for name in ("gross", "fee", "net", "received")}
    stored = {name: row[name] for name in Line._fields} | numbers
    return Line(**stored | {"booked_at": as_utc(row["booked_at"]), "kind": LineKind(row["kind"])})
