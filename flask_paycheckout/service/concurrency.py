"""Adaptive limit on concurrent reads: it grows while the service answers, and shrinks to one probe when not. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

__all__ = ["AccountLimits", "AdaptiveLimit"]

# One failure may concern a single checkout; failures of three different ones in a row are an outage.
_PROBES = 3
# Of several accounts each may have a quarter of the reads under way, however many there are.
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

    def keep_within(self, most: int) -> None:
        """Set another upper limit."""
        self.most = most
        self.size = min(self.size, most)

    def answered(self) -> None:
        """Record a reliable answer; that there is no such deposit is one too."""
        self._failures = 0
        self._successes += 1
        self.size = min(self.size + 1, self.most)

    def failed(self, *, late: bool = False) -> None:
        """Record a read without a reliable answer.

        :param late: whether it took so long that a few more of them would hold up the round.
        """
        self._failures += _PROBES if late else 1
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

    With several accounts, a read whose answer is late takes no place from the others: it counts for its own account
    only. So a process has twice as many reads under way at most.

    :param most: the upper limit for all accounts together.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._limits: dict[str, AdaptiveLimit] = {}
        self._under_way: Counter[str] = Counter()
        self._late: Counter[str] = Counter()
        self._places = self._threads = 0
        """The reads under way without those that are late, and all of them."""

        self._working: set[str] = set()
        """The accounts of this round that may have more to read."""

        self._shares: tuple[int, int] | None = None
        """An equal share of the reads, and what all accounts can use of theirs; None when it has to be counted."""

    def begin_round(self, accounts: Collection[str]) -> None:
        """Begin a round that reads deposits of these accounts."""
        if len(self._limits) > _MOST_KEPT:
            self._limits.clear()
        self._under_way.clear()
        self._late.clear()
        self._places = self._threads = 0
        self._working.clear()
        self.add(accounts)

    def add(self, accounts: Collection[str]) -> None:
        """Let these accounts take part in the round too."""
        for account in accounts:
            limit = self._limits.setdefault(account, AdaptiveLimit(self.most))
            if account not in self._working and not self._late[account]:
                limit.begin_round()
        self._working.update(accounts)
        self._shares = None

    @property
    def has_room(self) -> bool:
        """Whether so many more reads of all accounts may begin now that it is worth a look at each."""
        return self._free >= max(1, self.most // _SHARE // 2)

    def room(self, account: str) -> int:
        """How many more reads of an account may be claimed now, at most half of its limit.

        0 while so few may begin that it is not worth a statement. If one claim took more than half, the places that are
        free soon after would be too few for another one, and stay free.
        """
        limit = self._limits[account]
        if limit.closed:
            return 0
        limit.keep_within(self._share_of(account))
        room = min(limit.size - self._under_way[account] - self._late[account], self._free)
        return min(room, (limit.size + 1) // 2) if room >= max(1, limit.size // 2) else 0

    def troubled(self, account: str) -> bool:
        """Whether the account's last read failed."""
        return self._limits[account].troubled

    def closed(self, account: str) -> bool:
        """Whether no further read of an account is worth a try in this round."""
        return account in self._limits and self._limits[account].closed

    def begun(self, account: str) -> None:
        """Count a read as under way until its result is stored."""
        self._under_way[account] += 1
        self._places += 1
        self._threads += 1

    def late(self, account: str) -> None:
        """Count a read that is under way as one whose answer is late."""
        self._under_way[account] -= 1
        self._late[account] += 1
        self._places -= 1
        self._shares = None

    def over(self, account: str, *, late: bool = False) -> None:
        """Count a read as over.

        :param late: whether it was counted as late.
        """
        (self._late if late else self._under_way)[account] -= 1
        self._places -= not late
        self._threads -= 1
        if late:
            self._shares = None

    def tell(self, account: str, *, answered: bool, late: bool = False) -> None:
        """Record whether a read got a reliable answer.

        :param late: whether it was counted as late.
        """
        limit = self._limits[account]
        before = limit.size, limit.closed
        if answered:
            limit.answered()
        else:
            limit.failed(late=late)
        if before != (limit.size, limit.closed):
            self._shares = None

    def finished(self, account: str) -> None:
        """Leave an account's share of the reads to the others, since nothing more of it is due."""
        self._working.discard(account)
        self._shares = None

    @property
    def _free(self) -> int:
        return min(self.most - self._places, 2 * self.most - self._threads)

    def _share_of(self, account: str) -> int:
        """What is left for an account when each of the others has what it can use of an equal share."""
        if self._shares is None:
            sizes = [
                limit.size
                for limit in (self._limits[name] for name in self._working if not self._late[name])
                if not limit.closed
            ]
            share = max(1, self.most // max(1, len(sizes)))
            self._shares = share, sum(min(share, size) for size in sizes)
        share, used = self._shares
        others = used - min(share, self._limits[account].size)
        return max(1, self.most // _SHARE, self.most - others)
