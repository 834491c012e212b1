"""One time for the sandbox and the shop: the machine's, plus an offset that the soak lets grow."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.soak.actor import Actor

_STEP = 0.5
_LONGEST = 1.0


def clock_of(path: Path) -> Callable[[], datetime]:
    """The time in one process, which looks the offset up in a file."""
    return lambda: datetime.now(UTC) + timedelta(seconds=float(path.read_text()))


class Clockwork(Actor):
    """Makes virtual time pass `speed` times as fast as the machine's, in steps.

    :param advance: moves the sandbox's clock on by so many seconds and gives its new offset in seconds.
    """

    def __init__(self, path: Path, advance: Callable[[float], float], speed: float) -> None:
        super().__init__()
        self._path = path
        self._advance = advance
        self.speed = speed
        self.longest_step = 0.0
        self._offset = timedelta()
        self._write()

    def now(self) -> datetime:
        return datetime.now(UTC) + self._offset

    def jump(self, seconds: float) -> None:
        self._offset = timedelta(seconds=self._advance(seconds))
        self._write()

    def _write(self) -> None:
        """For every reader at once: nobody ever sees half a number."""
        new = self._path.with_suffix(".new")
        new.write_text(repr(self._offset.total_seconds()))
        new.replace(self._path)

    def acts(self) -> None:
        last = time.monotonic()
        while not self.stopped.wait(_STEP):
            now = time.monotonic()
            # A machine that cannot keep up makes time pass more slowly, not in leaps.
            step = min(now - last, _LONGEST) * (self.speed - 1)
            try:
                self.jump(step)
            except OSError:
                continue
            last = now
            self.longest_step = max(self.longest_step, step)
