"""The clock: a callable that returns the current time as aware UTC, and the only source of time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["EPOCH", "Clock", "as_utc", "in_utc", "seconds_of", "utc_now"]

Clock = Callable[[], datetime]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""A time before any that is stored."""


def utc_now() -> datetime:
    """The machine's time as an aware UTC datetime."""
    return datetime.now(UTC)


def in_utc(clock: Clock) -> Clock:
    """Wrap a clock of any time zone to return UTC, since SQLite would store its local digits as if they were UTC."""
    return lambda: as_utc(clock())


def seconds_of(clock: Clock) -> Callable[[], float]:
    """Wrap a clock to return seconds, for code that only measures time."""
    return lambda: clock().timestamp()


def as_utc(value: datetime) -> datetime:
    """Convert a time to aware UTC; a naive one counts as UTC, as SQLite returns stored times without a zone."""
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
