"""Trying again, inside one time budget, without pressing a service that is in trouble.

Full jitter: the wait before attempt n+1 is drawn evenly from zero to 0.2 s * 2**n, at most 2 s. A `Retry-After` is
waited for when it fits into the budget; when it does not, the error is raised at once and carries it.
"""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TypedDict

import msgspec

from flask_paycheckout.client.errors import PaymentsError, RateLimited, ServiceFault, TransportFailed

_log = logging.getLogger("flask_paycheckout.client")

_FIRST_WAIT = 0.2
_LONGEST_WAIT = 2.0
# With less time than this an attempt would only replace the failure we know by a timeout.
SHORTEST_ATTEMPT = 0.05
_LONGEST_HEADER = 40
_SECONDS = re.compile("[0-9]{1,40}")
_WORTH_REPEATING = (TransportFailed, ServiceFault, RateLimited)


class CallOptions(TypedDict, total=False):
    """Limits of one call in place of the client's; `iterate` and `find` take them for the call of each page.

    :ivar timeout: seconds that the call may take in all, retries and waits included.
    :ivar retries: how often it may be tried again.
    """

    timeout: float | None
    retries: int | None


class Pace(msgspec.Struct, frozen=True):
    """Where time and chance come from; tests bring their own.

    :ivar wall: Unix time in seconds.
    :ivar elapsed: seconds that only move forward.
    :ivar sleep: waits for seconds.
    :ivar chance: a number from 0 up to 1.
    """

    wall: Callable[[], float] = time.time
    elapsed: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random


class Retries(msgspec.Struct, frozen=True):
    """The number of attempts and the time that one call has.

    :ivar count: attempts after the first.
    :ivar budget: seconds for the whole call, waits included.
    """

    count: int
    budget: float
    pace: Pace

    def __post_init__(self) -> None:
        if type(self.count) is not int or self.count < 0:
            kind = ValueError if type(self.count) is int else TypeError
            raise kind(f"retries must be a whole number from 0 on, not {self.count!r}")
        # Sockets do not take much longer times.
        if not 0 < self.budget < 10**9:
            raise ValueError(f"timeout must be a positive number of seconds below 10**9, not {self.budget}")

    def limited(self, timeout: float | None = None, retries: int | None = None) -> Retries:
        """These retries with other limits; None keeps one.

        :raises TypeError: a limit is no number.
        :raises ValueError: it cannot be used.
        """
        count = self.count if retries is None else retries
        return Retries(count, self.budget if timeout is None else timeout, self.pace)

    def wait_after(self, failure: PaymentsError, number: int, until: float, *, repeatable: bool) -> float:
        """The seconds to wait after a failed attempt before the next one; raises `failure` when none is made.

        :param number: attempts before the one that failed.
        :param until: the end of the call, as `pace.elapsed` tells time.
        :param repeatable: whether an attempt may be repeated that may have reached the service. One that certainly did
            not is always repeated.
        """
        unsent = isinstance(failure, TransportFailed) and not failure.request_sent
        if not isinstance(failure, _WORTH_REPEATING) or number >= self.count or not (repeatable or unsent):
            raise failure
        jitter = self.pace.chance() * min(_LONGEST_WAIT, _FIRST_WAIT * 2**number)
        wait: float = max(jitter, failure.retry_after or 0.0)
        if wait + SHORTEST_ATTEMPT > until - self.pace.elapsed():
            raise failure
        _log.debug("%s; attempt %d follows in %.2f s", failure, number + 2, wait)
        return wait


def seconds_to_wait(header: str | None, now: float) -> float | None:
    """The wait that a `Retry-After` header asks for, in seconds from `now` (Unix time)."""
    if header is not None and _SECONDS.fullmatch(header):
        return float(header)
    moment = moment_of(header)
    return None if moment is None else max(0.0, moment - now)


def moment_of(header: str | None) -> float | None:
    """An HTTP date as Unix time; None when it is none."""
    if header is None or len(header) > _LONGEST_HEADER:
        return None
    try:
        moment = parsedate_to_datetime(header)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
