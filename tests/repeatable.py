"""Surroundings of a sandbox that are the same in each run: the time, and identifiers made by chance."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count

from flask_paycheckout.sandbox.world.clock import machine_time
from flask_paycheckout.sandbox.world.settings import derived

__all__ = ["same_ids", "standing_time"]


def standing_time() -> Callable[[], datetime]:
    """The machine's time as it is now, later only by a millisecond at each look: no test is too slow for a limit."""
    began, looks = machine_time(), count()
    return lambda: began + timedelta(milliseconds=next(looks))


def same_ids(of: str) -> Callable[[int], list[str]]:
    """So many identifiers, which depend on this text and on how many there were before."""
    numbers, made_in = count(), os.getpid()

    def ids(wanted: int) -> list[str]:
        # A process that was forked meanwhile has other ids than its parent.
        process = "" if os.getpid() == made_in else os.getpid()
        return [derived(f"{of} {next(numbers)} {process}") for _ in range(wanted)]

    return ids
