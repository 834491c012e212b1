"""The virtual clock: the machine's time plus an offset that only ever grows, until the world is reset."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

#: The most that it is moved on at once: ten years, far beyond all that falls due and far from the calendar's end.
MAX_SECONDS = 10 * 366 * 24 * 3600


def machine_time() -> datetime:
    return datetime.now(UTC)


class Clock:
    """What time it is in one world.

    The offset lives in the database, which several processes may share; this object holds the last one read, so
    that telling the time costs no query.
    """

    def __init__(self, machine: Callable[[], datetime] = machine_time) -> None:
        self.machine = machine
        self.offset = timedelta()

    def now(self) -> datetime:
        """The virtual time, aware, in UTC."""
        return self.machine() + self.offset

    def timestamps(self) -> tuple[int, int]:
        """Unix seconds by the machine's clock and by the virtual one.

        A program under test may follow either: a test moves its own clock along, a shop beside the sandbox does not.
        """
        real = self.machine()
        return int(real.timestamp()), int((real + self.offset).timestamp())
