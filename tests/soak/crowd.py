"""Many lives at once on a few threads: each life says how long it does nothing, in virtual seconds."""

from __future__ import annotations

import heapq
import itertools
import queue
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

Life = Iterator[float]
_TICK = 0.02


class Crowd:
    """Lives that begin evenly over a span of the machine's time.

    :param lives: in the order of their beginning.
    :param spread: machine seconds over which they begin.
    """

    def __init__(self, lives: Iterator[Life], many: int, spread: float, now: Callable[[], datetime], threads: int):
        self._lives = lives
        self._many = many
        self._gap = spread / many
        self._now = now
        self._waiting: list[tuple[datetime, int, Life]] = []
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._ready: queue.SimpleQueue[Life | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self.begun = 0
        self.ended = 0
        self.failures: list[BaseException] = []
        self._threads = [threading.Thread(target=self._dispatch, name="crowd", daemon=True)]
        self._threads += [threading.Thread(target=self._work, name=f"crowd-{n}", daemon=True) for n in range(threads)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def everybody_begun(self) -> bool:
        return self.begun >= self._many

    @property
    def done(self) -> bool:
        return self.ended >= self._many

    def stop(self) -> None:
        """End all of it, also lives that have more to do."""
        self._stop.set()
        for _ in self._threads:
            self._ready.put(None)
        for thread in self._threads:
            if thread.is_alive():
                thread.join(60)

    def _dispatch(self) -> None:
        started = time.monotonic()
        crowded = 4 * len(self._threads)
        while not self._stop.wait(_TICK):
            wanted = min(self._many, int((time.monotonic() - started) / self._gap) + 1)
            # When the machine does not keep up, the next ones come later instead of all waiting in one place.
            while self.begun < wanted and self._ready.qsize() < crowded:
                self.begun += 1
                self._ready.put(next(self._lives))
            now = self._now()
            with self._lock:
                while self._waiting and self._waiting[0][0] <= now:
                    self._ready.put(heapq.heappop(self._waiting)[2])

    def _work(self) -> None:
        while (life := self._ready.get()) is not None and not self._stop.is_set():
            try:
                pause = next(life)
            except StopIteration:
                self._end(None)
            except Exception as failure:
                self._end(failure)
            else:
                with self._lock:
                    due = self._now() + timedelta(seconds=pause)
                    heapq.heappush(self._waiting, (due, next(self._numbers), life))

    def _end(self, failure: Exception | None) -> None:
        with self._lock:
            self.ended += 1
            if failure is not None:
                self.failures.append(failure)
