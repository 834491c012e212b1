"""Single flight: at most one call at a time in this process about each deposit, or about each order.

A request that comes while its deposit is being read does not wait: with a slow service, waiting requests would pile up
and occupy the shop's threads in spite of the cool-down. A request that comes while its order's checkout is being made
needs exactly that checkout, and may wait for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, get_ident

__all__ = ["OngoingCall", "SingleFlight"]


class OngoingCall:
    """A call under way, on which other threads can wait."""

    def __init__(self) -> None:
        self._over = Event()
        self._thread = get_ident()
        self.error: Exception | None = None
        """The error that ended the call, if one did."""

    @property
    def of_this_thread(self) -> bool:
        """Whether the current thread makes this call, and would wait for itself."""
        return self._thread == get_ident()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the call; False when it takes longer than this many seconds."""
        return self._over.wait(seconds)

    def end(self) -> None:
        self._over.set()


class SingleFlight:
    """The calls of one kind that are under way in this process."""

    def __init__(self) -> None:
        self._under_way: dict[tuple[int, str], OngoingCall] = {}
        self.last_ended: OngoingCall | None = None
        """The call that ended last; while it is the same one, none of this process has ended."""

    @contextmanager
    def of(self, what: str) -> Iterator[bool]:
        """Yield whether the caller may make this call; if so, no other thread may until the `with` block ends."""
        with self.join(what) as (_, mine):
            yield mine

    @contextmanager
    def join(self, what: str) -> Iterator[tuple[OngoingCall, bool]]:
        """Yield the call under way about `what`, and whether it is the caller's to make.

        The caller's own call ends with the `with` block; an error that leaves the block is kept for those who wait.
        """
        # By process: a fork would inherit calls of its parent, which never end in the child.
        key, own = (os.getpid(), what), OngoingCall()
        # Atomic `setdefault` instead of a lock: another thread could hold the lock at the moment of a fork.
        ongoing = self._under_way.setdefault(key, own)
        if ongoing is not own:
            yield ongoing, False
            return
        try:
            yield own, True
        except Exception as error:
            own.error = error
            raise
        finally:
            # Before its place is free, so that whoever takes that knows.
            self.last_ended = own
            del self._under_way[key]
            own.end()
