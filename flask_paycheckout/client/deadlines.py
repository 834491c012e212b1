"""Ends exchanges that are over time while they wait inside the HTTP library.

The library limits each read. A server that sends a byte now and then keeps every single read short, so that only
somebody beside the waiting thread can end the whole exchange.
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
    """The deadlines of one process's exchanges, watched by a thread that exists only while there are any.

    Points in time are those of `time.monotonic`.
    """

    def __init__(self) -> None:
        self._running: dict[object, tuple[float, Callable[[], None]]] = {}
        self._changed = Condition()
        self._thread: Thread | None = None
        self._next = 0.0

    def begin(self, exchange: object, until: float, end: Callable[[], None]) -> None:
        """Calls `end` from another thread if `finished` was not called for this exchange by then."""
        with self._changed:
            self._running[exchange] = until, end
            if self._thread is None:
                self._start(until)
            elif until < self._next:
                self._changed.notify()

    def finished(self, exchange: object) -> bool:
        """Whether the exchange ended in time; if not, its `end` was called."""
        return self._running.pop(exchange, None) is not None

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
                for exchange, (until, end) in running.items():
                    if until <= now and self.finished(exchange):
                        end()
                self._next = min((until for until, _ in running.values() if until > now), default=now)
                self._changed.wait(self._next - now)
            self._thread = None
