"""State that belongs to one process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """State that a forked process creates anew, because threads that it does not have may hold its parent's locks.

    :param make: makes the state at the first use in each process. Two threads may call it at once; one result is kept.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._states: dict[int, T] = {}

    def __call__(self) -> T:
        """The state of the current process."""
        state = self._states.get(os.getpid())
        # `setdefault` is atomic. A lock could be held by another thread at the moment of a fork.
        return self._states.setdefault(os.getpid(), self._make()) if state is None else state


class Guarded(Generic[T]):
    """State of one process that one thread at a time may use.

    :param make: makes the state at the first use in each process.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._here = PerProcess(lambda: (Lock(), make()))

    @contextmanager
    def held(self) -> Iterator[T]:
        """Yield the state; other threads wait until the `with` block ends."""
        lock, state = self._here()
        with lock:
            yield state
