"""Calls to the payments service for checkouts, deposits and refunds, with tighter limits inside web requests.

A web request gives the service a few seconds, waits only while few other requests of its process do, and is refused at
once while the service fails. Commands, tasks and reconcile have only the client's own time limit, since no customer
waits for them.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition
from typing import TYPE_CHECKING, Any, TypeVar

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

if TYPE_CHECKING:
    from flask_paycheckout.client import BankDetails, Recipient

__all__ = ["CREATE", "READ", "RECIPIENT", "NotAsked", "Service", "Turn", "is_answer"]

T = TypeVar("T")

CREATE, READ, RECIPIENT = "POST /v1/checkout", "GET /v1/deposit/{id}", "POST /v1/recipient"

# Seconds that a start waits for its turn while the service is quick; too short to slow down the shop's other pages.
_MOMENT = 0.15
# Seconds after which a call counts as slow.
_QUICK = 0.5
# Seconds after which a customer may try again when all turns were taken.
_TURNS_TAKEN = 2.0
# With fewer seconds left, a call would only run into its time limit.
_SHORTEST_CALL = 0.1
# Seconds between two log lines about an unchanged state.
_QUIET = 60.0
_SPENT = "flask_paycheckout.service_seconds"

_log = logging.getLogger("flask_paycheckout")


class NotAsked(TransportFailed):
    """The service was not called, since a limit was reached; `retry_after` says when to try again, in seconds."""

    def __init__(self, operation: str, message: str | None, retry_after: float | None = None) -> None:
        super().__init__(operation, message, retry_after, request_sent=False)
        self.args = (operation, self.message, retry_after)


def is_answer(error: BaseException | None) -> bool:
    """Whether the service answered; the refusal of a single request, such as a 400 or a 404, is an answer too."""
    if error is None:
        return True
    return isinstance(error, RequestRefused) and not isinstance(error, (ServiceFault, Unauthorized))


class Service:
    """The payments service, as it is called by one app.

    :param timeout: the most seconds that one call of the client may take.
    :param web_timeout: the most seconds that all calls of one web request may take together.
    :param web_calls: returns the most web requests of a process that may wait for the service at once.
    :param web_request: returns a mapping that lives as long as the current web request; None outside of one.
    :param now: a monotonic clock, in seconds.
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
        # Twice the time of a call, to allow for what happens between permission and call.
        self._breaker = Breaker(2 * web_timeout + _MOMENT, now)
        self._places = _Places(web_calls, now)
        self._refusals = _Refusals(now)

    def read(self, checkout_id: str) -> Deposit:
        """Read a deposit with the client's own time limit only; for reconcile, which limits its reads itself."""
        return self._client.deposits.get(checkout_id)

    @contextmanager
    def turn(self, operation: str) -> Iterator[Turn]:
        """Take permission for one call, before anything is written to the database for it.

        :param operation: `CREATE` or `RECIPIENT`, which wait a moment for their turn, or `READ`, which does not.
        :raises NotAsked: the service may not be called now.
        """
        request = self._web_request()
        turn = self._program_turn(operation) if request is None else self._web_turn(operation, request)
        try:
            yield turn
        finally:
            turn.end()

    @contextmanager
    def waiting(self, operation: str) -> Iterator[float]:
        """Count this request among those that wait for the service while it waits for another request's call.

        Yields the seconds that it may wait.

        :raises NotAsked: too many requests wait already.
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
        return min(_MOMENT, self._web_timeout) if operation in (CREATE, RECIPIENT) else 0.0

    def _refused(self, operation: str, why: str, retry_after: float) -> NotAsked:
        self._refusals.count(why)
        return NotAsked(operation, f"the service was not asked: {why}", retry_after)

    def _tell(self, operation: str, admission: Admission, error: PaymentsError | None) -> None:
        """Report a call's outcome to the breaker; calls of programs count too, as they also show whether it answers."""
        if is_answer(error):
            if self._breaker.answered():
                _log.warning("the service answers again: %s", operation)
            return
        if self._breaker.failed(admission):
            _log.warning("the service fails, web requests are refused until a probe is answered: %s", error)


class Turn:
    """Permission for one call.

    :param tell: called with the call's error, or with None when it was answered.
    :param give_back: returns the permission; called once, after the call or when none was made.
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

    def make_recipient(
        self, *, name: str, email: str, address: str, city: str, post_code: str, bank: BankDetails, reference: str
    ) -> Recipient:
        """Make a recipient. See `PaymentsClient.recipients`."""
        return self._ask(
            lambda: self._client.recipients.create(
                name=name,
                email=email,
                address=address,
                city=city,
                post_code=post_code,
                bank=bank,
                reference=reference,
            )
        )

    def read(self, checkout_id: str) -> Deposit:
        """Read a deposit. See `PaymentsClient.deposits`."""
        return self._ask(lambda: self._client.deposits.get(checkout_id))

    def end(self) -> None:
        """Return the permission as soon as the call is over, before its answer is processed."""
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


@dataclass
class _Taken:
    since: dict[object, float] = field(default_factory=dict)
    """The places that are taken, with the time of taking."""

    following: set[object] = field(default_factory=set)
    """Those taken by requests that wait for another request's call."""

    changed: Condition = field(default_factory=Condition)

    def has_room(self, most: int) -> bool:
        return len(self.since) < most

    def has_room_to_follow(self, most: int) -> bool:
        return self.has_room(most) and len(self.following) < most - 1


class _Refusals:
    """Logs the number of refused web requests, at most once a minute."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._unlogged = 0
        self._logged_at: float | None = None

    def count(self, why: str) -> None:
        self._unlogged += 1
        now = self._now()
        if self._logged_at is not None and now - self._logged_at < _QUIET:
            return
        refused, self._unlogged, self._logged_at = self._unlogged, 0, now
        _log.warning("%d web requests did not call the service, the last one because %s", refused, why)
