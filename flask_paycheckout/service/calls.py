"""Calls to the payments service for checkouts, deposits and refunds, with tighter limits inside web requests.

A web request gives the service a few seconds, waits only while the service is quick or few other requests wait, and is
refused at once while the service fails. Commands, tasks and reconcile have only the client's own timeout, because no
customer waits for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from flask_paycheckout.client import (
    PaymentsClient,
    PaymentsError,
    RequestRefused,
    ServiceFault,
    TransportFailed,
    Unauthorized,
)
from flask_paycheckout.per_process import PerProcess
from flask_paycheckout.service.accounts import Accounts
from flask_paycheckout.service.limits import Call, WebLimits
from flask_paycheckout.service.record import ServiceRecord
from flask_paycheckout.wiring import Observed, Wiring
from flask_paycheckout.wiring.logs import about

T = TypeVar("T")

CREATE, READ, RECIPIENT = "POST /v1/checkout", "GET /v1/deposit/{id}", "POST /v1/recipient"
BANKS = "GET /v1/disbursement/fiat/payment-method"
PROOF, ESTIMATE = "GET /v1/disbursement/fiat/{id}/report", "GET /v1/disbursement/crypto/estimate"

# Seconds that a request waits for a slot while the service is quick; too short to slow down the shop's other pages.
_MOMENT = 0.15
# Seconds after which a customer may try again when all slots were taken.
_SLOTS_TAKEN = 2.0
# The fraction of a web request's time after which a call counts as failed, even if it is answered.
_SLOW = 0.7
# In seconds. With less time left, a call would only time out.
_SHORTEST_CALL = 0.1
_SPENT = "flask_paycheckout.service_seconds"


class NotAsked(TransportFailed):
    """The service was not called because a limit was reached; `retry_after` has the seconds until another try."""

    def __init__(self, operation: str, message: str | None, retry_after: float | None = None) -> None:
        super().__init__(operation, message, retry_after, request_sent=False)


def is_answer(error: BaseException | None) -> bool:
    """Whether the service answered; a 404, or a 403 for keys without the permission, is an answer too."""
    return error is None or (isinstance(error, RequestRefused) and not isinstance(error, ServiceFault))


@dataclass(eq=False)
class Service:
    """Calls of one app to the payments service."""

    wiring: Wiring
    accounts: Accounts
    record: ServiceRecord

    def __post_init__(self) -> None:
        settings, elapsed = self.wiring.settings, self.wiring.elapsed
        self.web_timeout = min(settings.web_timeout, settings.timeout)
        slow_after = self.slow_after = _SLOW * self.web_timeout
        # Twice the time of a call, because work may happen between permission and call.
        probe_lasts = 2 * self.web_timeout + _MOMENT
        shares = self.wiring.several_accounts, (RECIPIENT, PROOF, ESTIMATE, BANKS)
        self.limits = PerProcess(lambda: WebLimits(settings.web_calls, slow_after, probe_lasts, *shares, elapsed))

    @contextmanager
    def permit(self, operation: str, account: str = "") -> Iterator[Permit]:
        """Take permission for one call, before anything is written to the database for it.

        :param operation: `READ`, which does not wait for a slot, or another operation, which waits 0.15 seconds.
        :param account: the name of the merchant account whose keys sign the call.
        :raises NotAsked: the service may not be called now.
        :raises AccountUnavailable: the shop returned no usable keys for the account.
        """
        client = self.accounts.client_of(account, operation)
        slot = self._take(Call(account, operation))
        try:
            yield Permit(self, slot, client)
        finally:
            slot.end()

    @contextmanager
    def waiting(self, operation: str, account: str) -> Iterator[float]:
        """Count this request as waiting for the service while it waits for another request's call.

        Yields the seconds that it may wait.

        :raises NotAsked: too many requests are waiting already.
        """
        slot = self._take(Call(account, operation, following=True))
        try:
            yield slot.until - self.wiring.elapsed()
        finally:
            slot.end()

    def _take(self, call: Call) -> Slot:
        """Begin a call; a web request's call waits for a slot within the limits of the process."""
        request, now, operation = self.wiring.web_request(), self.wiring.elapsed(), call.operation
        slot = Slot(self, call, self.limits(), request, now + self.wiring.settings.timeout)
        if request is None:
            return slot
        seconds_left = self.web_timeout - float(request.setdefault(_SPENT, 0.0))
        if seconds_left < _SHORTEST_CALL:
            raise NotAsked(operation, "this web request has given the service all of its time", _SLOTS_TAKEN)
        if not call.following and (wait := slot.limits.admit(call)):
            raise self._refused(operation, "it does not answer in time", max(1.0, wait))
        is_taken = False
        try:
            is_taken = slot.limits.take(call, 0.0 if operation == READ else min(_MOMENT, self.web_timeout), now)
        finally:
            if not is_taken:
                slot.limits.end(call)
        if not is_taken:
            why = f"as many requests as may are waiting for it{of_account(call.account)} already"
            if operation != READ and not slot.limits.is_slow(call):
                self.record.on_refusal(f"{operation}: {why}", call.account)
            raise self._refused(operation, why, _SLOTS_TAKEN)
        slot.until = now + seconds_left
        return slot

    def _refused(self, operation: str, why: str, retry_after: float) -> NotAsked:
        self.wiring.log.warning(
            "web requests", "a web request did not call the service, because %s", why, extra=about()
        )
        self.wiring.observers.record(Observed.CALL, operation, "not_asked")
        return NotAsked(operation, f"the service was not asked: {why}", retry_after)


def of_account(account: str) -> str:
    """The account for a log line; empty for the account of the settings."""
    return f" for account {account!r}" if account else ""


@dataclass(eq=False)
class Slot:
    """The slot of a call within the limits, until its `end`."""

    service: Service
    call: Call
    limits: WebLimits
    request: MutableMapping[str, Any] | None
    """A dictionary of the web request that makes the call; None for a program, which is not limited."""

    until: float
    """The deadline of the call, by the monotonic clock."""

    def end(self) -> None:
        """Release the slot, if it is still taken, and add its time to the web request's."""
        if self.request is not None and self.call.since is not None:
            self.request[_SPENT] += self.service.wiring.elapsed() - self.call.since
            self.limits.end(self.call)


@dataclass(eq=False)
class Permit:
    """Permission for one call, which is retried once if the keys were replaced meanwhile."""

    service: Service
    slot: Slot
    client: PaymentsClient

    def ask(self, make: Callable[[PaymentsClient], T]) -> T:
        """Make the call with the client of the account, within the permitted time."""
        elapsed = self.service.wiring.elapsed
        began = elapsed()
        try:
            answer = self._asked(make, began)
        except PaymentsError as error:
            self._note_outcome(error, elapsed() - began)
            raise
        else:
            self._note_outcome(None, elapsed() - began)
            return answer
        finally:
            # Release the slot before the answer is processed.
            self.slot.end()

    def _asked(self, make: Callable[[PaymentsClient], T], now: float) -> T:
        try:
            return make(self._within(now))
        except Unauthorized:
            now = self.service.wiring.elapsed()
            if self.slot.until - now < _SHORTEST_CALL or not self._has_new_keys():
                raise
        return make(self._within(now))

    def _note_outcome(self, error: PaymentsError | None, seconds: float) -> None:
        """Report a call's outcome to the circuit breaker; calls of programs count too.

        An answer that is too slow for web requests counts as a failure.
        """
        call, limits, wiring = self.slot.call, self.slot.limits, self.service.wiring
        is_good = is_answer(error) and seconds <= self.service.slow_after
        if not (limits.answered(call) if is_good else limits.failed(call)):
            return
        account, operation = call.account, call.operation
        fields = about(account=account)
        wiring.observers.record(Observed.CIRCUIT, operation, "closed" if is_good else "opened", account=account)
        if is_good:
            text = "the service answers again%s: %s"
            wiring.log.warning("recoveries of the service", text, of_account(account), operation, extra=fields)
            return
        text = "the service fails%s, web requests for this are refused until a probe is answered: %s"
        why = f"{operation}: it took {seconds:.1f} seconds" if is_answer(error) else error
        wiring.log.warning("failures of the service", text, of_account(account), why, extra=fields, error=error)

    def _has_new_keys(self) -> bool:
        """Call the shop's function again, because the service refused the keys; whether the keys have changed."""
        before, accounts = self.client, self.service.accounts
        accounts.refused(self.slot.call.account, before)
        self.client = accounts.client_of(self.slot.call.account, self.slot.call.operation)
        return self.client is not before

    def _within(self, now: float) -> PaymentsClient:
        return self.client.within(max(self.slot.until - now, _SHORTEST_CALL))
