"""State that belongs to one process."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """State that a forked process begins anew, since its parent's locks may be held by threads that it does not have.

    :param make: makes the state, at the first use in each process; called at once by two threads, one result counts.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._states: dict[int, T] = {}

    def __call__(self) -> T:
        """The state of the current process."""
        state = self._states.get(os.getpid())
        # Atomic `setdefault` instead of a lock, which another thread could hold at the moment of a fork.
        return self._states.setdefault(os.getpid(), self._make()) if state is None else state
