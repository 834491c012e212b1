"""The virtual clock: the machine's time, or a time at which it stands, plus an offset."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

MAX_SECONDS = 10 * 366 * 24 * 3600
"""The most seconds that the clock can be advanced by at once: ten years."""


# Records are older than the start, and the clock can be advanced by years.
_EARLIEST, _LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
RUNNING, FROZEN = "running", "frozen"


LAST_DAY = datetime(9000, 1, 1, tzinfo=UTC)
"""The clock is not moved past it, because times end with the year 9999."""


class ClockAtItsEnd(Exception):
    """The clock would be moved past its last day."""


class ClockError(ValueError):
    """The option is not `running`, `frozen` or `frozen@` with a time."""


def machine_time() -> datetime:
    return datetime.now(UTC)


class Clock:
    """The virtual clock of a sandbox.

    The offset is stored in the database, which several processes can share; this object has the offset that was read
    last, so that reading the time takes no query.
    """

    def __init__(self, frozen_at: datetime | None = None) -> None:
        self.machine: Callable[[], datetime] = machine_time
        self.frozen_at = frozen_at
        """The time at which it stands, without the offset; None while it runs."""
        self.offset = timedelta()

    def begin(self) -> datetime:
        """The virtual time without its offset, at which a sandbox starts."""
        return self.frozen_at or self.machine()

    def now(self) -> datetime:
        """The virtual time in UTC."""
        return self.begin() + self.offset

    def timestamps(self) -> tuple[int, int]:
        """The Unix time of the machine's clock and of the virtual clock.

        Callers can use either: tests advance their own clock with the virtual one, a shop beside the sandbox does not.
        """
        return int(self.machine().timestamp()), int(self.now().timestamp())


def read_clock_option(text: str) -> Clock:
    """The clock that `running`, `frozen` or `frozen@2026-01-01T00:00:00Z` asks for.

    :raises ClockError: says why there is no such clock.
    """
    kind, _, moment = text.partition("@")
    if text == RUNNING:
        return Clock()
    if text == FROZEN:
        return Clock(machine_time())
    try:
        at = datetime.fromisoformat(moment if kind == FROZEN else "")
    except ValueError:
        at = None
    if at is None or at.tzinfo is None or not _EARLIEST <= at <= _LATEST:
        forms = (
            f"{RUNNING}, {FROZEN} or {FROZEN}@2026-01-01T00:00:00Z, from the years {_EARLIEST.year} to {_LATEST.year}"
        )
        raise ClockError(f"The clock cannot be {text[:60]!r}; it is {forms}.")
    return Clock(at.astimezone(UTC))
