"""A clock and random identifiers for sandboxes that are the same in each run."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count

from flask_paycheckout.sandbox.world.clock import machine_time
from flask_paycheckout.sandbox.world.settings import derived

__all__ = ["same_ids", "standing_time"]


def standing_time() -> Callable[[], datetime]:
    """A clock that starts now and advances by a millisecond per call, so that no test is too slow for a limit."""
    began, looks = machine_time(), count()
    return lambda: began + timedelta(milliseconds=next(looks))


def same_ids(of: str) -> Callable[[int], list[str]]:
    """A function that makes identifiers, which depend on this text and on the number of earlier ones."""
    numbers, made_in = count(), os.getpid()

    def ids(count: int) -> list[str]:
        # A process that was forked in the meantime makes other ids than its parent.
        process = "" if os.getpid() == made_in else os.getpid()
        return [derived(f"{of} {next(numbers)} {process}") for _ in range(count)]

    return ids
