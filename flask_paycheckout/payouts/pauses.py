"""Pauses between the calls of an account whose calls fail.

Each lost answer about a token leaves a payout that only a person can decide, so an outage must not cost one in every
round of reconcile. An account whose service hangs must not take the time of the others either, as payouts are sent one
call after the other. Pauses are kept by each process, and end with the first call that is answered.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from flask_paycheckout.clock import Clock

__all__ = ["Pauses"]

_FIRST, _LONGEST = timedelta(seconds=5), timedelta(minutes=10)
# So a call that fails takes less than a tenth of the time.
_TIMES_THE_CALL = 10


class Pauses:
    """The accounts for which no call is made for a while.

    That is 5 s after a failure, doubled each time, 10 min at most; and ten times as long as the failed call took.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: dict[str, int] = {}
        self._until: dict[str, datetime] = {}

    def accounts(self) -> set[str]:
        """The names of the accounts whose pause is not over."""
        now = self._clock()
        return {account for account, until in list(self._until.items()) if until > now}

    def failed(self, account: str, seconds: float = 0.0) -> None:
        """Note a call without a certain answer.

        :param seconds: the time that it took.
        """
        failures = self._failures.get(account, 0) + 1
        self._failures[account] = failures
        pause = max(_FIRST * (1 << min(failures - 1, 10)), timedelta(seconds=_TIMES_THE_CALL * seconds))
        self._until[account] = self._clock() + min(pause, _LONGEST)

    def answered(self, account: str) -> None:
        """Note a call that was answered."""
        self._failures.pop(account, None)
        self._until.pop(account, None)
