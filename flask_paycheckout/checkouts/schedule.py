"""The time of a checkout's next read: soon at first, then with growing intervals."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.clock import doubled
from flask_paycheckout.config.checks import PendingFor

PAGE_VALID = timedelta(minutes=15)
"""The service's payment page is valid for this long after creation."""

PAGE_GONE = PAGE_VALID + timedelta(seconds=60)
"""From this age on "Deposit not found" means that nobody picked a payment method while the page was valid."""

BETWEEN_MISSES = timedelta(seconds=60)
"""The minimum time between the two reads "Deposit not found" that abandon a checkout: one may be a passing error."""

SELDOM = timedelta(hours=12)
"""The longest time between two reads of a deposit."""

HOURLY = timedelta(hours=1)
"""The longest time between two reads of a pending deposit."""

_SOON = timedelta(seconds=10)
_LOOK = timedelta(minutes=30)
_MOMENT = timedelta(seconds=1)


def _step(age: timedelta, least: timedelta, most: timedelta) -> timedelta:
    """The time to the next read: half of the age, so that reads come at 10 s, 20 s, 30 s, 45 s and ever more rarely."""
    return min(max(age / 2, least), most)


class Schedule(msgspec.Struct, frozen=True):
    """A shop's waiting times: for a pending deposit, and for reads of an abandoned one."""

    pending_for: PendingFor
    watch_for: timedelta

    def patience(self, method: str | None) -> timedelta:
        """The time that a deposit may stay pending before its checkout is abandoned.

        :param method: the payment method: a bank's code or name, `crypto`, or None while it is unknown.
        """
        if isinstance(self.pending_for, timedelta):
            return self.pending_for
        kind = "default" if method == "crypto" else "bank"
        keys = (method or "default", kind, "default")
        return next(self.pending_for[key] for key in keys if key in self.pending_for)

    def next_read(
        self, status: str, created_at: datetime, moved_at: datetime, now: datetime, method: str | None = None
    ) -> datetime | None:
        """The time of the next read after one at `now`; None when only a webhook causes another one.

        For a part, the time when the shop is asked again for the order's total.
        """
        if status == Status.CREATED:
            return self._created(created_at, now)
        if status == Status.PENDING:
            return self._pending(moved_at, now, self.patience(method))
        if status == Status.ABANDONED:
            return self._abandoned(created_at, moved_at, now)
        if status == Status.PART:
            return next_look(moved_at, now)
        return None

    def _created(self, created_at: datetime, now: datetime) -> datetime:
        gone = created_at + PAGE_GONE + _MOMENT
        if now >= gone:
            # The first "not found" came late; the second one decides.
            return now + BETWEEN_MISSES
        return min(now + _step(now - created_at, _SOON, PAGE_GONE), gone)

    def _pending(self, moved_at: datetime, now: datetime, patience: timedelta) -> datetime:
        stalled = moved_at + patience + _MOMENT
        age = now - moved_at
        # A customer waits for this payment on the first day; a shop that waits for weeks can wait an hour more.
        step = _step(age, _SOON, timedelta(minutes=5) if age < timedelta(days=1) else HOURLY)
        return min(now + step, stalled) if now < stalled else now + step

    def _abandoned(self, created_at: datetime, moved_at: datetime, now: datetime) -> datetime | None:
        end = moved_at + self.watch_for
        if now >= end:
            return None
        return min(now + _step(now - created_at, timedelta(minutes=5), SELDOM), end)


def next_look(moved_at: datetime, now: datetime) -> datetime:
    """The time when the shop is asked again for the total of an order with a part.

    The shop is asked in each round at first, when the total is likely to change, and later every half hour, however old
    the part is.
    """
    return now + min((now - moved_at) / 60, _LOOK)


def after_failures(failures: int, now: datetime) -> datetime:
    """The time of the retry after this many consecutive failed reads: 5 s later, doubled each time, 10 min at most."""
    return now + doubled(failures, timedelta(seconds=5), timedelta(minutes=10))
