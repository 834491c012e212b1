"""How hard the service may be asked: more reads at once while it answers, a single probe while it does not. Pure."""

from __future__ import annotations

__all__ = ["ReadWindow"]

# A single checkout may be one that the service cannot tell us about; three different ones in a row are an outage.
_PROBES = 3


class ReadWindow:
    """The number of reads that one process may have under way, as TCP's window grows and shrinks.

    It lives as long as the process. A process that has never heard from the service begins with one read, too.

    :param most: reads under way at once when all is well.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._failures = 0
        self._successes = 0
        self.size = 1
        """Reads that may be under way now."""

    def open_round(self) -> None:
        """A round begins: where the last one ended in failures, with a single probe."""
        self._successes = 0
        if self.closed:
            self._failures = _PROBES - 1
            self.size = 1

    def answered(self) -> None:
        """The service said something that can be relied on, be it that there is no deposit."""
        self._failures = 0
        self._successes += 1
        self.size = min(self.size + 1, self._most)

    def failed(self) -> None:
        """A read gave nothing to rely on."""
        self._failures += 1
        self.size = max(1, self.size // 2)

    @property
    def troubled(self) -> bool:
        """Whether the last read failed."""
        return self._failures > 0

    @property
    def closed(self) -> bool:
        """Whether the round should end: what is left would only fail too.

        A service that answered in this round is given a whole window of failures, so that checkouts which it cannot
        tell us about do not keep the others waiting.
        """
        return self._failures >= max(_PROBES, self._most if self._successes else 0)
