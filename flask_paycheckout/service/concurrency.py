"""Adaptive limit on concurrent reads: it grows while the service answers, and shrinks to one probe when not. Pure."""

from __future__ import annotations

__all__ = ["AdaptiveLimit"]

# One failure may concern a single checkout; failures of three different ones in a row are an outage.
_PROBES = 3


class AdaptiveLimit:
    """The number of reads that a process may make at once; it grows by one, and is halved, like TCP's window.

    It lives as long as the process, and begins with one read.

    :param most: the upper limit.
    """

    def __init__(self, most: int) -> None:
        self._most = most
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
        self.size = min(self.size + 1, self._most)

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
        return self._failures >= max(_PROBES, self._most if self._successes else 0)
