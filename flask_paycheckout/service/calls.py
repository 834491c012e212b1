"""Calls to the payments service for checkouts, deposits and refunds, with tighter limits inside web requests.

A web request gives the service a few seconds, waits only while the service is quick or few other requests wait, and is
refused at once while the service fails. Commands, tasks and reconcile have only the client's own time limit, since no
customer waits for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from flask_paycheckout.client import (
    PaymentsClient,
    PaymentsError,
    RequestRefused,
    ServiceFault,
    TransportFailed,
    Unauthorized,
)
from flask_paycheckout.parts import Parts
from flask_paycheckout.parts.logs import about
from flask_paycheckout.parts.observations import Observed
from flask_paycheckout.service.accounts import Accounts
from flask_paycheckout.service.limits import Breaker, Call, ConcurrencyLimit
from flask_paycheckout.service.record import ServiceRecord

T = TypeVar("T")

CREATE, READ, RECIPIENT = "POST /v1/checkout", "GET /v1/deposit/{id}", "POST /v1/recipient"
PROOF, ESTIMATE = "GET /v1/disbursement/fiat/{id}/report", "GET /v1/disbursement/crypto/estimate"

# Seconds that a request waits for a slot while the service is quick; too short to slow down the shop's other pages.
_MOMENT = 0.15
# Seconds after which a customer may try again when all slots were taken.
_SLOTS_TAKEN = 2.0
# The part of a web request's time after which a call counts as trouble, answered or not.
_SLOW = 0.7
# With fewer seconds left, a call would only run into its time limit.
_SHORTEST_CALL = 0.1
_SPENT = "flask_paycheckout.service_seconds"


class NotAsked(TransportFailed):
    """The service was not called, since a limit was reached; `retry_after` says when to try again, in seconds."""

    def __init__(self, operation: str, message: str | None, retry_after: float | None = None) -> None:
        super().__init__(operation, message, retry_after, request_sent=False)


def is_answer(error: BaseException | None) -> bool:
    """Whether the service answered; a 404, or a 403 of keys that may not do this, is an answer too."""
    return error is None or (isinstance(error, RequestRefused) and not isinstance(error, ServiceFault))


@dataclass(eq=False)
class Service:
    """The payments service, as it is called by one app."""

    parts: Parts
    accounts: Accounts
    record: ServiceRecord

    def __post_init__(self) -> None:
        settings, elapsed = self.parts.settings, self.parts.elapsed
        self.web_timeout = min(settings.web_timeout, settings.timeout)
        self.slow_after = _SLOW * self.web_timeout
        # Twice the time of a call, to allow for what happens between permission and call.
        self.breaker = Breaker(2 * self.web_timeout + _MOMENT, elapsed)
        seldom, several_accounts = (RECIPIENT, PROOF, ESTIMATE), self.parts.several_accounts
        self.slots = ConcurrencyLimit(settings.web_calls, self.slow_after, several_accounts, seldom, elapsed)

    @contextmanager
    def permit(self, operation: str, account: str = "") -> Iterator[Permit]:
        """Take permission for one call, before anything is written to the database for it.

        :param operation: `READ`, which waits for no slot, or one of the others, which wait a moment.
        :param account: the name of the merchant account whose keys sign the call.
        :raises NotAsked: the service may not be called now.
        :raises AccountUnavailable: the shop gives no keys for the account.
        """
        client = self.accounts.client_of(account, operation)
        request = self.parts.web_request()
        left = self.parts.settings.timeout if request is None else self._left(operation, request)
        call, until = Call(account, operation), self.parts.elapsed() + left
        with ExitStack() as held:
            if request is not None:
                if wait := self.breaker.admit(call):
                    raise self._refused(operation, "it does not answer in time", max(1.0, wait))
                held.callback(self.breaker.withdrawn, call)
                held.enter_context(self._in_slot(call, request))
            yield Permit(self, call, client, held, until)

    @contextmanager
    def waiting(self, operation: str, account: str) -> Iterator[float]:
        """Count this request among those that wait for the service while it waits for another request's call.

        Yields the seconds that it may wait.

        :raises NotAsked: too many requests wait already.
        """
        request = self.parts.web_request()
        if request is None:
            yield self.parts.settings.timeout
            return
        left = self._left(operation, request)
        with self._in_slot(Call(account, operation, following=True), request):
            yield left

    def _left(self, operation: str, request: MutableMapping[str, Any]) -> float:
        left = self.web_timeout - float(request.setdefault(_SPENT, 0.0))
        if left < _SHORTEST_CALL:
            raise NotAsked(operation, "this web request has given the service all of its time", _SLOTS_TAKEN)
        return left

    @contextmanager
    def _in_slot(self, call: Call, request: MutableMapping[str, Any]) -> Iterator[None]:
        """Take a slot for a call until the `with` block ends, and count its time as the request's."""
        account, operation = call.circuit
        if not self.slots.take(call, 0.0 if operation == READ else min(_MOMENT, self.web_timeout)):
            why = f"as many requests as may are waiting for it{of_account(account)} already"
            if operation != READ and not self.slots.is_slow(account, operation):
                self.record.on_refusal(f"{operation}: {why}", account)
            raise self._refused(operation, why, _SLOTS_TAKEN)
        began = self.parts.elapsed()
        try:
            yield
        finally:
            self.slots.give_back(call)
            request[_SPENT] += self.parts.elapsed() - began

    def _refused(self, operation: str, why: str, retry_after: float) -> NotAsked:
        self.parts.log.warning("web requests", "a web request did not call the service, because %s", why, extra=about())
        self.parts.observers.record(Observed.CALL, operation, "not_asked")
        return NotAsked(operation, f"the service was not asked: {why}", retry_after)

    def note_outcome(self, call: Call, error: PaymentsError | None, seconds: float) -> None:
        """Report a call's outcome to the breaker; calls of programs count too, as they also show whether it answers.

        An answer that web requests can hardly wait for is as bad as none.
        """
        account, operation = call.circuit
        observed, fields = partial(self.parts.observers.record, Observed.CIRCUIT, operation), about(account=account)
        if is_answer(error) and seconds <= self.slow_after:
            if self.breaker.answered(call):
                observed("closed", account=account)
                text = "the service answers again%s: %s"
                self.parts.log.warning("recoveries of the service", text, of_account(account), operation, extra=fields)
            return
        if self.breaker.failed(call):
            observed("opened", account=account)
            text = "the service fails%s, web requests for this are refused until a probe is answered: %s"
            why = f"{operation}: it took {seconds:.1f} seconds" if is_answer(error) else error
            self.parts.log.warning("failures of the service", text, of_account(account), why, extra=fields, error=error)


def of_account(account: str) -> str:
    """The account for a log line; empty for the one of the settings."""
    return f" for account {account!r}" if account else ""


@dataclass(eq=False)
class Permit:
    """Permission for one call, which is repeated once when the keys were replaced meanwhile."""

    service: Service
    call: Call
    client: PaymentsClient
    held: ExitStack
    """Returns the permission when it is closed, after the call or when none was made."""

    until: float
    """The end of the time that the call may take."""

    def ask(self, make: Callable[[PaymentsClient], T]) -> T:
        """Make the call with the client of the account, as this permission allows."""
        elapsed = self.service.parts.elapsed
        began = elapsed()
        try:
            answer = self._asked(make)
        except PaymentsError as error:
            self.service.note_outcome(self.call, error, elapsed() - began)
            raise
        else:
            self.service.note_outcome(self.call, None, elapsed() - began)
            return answer
        finally:
            # As soon as the call is over, before its answer is processed.
            self.held.close()

    def _asked(self, make: Callable[[PaymentsClient], T]) -> T:
        try:
            return make(self._within())
        except Unauthorized:
            if self._seconds() < _SHORTEST_CALL or not self._has_new_keys():
                raise
        return make(self._within())

    def _has_new_keys(self) -> bool:
        """Ask the shop for the keys again, since the service refused them; whether there are others now."""
        before, accounts = self.client, self.service.accounts
        accounts.refused(self.call.account, before)
        self.client = accounts.client_of(*self.call.circuit)
        return self.client is not before

    def _seconds(self) -> float:
        return self.until - self.service.parts.elapsed()

    def _within(self) -> PaymentsClient:
        return self.client.within(max(self._seconds(), _SHORTEST_CALL))
