"""The clock: a callable that returns the current time as aware UTC, and the only source of time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""A time before any that is stored."""


def utc_now() -> datetime:
    """The machine's time as an aware UTC datetime."""
    return datetime.now(UTC)


def as_utc(value: datetime) -> datetime:
    """Convert a time to aware UTC; a naive time counts as UTC, because SQLite returns stored times without a zone."""
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def utc_clock(clock: Clock) -> Clock:
    """A clock whose times are aware UTC: this clock, if its times are, else one that converts them.

    SQLite would store the local digits of another time zone as if they were UTC.
    """
    return clock if clock().tzinfo is UTC else lambda: as_utc(clock())


def doubled(failures: int, first: timedelta, longest: timedelta) -> timedelta:
    """The pause after this many consecutive failures: `first` after the first, then doubled, `longest` at most."""
    return min(first * (1 << min(max(failures - 1, 0), 12)), longest)


def moment_after(now: datetime, expires: datetime | timedelta) -> datetime:
    """The time that a caller gives as `expires`: an aware time, or the time from now.

    :raises TypeError: the value is neither of them.
    :raises ValueError: the time has no time zone, or is later than every date.
    """
    try:
        end: object = now + expires if isinstance(expires, timedelta) else expires
    except OverflowError:
        raise ValueError("expires is later than any date") from None
    if not isinstance(end, datetime):
        raise TypeError(f"expires must be a datetime or a timedelta, not {type(end).__name__}")
    if end.tzinfo is None:
        raise ValueError("expires must have a time zone, such as datetime.now(UTC) has")
    return end.astimezone(UTC)
