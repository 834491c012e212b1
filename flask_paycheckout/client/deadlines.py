"""Ends requests that are over time while their thread waits inside httpx.

httpx limits each read. A server that sends a byte now and then keeps every read short, so the waiting thread never
notices that the whole request has run out of time; another thread has to end it.
"""

from __future__ import annotations

import contextlib
import time
from threading import Condition, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Deadlines"]


class Deadlines:
    """The deadlines of one process's requests, watched by a thread that exists only while there are any.

    Points in time are those of `time.monotonic`.
    """

    def __init__(self) -> None:
        self._running: dict[object, tuple[float, Callable[[], None]]] = {}
        self._changed = Condition()
        self._thread: Thread | None = None
        self._next = 0.0

    def begin(self, key: object, until: float, end: Callable[[], None]) -> None:
        """Call `end` from another thread unless `finished` is called for the same key first."""
        with self._changed:
            self._running[key] = until, end
            if self._thread is None:
                self._start(until)
            elif until < self._next:
                self._changed.notify()

    def finished(self, key: object) -> bool:
        """Whether the request ended in time; if not, its `end` was called."""
        return self._running.pop(key, None) is not None

    def _start(self, until: float) -> None:
        self._next = until
        thread = Thread(target=self._watch, name="flask_paycheckout deadlines", daemon=True)
        # No thread can start while the interpreter ends; the limits of single reads then have to do.
        with contextlib.suppress(RuntimeError):
            thread.start()
            self._thread = thread

    def _watch(self) -> None:
        with self._changed:
            while self._running:
                now = time.monotonic()
                # Other threads remove what is finished without the lock, so every step here is a single one.
                running = self._running.copy()
                for key, (until, end) in running.items():
                    if until <= now and self.finished(key):
                        end()
                self._next = min((until for until, _ in running.values() if until > now), default=now)
                self._changed.wait(self._next - now)
            self._thread = None
