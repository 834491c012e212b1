"""Calls under way, one at a time for each thing that they are about, in this process.

Who comes while a deposit is read waits for no answer: a cool-down alone bounds what a fast service is asked, but when
it is slow, reads that begin every few seconds would still pile up, and hold a worker of the shop each. Who comes while
an order's checkout is made wants just that checkout, and may wait for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, get_ident

__all__ = ["Flight", "Flights"]


class Flight:
    """A call under way, for those who wait for it."""

    def __init__(self) -> None:
        self._over = Event()
        self._thread = get_ident()
        self.error: Exception | None = None
        """What ended it, when it ended so."""

    @property
    def of_this_thread(self) -> bool:
        """Whether the caller itself is making this call, and would wait for itself."""
        return self._thread == get_ident()

    def wait(self, seconds: float) -> bool:
        """Whether it is over within so many seconds."""
        return self._over.wait(seconds)

    def end(self) -> None:
        self._over.set()


class Flights:
    """The calls of one kind that are under way in this process."""

    def __init__(self) -> None:
        self._under_way: dict[tuple[int, str], Flight] = {}

    @contextmanager
    def of(self, what: str) -> Iterator[bool]:
        """Gives whether the caller may make this call; if so, nobody else may until the end of the `with`."""
        with self.join(what) as (_, mine):
            yield mine

    @contextmanager
    def join(self, what: str) -> Iterator[tuple[Flight, bool]]:
        """The call about this that is under way, and whether it is the caller's own to make.

        An own one ends with the `with`, and tells who waits for it of the error that left the block.
        """
        # A fork copies what was under way in its parent, and nobody would ever end it.
        key, own = (os.getpid(), what), Flight()
        # setdefault and not a lock: a lock may be held by another thread at the moment of a fork.
        flight = self._under_way.setdefault(key, own)
        if flight is not own:
            yield flight, False
            return
        try:
            yield own, True
        except Exception as error:
            own.error = error
            raise
        finally:
            del self._under_way[key]
            own.end()
