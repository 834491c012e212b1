"""Reads under way, one at a time for each thing that is read: who comes meanwhile waits for no answer.

A cool-down alone bounds what a fast service is asked. When it is slow, reads that begin every few seconds would still
pile up, and hold a worker of the shop each.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Flights"]


class Flights:
    """The reads of one kind that are under way in this process."""

    def __init__(self) -> None:
        self._under_way: dict[tuple[int, str], object] = {}

    @contextmanager
    def of(self, what: str) -> Iterator[bool]:
        """Gives whether the caller may read this; if so, nobody else may until the end of the `with`."""
        # A fork copies what was under way in its parent, and nobody would ever end it.
        key, mine = (os.getpid(), what), object()
        # setdefault and not a lock: a lock may be held by another thread at the moment of a fork.
        free = self._under_way.setdefault(key, mine) is mine
        try:
            yield free
        finally:
            if free:
                del self._under_way[key]
