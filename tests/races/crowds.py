"""Threads that act at the same moment, and tell what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier, Event
from typing import TypeVar

Result = TypeVar("Result")
#: Seconds after which whoever waits for another thread fails.
PATIENCE = 120


class Crowd:
    """So many threads, used again and again."""

    def __init__(self, size: int, pool: ThreadPoolExecutor) -> None:
        self.size = size
        self._pool = pool
        self._start = Barrier(size, timeout=PATIENCE)

    def does(self, acts: Sequence[Callable[[], Result]]) -> list[Result]:
        """One act a thread, all begun together; gives their results, or raises what the first of them raised."""
        assert len(acts) == self.size

        def act_with_the_others(act: Callable[[], Result]) -> Result:
            self._start.wait()
            return act()

        doing = [self._pool.submit(act_with_the_others, act) for act in acts]
        return [done.result(PATIENCE) for done in doing]


@contextmanager
def crowd(size: int) -> Iterator[Crowd]:
    with ThreadPoolExecutor(size) as pool:
        yield Crowd(size, pool)


class Gate:
    """Where a thread is stopped, until another one lets it go on."""

    def __init__(self) -> None:
        self._reached, self._open = Event(), Event()

    def stop(self) -> None:
        self._reached.set()
        assert self._open.wait(PATIENCE)

    def await_arrival(self) -> None:
        assert self._reached.wait(PATIENCE)

    def open(self) -> None:
        self._open.set()


@contextmanager
def aside(act: Callable[[], object], gate: Gate) -> Iterator[None]:
    """Another thread does this, and is at the gate when the block begins; after the block it has ended."""
    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(act)
        try:
            gate.await_arrival()
            yield
        finally:
            gate.open()
        doing.result(PATIENCE)
