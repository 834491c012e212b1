"""The movements of money of a period, read in pages, oldest first: payments from their checkouts, payouts as booked.

Each page is a short read-only transaction that begins where the page before ended, so that an export of any length
holds no snapshot, no lock and only one page of rows. Pages of a closed period are the same however often they are read.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Table, and_, exists, func, or_, select, text, tuple_

from flask_paycheckout.clock import as_utc
from flask_paycheckout.rules.payout_states import PayoutStatus
from flask_paycheckout.store.checkout_model import UNFILLED
from flask_paycheckout.store.models import Models
from flask_paycheckout.store.payments import PAYMENT_COLUMNS

__all__ = ["BOOKED_STATES", "Missing", "Movement", "Movements", "Period"]

PAGE = 1000
"""The most rows of each table that are in memory at once."""

BOOKED_STATES = (PayoutStatus.SENT.value, PayoutStatus.COMPLETED.value)
"""The states in which a payout's money is out, and booked as such."""

_NAMED = 10
_OLDEST_WRITE = text(
    "SELECT extract(epoch FROM clock_timestamp() - min(xact_start)) FROM pg_stat_activity"
    " WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()"
)

Movement = tuple[datetime, bool, Any]
"""The time, whether it is a booking, and the row."""


@dataclass(frozen=True)
class Period:
    """The time, and the merchant account, whose movements are read."""

    start: datetime | None
    """The first moment that is included; None for the beginning."""

    end: datetime | None
    """The first moment that is not included any more; None for no end."""

    account: str | None = None
    """Only this merchant account; None for all."""


@dataclass(frozen=True)
class Missing:
    """Movements that are known to have happened, and are not stored."""

    count: int
    named: tuple[str, ...]
    """The ids of the first ten."""


class Movements:
    """Reads the movements of one app's payments and payouts.

    :param engine: returns the engine of the tables, when first needed.
    """

    def __init__(self, engine: Callable[[], Engine], models: Models) -> None:
        self._engine = engine
        self._models = models

    def read(self, period: Period) -> Iterator[Movement]:
        """The movements of a period, oldest first; of the same moment payments first, each in order of its row id."""
        payments = self._stream(self._models.checkouts, "payment_completed_at", self._payment_columns, period)
        bookings = self._stream(self._models.bookings, "booked_at", list(self._models.bookings.c), period)
        streams = ((at, False, row) for at, row in payments), ((at, True, row) for at, row in bookings)
        yield from heapq.merge(*streams, key=lambda movement: movement[:2])

    def count(self, period: Period) -> int:
        """The number of movements of a period."""
        counted = [
            select(func.count()).select_from(table).where(*_within(table, column, period)).scalar_subquery()
            for table, column in self._sources
        ]
        with self._reading.connect() as connection:
            return sum(connection.execute(select(*counted)).one())

    def first(self, account: str | None = None) -> datetime | None:
        """The time of the first movement; None without any."""
        with self._reading.connect() as connection:
            found = [connection.execute(_first(table, column, account)).scalar() for table, column in self._sources]
        return min((as_utc(at) for at in found if at is not None), default=None)

    def unfilled(self, period: Period) -> Missing:
        """Payments that older versions stored without what arrived; their time is not known either."""
        table = self._models.checkouts
        # In an expression, as the status is: the index of all the account's checkouts would be far longer.
        of_account = [] if period.account is None else [table.c.account.concat("") == period.account]
        return self._missing(table, table.c.checkout_id, period, text(UNFILLED), *of_account)

    def unbooked(self, period: Period) -> Missing:
        """Payouts whose last movement was made by an older version, which did not book it."""
        payouts, bookings = self._models.payouts.c, self._models.bookings.c

        def is_booked(kind: ColumnElement[str]) -> ColumnElement[bool]:
            return exists().where(bookings.service_reference == payouts.service_reference, bookings.kind == kind)

        returned = payouts.kind.concat("_returned")
        gone = and_(payouts.status.in_(BOOKED_STATES), ~is_booked(payouts.kind))
        back = and_(payouts.status == PayoutStatus.FAILED.value, is_booked(payouts.kind), ~is_booked(returned))
        of_account = _of_account(self._models.payouts, period.account)
        return self._missing(self._models.payouts, payouts.reference, period, or_(gone, back), *of_account)

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

    @property
    def _sources(self) -> tuple[tuple[Table, str], ...]:
        return (self._models.checkouts, "payment_completed_at"), (self._models.bookings, "booked_at")

    @property
    def _payment_columns(self) -> list[Any]:
        names = ("id", "checkout_id", "order_id", "account", *PAYMENT_COLUMNS)
        return [self._models.checkouts.c[name] for name in names]

    def _stream(self, table: Table, column: str, columns: list[Any], period: Period) -> Iterator[tuple[datetime, Any]]:
        at, place = table.c[column], None
        paged = select(*columns).order_by(at, table.c.id).limit(PAGE)
        while True:
            # One lower bound: of two, SQLite could read each page from the beginning of the period.
            since = _since(at, period) if place is None else [tuple_(at, table.c.id) > place]
            following = paged.where(*since, *_until(at, period), *_of_account(table, period.account))
            with self._reading.connect() as connection:
                rows = connection.execute(following).mappings().all()
            for row in rows:
                yield as_utc(row[column]), row
            if len(rows) < PAGE:
                return
            place = as_utc(rows[-1][column]), rows[-1]["id"]

    def _missing(self, table: Table, name: Any, period: Period, *conditions: Any) -> Missing:
        # Of what was made later, nothing happened in the period.
        until = [] if period.end is None else [table.c.created_at < period.end]
        wanted = [*conditions, *until]
        named = select(name).where(*wanted).order_by(table.c.id).limit(_NAMED + 1)
        with self._reading.connect() as connection:
            found = list(connection.execute(named).scalars())
            count = len(found) if len(found) <= _NAMED else _count(connection, table, wanted)
        return Missing(count, tuple(found[:_NAMED]))


def _within(table: Table, column: str, period: Period) -> list[ColumnElement[bool]]:
    at = table.c[column]
    return [*_since(at, period), *_until(at, period), *_of_account(table, period.account)]


def _since(at: Any, period: Period) -> list[ColumnElement[bool]]:
    return [] if period.start is None else [at >= period.start]


def _until(at: Any, period: Period) -> list[ColumnElement[bool]]:
    # Databases use the partial index only where the time is certainly not NULL.
    return [at.is_not(None)] if period.end is None else [at < period.end]


def _of_account(table: Table, account: str | None) -> list[ColumnElement[bool]]:
    return [] if account is None else [table.c.account == account]


def _first(table: Table, column: str, account: str | None) -> Any:
    at = table.c[column]
    return select(at).where(at.is_not(None), *_of_account(table, account)).order_by(at).limit(1)


def _count(connection: Connection, table: Table, wanted: list[Any]) -> int:
    return connection.execute(select(func.count()).select_from(table).where(*wanted)).scalar_one()
