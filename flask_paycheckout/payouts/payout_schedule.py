"""The times at which payouts are sent again, looked up again, and read. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

__all__ = ["CLOCKS_DIFFER", "FIRST_READ", "LOOK_BACK", "SECOND_LOOK_UP", "next_read", "try_again"]

FIRST_READ = timedelta(seconds=30)
"""The time from sending a bank transfer to its first read."""

SECOND_LOOK_UP = timedelta(seconds=60)
"""The least time between two look-ups that miss a payout, by the database's clock, before it is sent again."""

LOOK_BACK = timedelta(hours=1)
"""The audit's list goes back this far before its period, as the service's clock may differ from ours."""

CLOCKS_DIFFER = timedelta(days=1)
"""Of two payouts that hosts stored so far apart, the later one was certainly sent later, whatever their clocks say."""

_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(seconds=10), timedelta(hours=1)
_DAY, _SLOW = timedelta(days=1), timedelta(hours=6)


def try_again(failures: int, now: datetime, retry_after: float | None = None) -> datetime:
    """The time of the next try after this many failures in a row: 10 s later, doubled each time, 1 h at most.

    :param retry_after: the seconds that the service asked to wait; a day at most is waited for it.
    """
    pause = min(_FIRST_PAUSE * (1 << min(max(failures - 1, 0), 12)), _LONGEST_PAUSE)
    asked = timedelta(seconds=min(retry_after or 0.0, _DAY.total_seconds()))
    return now + max(pause, asked)


def next_read(sent_at: datetime, now: datetime) -> datetime:
    """The time of the next read of a transfer that is pending: soon at first, and never given up."""
    age = now - sent_at
    if age < _DAY:
        return now + min(max(age / 2, FIRST_READ), _LONGEST_PAUSE)
    return now + min(age / 8, _SLOW)
