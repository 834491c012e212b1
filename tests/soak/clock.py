"""One time for the sandbox and the shop: the machine's, plus an offset that the soak lets grow."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.soak.actor import Actor

_CACHED = 0.05
_STEP = 0.5
_LONGEST = 1.0


class FileClock:
    """The time in one process: looks the offset up in a file, at most so many times a second."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = timedelta()
        self._looked = -1.0

    def __call__(self) -> datetime:
        if time.monotonic() - self._looked > _CACHED:
            # Never back, even if two threads read at once.
            self._offset = max(self._offset, read_offset(self._path))
            self._looked = time.monotonic()
        return datetime.now(UTC) + self._offset


def read_offset(path: Path) -> timedelta:
    return timedelta(seconds=float(path.read_text()))


def write_offset(path: Path, offset: timedelta) -> None:
    """For every reader at once: nobody ever sees half a number."""
    beside = path.with_suffix(".new")
    beside.write_text(repr(offset.total_seconds()))
    os.replace(beside, path)  # noqa: PTH105 - Path.replace says the same


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
        self._lock = threading.Lock()
        write_offset(path, self._offset)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._offset

    def jump(self, seconds: float) -> None:
        with self._lock:
            self._offset = max(self._offset, timedelta(seconds=self._advance(seconds)))
            write_offset(self._path, self._offset)

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
