"""Places of a process for web requests that wait for the payments service."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Condition

import msgspec

__all__ = ["Places"]

# Seconds after which a call counts as slow.
_QUICK = 0.5


class Places:
    """The places of one process for requests that wait for the service.

    A request that finds none waits a moment, unless the service is slow: then it would only occupy a thread that the
    shop's other pages need.
    """

    def __init__(self, most: Callable[[], int], now: Callable[[], float]) -> None:
        self._most = most
        self._now = now
        # By process, so that a forked one has its own places, and no lock that a thread of its parent holds.
        self._of_process: dict[int, _Taken] = {}

    def take(self, patience: float, *, following: bool = False) -> object | None:
        """Take a place, to be given back; None when none becomes free in time.

        :param patience: seconds to wait for a free place.
        :param following: whether the request only waits for another one's call. One place is always left for a request
            that calls, or all could wait for each other.
        """
        taken, most = self._here(), self._most()
        with taken.changed:
            if any(self._now() - since > _QUICK for since in taken.since.values()):
                patience = 0.0
            free = taken.has_room_to_follow if following else taken.has_room
            if not taken.changed.wait_for(lambda: free(most), patience):
                return None
            place = object()
            taken.since[place] = self._now()
            if following:
                taken.following.add(place)
            return place

    def give_back(self, place: object) -> None:
        taken = self._here()
        with taken.changed:
            taken.since.pop(place, None)
            taken.following.discard(place)
            taken.changed.notify_all()

    def _here(self) -> _Taken:
        return self._of_process.get(os.getpid()) or self._of_process.setdefault(os.getpid(), _Taken())


class _Taken(msgspec.Struct):
    since: dict[object, float] = msgspec.field(default_factory=dict)
    """The places that are taken, with the time of taking."""

    following: set[object] = msgspec.field(default_factory=set)
    """Those taken by requests that wait for another request's call."""

    changed: Condition = msgspec.field(default_factory=Condition)

    def has_room(self, most: int) -> bool:
        return len(self.since) < most

    def has_room_to_follow(self, most: int) -> bool:
        return self.has_room(most) and len(self.following) < most - 1
