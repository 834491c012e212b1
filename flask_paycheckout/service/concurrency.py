"""Adaptive limit on concurrent reads: it grows while the service answers, and shrinks to one probe when not. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

__all__ = ["AccountLimits", "AdaptiveLimit"]

# One failure may concern a single checkout; failures of three different ones in a row are an outage.
_PROBES = 3
# Of several accounts, one may have a quarter of the reads under way, so that one whose service hangs leaves the others
# three quarters until its limit shrinks.
_SHARE = 4
# The most accounts whose limits are kept between rounds.
_MOST_KEPT = 10_000


class AdaptiveLimit:
    """The number of reads that a process may make at once; it grows by one, and is halved, like TCP's window.

    It lives as long as the process, and begins with one read.

    :param most: the upper limit.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._failures = 0
        self._successes = 0
        self.size = 1
        """The number of reads that may be under way now."""

    def begin_round(self) -> None:
        """Begin a round; after one that ended in failures, with a single probe."""
        self._successes = 0
        if self.closed:
            self._failures = _PROBES - 1
            self.size = 1

    def answered(self) -> None:
        """Record a reliable answer; that there is no such deposit is one too."""
        self._failures = 0
        self._successes += 1
        self.size = min(self.size + 1, self.most)

    def failed(self) -> None:
        """Record a read without a reliable answer."""
        self._failures += 1
        self.size = max(1, self.size // 2)

    @property
    def troubled(self) -> bool:
        """Whether the last read failed."""
        return self._failures > 0

    @property
    def closed(self) -> bool:
        """Whether the round should end, since its other reads would fail as well.

        After an answer in this round, as many failures are allowed as reads may be under way, so that a few checkouts
        that always fail do not delay the others.
        """
        return self._failures >= max(_PROBES, self.most if self._successes else 0)


class AccountLimits:
    """The limits of one process's reads: one limit for each merchant account, and one for all together.

    :param most: the upper limit for all accounts together.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._limits: dict[str, AdaptiveLimit] = {}
        self._under_way: Counter[str] = Counter()

    def begin_round(self, accounts: Collection[str]) -> None:
        """Begin a round that reads deposits of these accounts."""
        most = self.most if len(accounts) < 2 else max(1, self.most // _SHARE)
        if len(self._limits) > _MOST_KEPT:
            self._limits.clear()
        self._under_way.clear()
        for account in accounts:
            limit = self._limits.get(account)
            # An account that had the process to itself before has a limit that may be too high now.
            if limit is None or limit.most != most:
                limit = self._limits[account] = AdaptiveLimit(most)
            limit.begin_round()

    def room(self, account: str) -> int:
        """How many more reads of an account may begin now; 0 while so few may that it is not worth a statement."""
        limit = self._limits[account]
        if limit.closed:
            return 0
        room = min(limit.size - self._under_way[account], self.most - self._under_way.total())
        return room if room >= max(1, limit.size // 2) else 0

    def troubled(self, account: str) -> bool:
        """Whether the account's last read failed."""
        return self._limits[account].troubled

    def begun(self, account: str) -> None:
        """Count a read as under way until its result is stored."""
        self._under_way[account] += 1

    def over(self, account: str) -> None:
        """Count a read as over."""
        self._under_way[account] -= 1

    def tell(self, account: str, *, answered: bool) -> None:
        """Record whether a read got a reliable answer."""
        (self._limits[account].answered if answered else self._limits[account].failed)()
