"""When a checkout is read next: soon after it was made, then ever more rarely. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from flask_paycheckout.rules.states import Status

__all__ = ["PAGE_GONE", "PAGE_VALID", "PendingFor", "Schedule", "after_failures"]

PAGE_VALID = timedelta(minutes=15)
"""How long the service's payment page is valid, from creation."""

PAGE_GONE = PAGE_VALID + timedelta(seconds=60)
"""Only later than this after creation does "Deposit not found" mean that nobody picked a method."""

_SOON = timedelta(seconds=10)
_MOMENT = timedelta(seconds=1)


def _step(age: timedelta, least: timedelta, most: timedelta) -> timedelta:
    """Half of the age again: a read at 10 s, 20 s, 30 s, 45 s ... and few at an age of days."""
    return min(max(age / 2, least), most)


PendingFor = timedelta | Mapping[str, timedelta]
"""How long to wait for news of a pending deposit: one time, or one by payment method. A mapping has the keys "crypto",
"bank" (any bank), a bank's code, which goes before "bank", and "default", which it always has."""


@dataclass(frozen=True)
class Schedule:
    """How long a shop waits for a pending deposit, and watches an abandoned one."""

    pending_for: PendingFor
    watch_for: timedelta

    def patience(self, method: str | None) -> timedelta:
        """How long a deposit may stay pending without news.

        :param method: how the customer pays: a bank's code or name, `crypto`, or None while that is not known.
        """
        if isinstance(self.pending_for, timedelta):
            return self.pending_for
        kind = "default" if method is None else "crypto" if method == "crypto" else "bank"
        for key in (method, kind):
            if key is not None and key in self.pending_for:
                return self.pending_for[key]
        return self.pending_for["default"]

    def next_read(
        self, status: str, created_at: datetime, moved_at: datetime, now: datetime, method: str | None = None
    ) -> datetime | None:
        """When to read a checkout next that was read now; None when never again without a webhook."""
        if status == Status.CREATED:
            return self._created(created_at, now)
        if status == Status.PENDING:
            return self._pending(moved_at, now, self.patience(method))
        if status == Status.ABANDONED:
            return self._abandoned(created_at, moved_at, now)
        return None

    def _created(self, created_at: datetime, now: datetime) -> datetime:
        gone = created_at + PAGE_GONE + _MOMENT
        if now >= gone:
            # The first "not found" came late; the second one, which decides, need not wait.
            return now
        return min(now + _step(now - created_at, _SOON, PAGE_GONE), gone)

    def _pending(self, moved_at: datetime, now: datetime, patience: timedelta) -> datetime:
        stalled = moved_at + patience + _MOMENT
        age = now - moved_at
        # Somebody waits for this one. Where a shop waits for weeks, an hour more is little.
        step = _step(age, _SOON, timedelta(minutes=5) if age < timedelta(days=1) else timedelta(hours=1))
        return min(now + step, stalled) if now < stalled else now + step

    def _abandoned(self, created_at: datetime, moved_at: datetime, now: datetime) -> datetime | None:
        end = moved_at + self.watch_for
        if now >= end:
            return None
        return min(now + _step(now - created_at, timedelta(minutes=5), timedelta(hours=12)), end)


def after_failures(failures: int, now: datetime) -> datetime:
    """When to try again after this many reads in a row without a usable answer."""
    return now + min(timedelta(seconds=5) * (1 << min(failures - 1, 10)), timedelta(minutes=10))
