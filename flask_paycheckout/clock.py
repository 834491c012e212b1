"""The only source of time: a callable that gives the aware UTC now."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["Clock", "as_utc", "in_utc", "seconds_of", "utc_now"]

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The machine's time as an aware UTC datetime."""
    return datetime.now(UTC)


def in_utc(clock: Clock) -> Clock:
    """The same clock, telling UTC whatever zone it was made for: SQLite would store its local digits as UTC."""
    return lambda: as_utc(clock())


def seconds_of(clock: Clock) -> Callable[[], float]:
    """The same clock as seconds, for what only compares them."""
    return lambda: clock().timestamp()


def as_utc(value: datetime) -> datetime:
    """The same moment as aware UTC; SQLite hands back the UTC that was stored without saying so."""
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
