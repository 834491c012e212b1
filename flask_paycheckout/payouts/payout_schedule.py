"""The times at which payouts are sent again, looked up again and read."""

from __future__ import annotations

from datetime import datetime, timedelta

from flask_paycheckout.clock import doubled

FIRST_READ = timedelta(seconds=30)
"""The time from sending a bank transfer to its first read."""

SECOND_LOOK_UP = timedelta(seconds=60)
"""The minimum time between two lookups that miss a payout, by the database's clock, before it is sent again."""

WITHOUT_KEYS = timedelta(hours=1)
"""The time between lookups of an unknown payout whose keys are gone, because they may come back."""

QUESTIONS = timedelta(minutes=15)
"""The duration of the claim of a payout with lookups before it is sent, because each lookup may read a list."""

CLOCKS_DIFFER = timedelta(days=1)
"""The maximum difference of clocks: of two payouts stored further apart, the later one was certainly sent later."""

FORGOTTEN = timedelta(days=90)
"""How long before its payout was stored a transfer may have been made, for refused payouts and earlier tries.

The service refuses a reference that it already has: the transfer of a payout that a restored backup had lost.
"""

_DAY, _SLOW = timedelta(days=1), timedelta(hours=6)
# Alarms rely on retries soon after an outage.
_TRY_AGAIN = timedelta(seconds=10), timedelta(minutes=10)


def try_again(failures: int, now: datetime, retry_after: float | None = None) -> datetime:
    """The time of the next retry after one more failure: 10 s later, doubled each time, 10 min at most.

    :param failures: the number of consecutive failures before it.
    :param retry_after: the seconds that the service asked to wait; limited to a day.
    """
    requested = timedelta(seconds=min(retry_after or 0.0, _DAY.total_seconds()))
    return now + max(doubled(failures + 1, *_TRY_AGAIN), requested)


def next_read(sent_at: datetime, now: datetime) -> datetime:
    """The time of the next read of a transfer that is pending: soon at first, and never given up."""
    age = now - sent_at
    if age < _DAY:
        return now + min(max(age / 2, FIRST_READ), timedelta(hours=1))
    return now + min(age / 8, _SLOW)
