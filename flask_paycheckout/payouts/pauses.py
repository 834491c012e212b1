"""Pauses between the sends of an account whose calls fail.

Each lost answer about a token leaves a payout that only a person can decide, so an outage must not cost one in every
round of reconcile. Pauses are kept by each process, and end with the first call that is answered.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from flask_paycheckout.clock import Clock

__all__ = ["Pauses"]

_FIRST, _LONGEST = timedelta(seconds=5), timedelta(minutes=10)


class Pauses:
    """The accounts to which nothing is sent for a while: 5 s after a failure, doubled each time, 10 min at most."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: dict[str, int] = {}
        self._until: dict[str, datetime] = {}

    def accounts(self) -> set[str]:
        """The names of the accounts whose pause is not over."""
        now = self._clock()
        return {account for account, until in list(self._until.items()) if until > now}

    def failed(self, account: str) -> None:
        """Note a call without a certain answer."""
        failures = self._failures.get(account, 0) + 1
        self._failures[account] = failures
        self._until[account] = self._clock() + min(_FIRST * (1 << min(failures - 1, 10)), _LONGEST)

    def answered(self, account: str) -> None:
        """Note a call that was answered."""
        self._failures.pop(account, None)
        self._until.pop(account, None)
