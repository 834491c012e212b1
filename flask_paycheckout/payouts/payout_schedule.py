"""The times at which payouts are sent again, looked up again and read."""

from __future__ import annotations

from datetime import datetime, timedelta

from flask_paycheckout.clock import doubled

FIRST_READ = timedelta(seconds=30)
"""The time from sending a bank transfer to its first read."""

SECOND_LOOK_UP = timedelta(seconds=60)
"""The least time between two look-ups that miss a payout, by the database's clock, before it is sent again."""

WITHOUT_KEYS = timedelta(hours=1)
"""The time between look-ups of an unknown payout whose keys are gone: they may come back."""

QUESTIONS = timedelta(minutes=15)
"""The time for which a payout is claimed about which the service is asked first: each question may read a list."""

CLOCKS_DIFFER = timedelta(days=1)
"""The time between two stored payouts after which the later one was certainly sent later, whatever the clocks say."""

FORGOTTEN = timedelta(days=90)
"""The time by which a payout may have been sent before it is stored, by a shop whose backup was restored since then.

So far back the service is searched for what it refuses: it takes a reference only once.
"""

_DAY, _SLOW = timedelta(days=1), timedelta(hours=6)
# Alarms count on it that everything is tried again soon after an outage.
_TRY_AGAIN = timedelta(seconds=10), timedelta(minutes=10)


def try_again(failures: int, now: datetime, retry_after: float | None = None) -> datetime:
    """The time of the next try after one more failure: 10 s later, doubled each time, 10 min at most.

    :param failures: in a row before it.
    :param retry_after: the seconds that the service asked to wait; a day at most is waited for it.
    """
    asked = timedelta(seconds=min(retry_after or 0.0, _DAY.total_seconds()))
    return now + max(doubled(failures + 1, *_TRY_AGAIN), asked)


def next_read(sent_at: datetime, now: datetime) -> datetime:
    """The time of the next read of a transfer that is pending: soon at first, and never given up."""
    age = now - sent_at
    if age < _DAY:
        return now + min(max(age / 2, FIRST_READ), timedelta(hours=1))
    return now + min(age / 8, _SLOW)
