"""Cool-down: the least time between two calls about one deposit, or one order, that this process makes."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from threading import Lock

__all__ = ["Cooldown"]

# The most calls that are remembered; beyond them none may begin until the earliest cool-down ends.
_MOST = 10_000


class Cooldown:
    """The times at which calls of one kind began in this process."""

    def __init__(self, length: timedelta) -> None:
        self._length = length
        # The earliest first.
        self._begun: dict[str, datetime] = {}
        # By process: a fork could inherit a lock that is never released in the child.
        self._locks: dict[int, Lock] = {}

    def begin(self, what: str, now: datetime) -> bool:
        """Begin a call and its cool-down; False, with nothing changed, while an earlier one about it lasts."""
        with self._locks.setdefault(os.getpid(), Lock()):
            while self._begun:
                earliest = next(iter(self._begun))
                if self._lasts(self._begun[earliest], now):
                    break
                del self._begun[earliest]
            before = self._begun.get(what)
            if len(self._begun) >= _MOST or (before is not None and self._lasts(before, now)):
                return False
            # Taken out first, so that it comes last.
            self._begun.pop(what, None)
            self._begun[what] = now
            return True

    def begun_at(self, what: str) -> datetime | None:
        """When the last call about it began, if that is still remembered."""
        return self._begun.get(what)

    def _lasts(self, begun: datetime, now: datetime) -> bool:
        # A time in the future is from before the clock was set back.
        return begun <= now < begun + self._length
