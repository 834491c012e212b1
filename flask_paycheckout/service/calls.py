"""Asks the payments service for checkouts and deposits: programs as patiently as the client, web requests in bounds.

A web request gives the service a few seconds, waits for it beside few others of its process, and is refused at once
while the service fails. Commands, tasks and reconcile have nobody who waits, and are only bound by the client's own
time budget.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition
from typing import Any, TypeVar

from flask_paycheckout.client import (
    Deposit,
    PaymentsClient,
    PaymentsError,
    RequestRefused,
    ServiceFault,
    TransportFailed,
    Unauthorized,
)
from flask_paycheckout.client.records.checkouts import CheckoutLink
from flask_paycheckout.service.breaker import Admission, Breaker
from flask_paycheckout.totals import Total

__all__ = ["CREATE", "READ", "NotAsked", "Service", "Turn", "is_answer"]

T = TypeVar("T")

CREATE, READ = "POST /v1/checkout", "GET /v1/deposit/{id}"

# A start waits this long for its turn while the service is quick: less than anybody notices on the shop's other pages.
_MOMENT = 0.15
# A call that takes longer than this many seconds is a slow one.
_QUICK = 0.5
# Seconds after which a customer may try again who found every turn taken.
_TURNS_TAKEN = 2.0
# With less time than this left, a call would only fail for want of it.
_SHORTEST_CALL = 0.1
# Seconds between two log lines about what has not changed.
_QUIET = 60.0
_SPENT = "flask_paycheckout.service_seconds"

_log = logging.getLogger("flask_paycheckout")


class NotAsked(TransportFailed):
    """A web request was refused before anything was sent; `retry_after` says when another is worthwhile."""

    def __init__(self, operation: str, message: str | None, retry_after: float | None = None) -> None:
        super().__init__(operation, message, retry_after, request_sent=False)
        self.args = (operation, self.message, retry_after)


def is_answer(error: BaseException | None) -> bool:
    """Whether the service answered. Refusing a single request, with a 400 or a 404, is an answer too."""
    if error is None:
        return True
    return isinstance(error, RequestRefused) and not isinstance(error, (ServiceFault, Unauthorized))


class Service:
    """The payments service, as one app asks it.

    :param timeout: seconds that one call of the client may take.
    :param web_timeout: seconds that all calls of one web request may take together.
    :param web_calls: gives the most web requests of a process that may wait for the service at once.
    :param web_request: a mapping that lives as long as the web request under way; None outside of one.
    :param now: seconds that only move forward.
    """

    def __init__(
        self,
        client: PaymentsClient,
        timeout: float,
        web_timeout: float,
        web_calls: Callable[[], int],
        web_request: Callable[[], MutableMapping[str, Any] | None],
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._timeout = timeout
        self._web_timeout = web_timeout
        self._web_request = web_request
        self._now = now
        # A call that takes all of its time, and as long again for what happens between permission and call.
        self._breaker = Breaker(2 * web_timeout + _MOMENT, now)
        self._places = _Places(web_calls, now)
        self._refusals = _Refusals(now)

    def read(self, checkout_id: str) -> Deposit:
        """Read a deposit as patiently as the client does, whoever asks; reconcile has a brake of its own."""
        return self._client.deposits.get(checkout_id)

    @contextmanager
    def turn(self, operation: str) -> Iterator[Turn]:
        """Permission for one call, taken before anything is written for it.

        :param operation: `CREATE` or `READ`; a create waits a moment for its place.
        :raises NotAsked: the service may not be asked now.
        """
        request = self._web_request()
        turn = self._program_turn(operation) if request is None else self._web_turn(operation, request)
        try:
            yield turn
        finally:
            turn.end()

    @contextmanager
    def waiting(self, operation: str) -> Iterator[float]:
        """A place among those who wait for the service, for who waits for another request's call; gives the seconds.

        :raises NotAsked: too many wait already.
        """
        request = self._web_request()
        if request is None:
            yield self._timeout
            return
        left = self._left(operation, request)
        place = self._places.take(self._moment(operation), following=True)
        if place is None:
            raise self._refused(operation, "as many requests as may are waiting for it already", _TURNS_TAKEN)
        began = self._now()
        try:
            yield left
        finally:
            self._places.give_back(place)
            request[_SPENT] += self._now() - began

    def _program_turn(self, operation: str) -> Turn:
        return Turn(self._client, lambda error: self._tell(operation, Admission(), error))

    def _web_turn(self, operation: str, request: MutableMapping[str, Any]) -> Turn:
        left = self._left(operation, request)
        admission = self._breaker.admit()
        if admission is None:
            raise self._refused(operation, "it does not answer", max(1.0, self._breaker.wait()))
        place = self._places.take(self._moment(operation))
        if place is None:
            self._breaker.withdrawn(admission)
            raise self._refused(operation, "as many requests as may are waiting for it already", _TURNS_TAKEN)
        began = self._now()

        def give_back() -> None:
            self._places.give_back(place)
            self._breaker.withdrawn(admission)
            request[_SPENT] += self._now() - began

        return Turn(self._client.within(left), lambda error: self._tell(operation, admission, error), give_back)

    def _left(self, operation: str, request: MutableMapping[str, Any]) -> float:
        left = self._web_timeout - float(request.setdefault(_SPENT, 0.0))
        if left < _SHORTEST_CALL:
            raise NotAsked(operation, "this web request has given the service all of its time", _TURNS_TAKEN)
        return left

    def _moment(self, operation: str) -> float:
        return min(_MOMENT, self._web_timeout) if operation == CREATE else 0.0

    def _refused(self, operation: str, why: str, retry_after: float) -> NotAsked:
        self._refusals.count(why)
        return NotAsked(operation, f"the service was not asked: {why}", retry_after)

    def _tell(self, operation: str, admission: Admission, error: PaymentsError | None) -> None:
        """What became of a call. Programs' calls count too: they tell as well as others whether the service answers."""
        if is_answer(error):
            if self._breaker.answered():
                _log.warning("the service answers again: %s", operation)
            return
        if self._breaker.failed(admission):
            _log.warning("the service fails, web requests are refused until a probe is answered: %s", error)


class Turn:
    """Permission for one call.

    :param tell: told what became of the call: its error, or None when it was answered.
    :param give_back: gives the permission back; called once, when the call is done or was not made.
    """

    def __init__(
        self,
        client: PaymentsClient,
        tell: Callable[[PaymentsError | None], None],
        give_back: Callable[[], None] = lambda: None,
    ) -> None:
        self._client = client
        self._tell = tell
        self._give_back: Callable[[], None] | None = give_back

    def create(self, total: Total) -> CheckoutLink:
        """Make a checkout. See `PaymentsClient.checkouts`."""
        return self._ask(lambda: self._client.checkouts.create(total))

    def read(self, checkout_id: str) -> Deposit:
        """Read a deposit. See `PaymentsClient.deposits`."""
        return self._ask(lambda: self._client.deposits.get(checkout_id))

    def end(self) -> None:
        """Give the permission back; what is made of the answer needs none."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back()

    def _ask(self, call: Callable[[], T]) -> T:
        try:
            answer = call()
        except PaymentsError as error:
            self._tell(error)
            raise
        else:
            self._tell(None)
            return answer
        finally:
            self.end()


class _Places:
    """The places of one process for requests that wait for the service.

    Who finds none waits a moment, but not where the service is slow: then waiting would only keep the shop's other
    pages waiting.
    """

    def __init__(self, most: Callable[[], int], now: Callable[[], float]) -> None:
        self._most = most
        self._now = now
        # A child process has places of its own, and takes no lock of its parent's.
        self._of_process: dict[int, _Taken] = {}

    def take(self, patience: float, *, following: bool = False) -> object | None:
        """A place, to be given back; None when none is free, or becomes free within so many seconds.

        :param following: for who waits for another request's call. One place is always left to those who call, or all
            of them would wait for nobody.
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


@dataclass
class _Taken:
    since: dict[object, float] = field(default_factory=dict)
    """Each place that is taken, with the time since when."""

    following: set[object] = field(default_factory=set)
    """Those of them whose holders wait for another request's call."""

    changed: Condition = field(default_factory=Condition)

    def has_room(self, most: int) -> bool:
        return len(self.since) < most

    def has_room_to_follow(self, most: int) -> bool:
        return self.has_room(most) and len(self.following) < most - 1


class _Refusals:
    """One log line a minute for web requests that were refused, with their count."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._since_told = 0
        self._told_at: float | None = None

    def count(self, why: str) -> None:
        self._since_told += 1
        now = self._now()
        if self._told_at is not None and now - self._told_at < _QUIET:
            return
        refused, self._since_told, self._told_at = self._since_told, 0, now
        _log.warning("%d web requests did not ask the service, the last one since %s", refused, why)
