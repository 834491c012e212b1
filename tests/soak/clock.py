"""A common time for the sandbox and the shop: the machine's time plus an offset that the soak increases."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.soak.actor import Actor

_STEP = 0.5
_LONGEST = 1.0


def clock_of(path: Path) -> Callable[[], datetime]:
    """A clock for one process, which reads the offset from a file."""
    return lambda: datetime.now(UTC) + timedelta(seconds=float(path.read_text()))


class Clockwork(Actor):
    """Makes virtual time pass `speed` times as fast as the machine's, in steps.

    :param advance: advances the sandbox's clock by seconds, and returns its new offset in seconds.
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
        """Write the offset atomically, so that no reader sees a part of the number."""
        new = self._path.with_suffix(".new")
        new.write_text(repr(self._offset.total_seconds()))
        new.replace(self._path)

    def acts(self) -> None:
        last = time.monotonic()
        while not self.stopped.wait(_STEP):
            now = time.monotonic()
            # On a machine that cannot keep up, time passes more slowly, not in large steps.
            step = min(now - last, _LONGEST) * (self.speed - 1)
            try:
                self.jump(step)
            except OSError:
                continue
            last = now
            self.longest_step = max(self.longest_step, step)
