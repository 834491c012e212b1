"""Periods of the books: dates, times, days and months as people write them, in the shop's time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

from flask_paycheckout.text import moment_text

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Table


@dataclass(frozen=True)
class Period:
    """A period of time and a merchant account whose movements are read. Both times are UTC."""

    start: datetime | None = None
    """The first included moment; None for the beginning."""

    end: datetime | None = None
    """The first excluded moment; None for no end."""

    account: str | None = None
    """Only this merchant account; None for all."""

    @property
    def text(self) -> str:
        """The period for people."""
        start = "the beginning" if self.start is None else moment_text(self.start)
        return f"{start} to {'now' if self.end is None else moment_text(self.end)}"

    @property
    def is_limited(self) -> bool:
        """Whether it has a beginning or an end."""
        return self.start is not None or self.end is not None

    def conditions(self, table: Table, at: ColumnElement[Any]) -> list[ColumnElement[bool]]:
        """The conditions by which rows of a table belong to it.

        :param at: the time of a row.
        """
        start = [] if self.start is None else [at >= self.start]
        end = [] if self.end is None else [at < self.end]
        return [*start, *end, *([] if self.account is None else [table.c.account == self.account])]

    def contains(self, moment: datetime | None) -> bool:
        """Whether a time is in the period; True for an unknown time."""
        if moment is None:
            return True
        return (self.start is None or moment >= self.start) and (self.end is None or moment < self.end)


ALWAYS = Period()


def asked_period(start: datetime | None, end: datetime | None, account: str | None) -> Period:
    """The period that a program asks for.

    :raises ValueError: it ends before it begins.
    """
    if start is not None and end is not None and start >= end:
        raise ValueError("start must be before end, which is not included")
    return Period(start, end, account)


def earlier(moment: datetime, by: timedelta) -> datetime:
    """A time before another, or the earliest possible time."""
    try:
        return moment - by
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def moment_of(value: datetime | date | str, zone: tzinfo = UTC) -> datetime:
    """Convert a date or time, also as ISO 8601 text, to UTC; a date is its first moment.

    :param zone: the time zone of a date, and of a time without an offset.
    :raises ValueError: it is neither.
    """
    try:
        text = value.strip() if isinstance(value, str) else value.isoformat()
        moment = datetime.fromisoformat(text)
        return (moment.replace(tzinfo=zone) if moment.tzinfo is None else moment).astimezone(UTC)
    except (AttributeError, ValueError, OverflowError):
        raise ValueError(f"{value!r} is no date or time; write it like 2026-01-31 or 2026-01-31T18:30:00Z") from None


def month_period(month: str, zone: tzinfo = UTC, account: str | None = None) -> Period:
    """The period of a month.

    :param month: like `2026-01`.
    :raises ValueError: it is no month.
    """
    try:
        first = date.fromisoformat(f"{month}-01")
        # This is a day of the following month, however long this month is.
        following = (first + timedelta(days=31)).replace(day=1)
        return Period(moment_of(first, zone), moment_of(following, zone), account)
    except (ValueError, OverflowError):
        raise ValueError(f"{month!r} is no month; write it like 2026-01") from None


def months_until(now: datetime, first: datetime, zone: tzinfo = UTC) -> list[str]:
    """The months from the first movement until now, newest first; like `2026-01`.

    :param first: the time of the first movement.
    """
    newest, oldest = ((at.year * 12 + at.month - 1) for at in (now.astimezone(zone), first.astimezone(zone)))
    return [f"{month // 12:04}-{month % 12 + 1:02}" for month in range(newest, oldest - 1, -1)]
