"""Waiting for another process."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["eventually"]


def eventually(condition: Callable[[], object], seconds: float = 60, pause: float = 0.02) -> None:
    """Return as soon as the condition holds; it is checked after each pause.

    :raises AssertionError: it did not hold within this time.
    """
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(pause)
