"""Renewal of leases while their holders work, in one thread for the whole process."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["LONGEST", "RENEWAL", "LeaseRenewal"]

LONGEST = 600
"""Seconds after which work counts as hung, so that its lease is no longer renewed."""

_log = logging.getLogger("flask_paycheckout")


class LeaseRenewal:
    """Calls renewal functions periodically while work is under way.

    The thread starts with the first work, and ends when none is left.

    :param every: seconds between two calls; a small part of a lease.
    :param longest: seconds after which work counts as hung.
    """

    def __init__(self, every: float = 15, longest: float = LONGEST) -> None:
        self._every = every
        self._longest = longest
        self._lock = threading.Lock()
        self._under_way: dict[object, tuple[float, Callable[[], object]]] = {}
        self._thread: threading.Thread | None = None

    @contextmanager
    def during(self, renew: Callable[[], object]) -> Iterator[None]:
        """Renew a lease while the `with` block runs.

        :param renew: called in another thread; an error is ignored, since the lease then simply ends.
        """
        key = object()
        with self._lock:
            self._under_way[key] = (time.monotonic(), renew)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="paycheckout-leases", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._under_way.pop(key, None)

    def forget(self) -> None:
        """Reset all state in a forked process, which has no thread and may have inherited a held lock."""
        self._lock = threading.Lock()
        self._under_way = {}
        self._thread = None

    def _work(self) -> None:
        while True:
            time.sleep(self._every)
            with self._lock:
                if not self._under_way:
                    self._thread = None
                    return
                under_way = list(self._under_way.values())
            for began, renew in under_way:
                if time.monotonic() - began < self._longest:
                    _try(renew)


def _try(renew: Callable[[], object]) -> None:
    try:
        renew()
    except Exception as error:
        _log.debug("a lease could not be renewed: %s", type(error).__name__)


RENEWAL = LeaseRenewal()
"""The instance of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=RENEWAL.forget)
