"""The virtual clock: the machine's time plus an offset, which can only grow until a reset."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

MAX_SECONDS = 10 * 366 * 24 * 3600
"""The most seconds that the clock can be advanced by at once: ten years."""


def machine_time() -> datetime:
    return datetime.now(UTC)


class Clock:
    """The virtual clock of a sandbox.

    The offset is stored in the database, which several processes can share; this object has the offset that was read
    last, so that asking for the time takes no query.
    """

    def __init__(self, machine: Callable[[], datetime] = machine_time) -> None:
        self.machine = machine
        self.offset = timedelta()

    def now(self) -> datetime:
        """The virtual time in UTC."""
        return self.machine() + self.offset

    def timestamps(self) -> tuple[int, int]:
        """The Unix time of the machine's clock and of the virtual clock.

        Callers can use either: tests advance their own clock with the virtual one, a shop beside the sandbox does not.
        """
        real = self.machine()
        return int(real.timestamp()), int((real + self.offset).timestamp())
