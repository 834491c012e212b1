"""Calls to the payments service for checkouts, deposits and refunds, with tighter limits inside web requests.

A web request gives the service a few seconds, waits only while the service is quick or few other requests wait, and is
refused at once while the service fails. Commands, tasks and reconcile have only the client's own time limit, since no
customer waits for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import partial
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
from flask_paycheckout.service.accounts import Accounts, AccountUnavailable
from flask_paycheckout.service.deposits import ServiceCheckout, read_deposit
from flask_paycheckout.service.limits import Admission, Breaker, ConcurrencyLimit, Slot
from flask_paycheckout.service.logs import FailureLog, about
from flask_paycheckout.service.observations import Observed, Observers
from flask_paycheckout.service.record import ServiceRecord

__all__ = ["CREATE", "PROOF", "READ", "RECIPIENT", "AccountUnavailable", "NotAsked", "Permit", "Service", "is_answer"]

T = TypeVar("T")

CREATE, READ, RECIPIENT = "POST /v1/checkout", "GET /v1/deposit/{id}", "POST /v1/recipient"
PROOF = "GET /v1/disbursement/fiat/{id}/report"

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
        self.args = (operation, self.message, retry_after)


def is_answer(error: BaseException | None) -> bool:
    """Whether the service answered; a 404, or a 403 of keys that may not do this, is an answer too."""
    return error is None or (isinstance(error, RequestRefused) and not isinstance(error, ServiceFault))


class Service:
    """The payments service, as it is called by one app.

    :param accounts: gives the client of a merchant account.
    :param timeout: the most seconds that one call of the client may take.
    :param web_timeout: the most seconds that all calls of one web request may take together.
    :param web_calls: the most web requests of a process that may wait for the service at once.
    :param several_accounts: whether the shop has several accounts, which then share these.
    :param web_request: returns a mapping that lives as long as the current web request; None outside of one.
    :param now: a monotonic clock, in seconds.
    """

    def __init__(
        self,
        accounts: Accounts,
        timeout: float,
        web_timeout: float,
        web_calls: int,
        several_accounts: Callable[[], bool],
        web_request: Callable[[], MutableMapping[str, Any] | None],
        record: ServiceRecord,
        log: FailureLog,
        observers: Observers,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._accounts = accounts
        self._timeout = timeout
        self._web_timeout = web_timeout
        self._web_request = web_request
        self._log = log
        self._observers = observers
        self._now = now
        # Twice the time of a call, to allow for what happens between permission and call.
        self._breaker = Breaker(2 * web_timeout + _MOMENT, now)
        self._slow_after = _SLOW * web_timeout
        self._slots = ConcurrencyLimit(web_calls, self._slow_after, several_accounts, (RECIPIENT, PROOF), now)
        self._record = record

    def client_id_of(self, account: str) -> str | None:
        """The client id with which calls of an account are signed now.

        :raises AccountUnavailable: the shop gives no keys for the account.
        """
        return self._accounts.client_of(account, CREATE).client_id

    def reading(self, checkout: ServiceCheckout) -> Callable[[], Deposit | None]:
        """A function that reads a checkout's deposit with the client's own time limit only; for reconcile.

        It asks neither the shop nor the database, so that it may run in a thread of its own.

        :raises AccountUnavailable: the shop gives no keys for the account.
        """
        client = self._accounts.client_of(checkout.account, READ)

        def read() -> Deposit | None:
            try:
                return read_deposit(client, checkout)
            except Unauthorized:
                self._accounts.refused(checkout.account, client)
                raise

        return read

    @contextmanager
    def permit(self, operation: str, account: str = "") -> Iterator[Permit]:
        """Take permission for one call, before anything is written to the database for it.

        :param operation: `READ`, which waits for no slot, or `CREATE`, `RECIPIENT` or `PROOF`, which wait a moment.
        :param account: the name of the merchant account whose keys sign the call.
        :raises NotAsked: the service may not be called now.
        :raises AccountUnavailable: the shop gives no keys for the account.
        """
        keys = _Keys(self._accounts, account, operation)
        request = self._web_request()
        permit = self._program_permit(keys) if request is None else self._web_permit(keys, request)
        try:
            yield permit
        finally:
            permit.end()

    @contextmanager
    def waiting(self, operation: str, account: str) -> Iterator[float]:
        """Count this request among those that wait for the service while it waits for another request's call.

        Yields the seconds that it may wait.

        :raises NotAsked: too many requests wait already.
        """
        request = self._web_request()
        if request is None:
            yield self._timeout
            return
        left = self._left(operation, request)
        slot, began = self._slot(Slot(account, operation, following=True)), self._now()
        try:
            yield left
        finally:
            self._slots.give_back(slot)
            request[_SPENT] += self._now() - began

    def _program_permit(self, keys: _Keys) -> Permit:
        return Permit(keys, self._timeout, self._now, partial(self._note_outcome, keys, Admission()))

    def _web_permit(self, keys: _Keys, request: MutableMapping[str, Any]) -> Permit:
        operation, circuit = keys.operation, (keys.account, keys.operation)
        left = self._left(operation, request)
        admission = self._breaker.admit(*circuit)
        if admission is None:
            raise self._refused(operation, "it does not answer in time", max(1.0, self._breaker.wait(*circuit)))
        try:
            slot = self._slot(Slot(*circuit, probe=admission.probe))
        except NotAsked:
            self._breaker.withdrawn(admission, *circuit)
            raise
        began = self._now()

        def give_back() -> None:
            self._slots.give_back(slot)
            self._breaker.withdrawn(admission, *circuit)
            request[_SPENT] += self._now() - began

        return Permit(keys, left, self._now, partial(self._note_outcome, keys, admission), give_back)

    def _left(self, operation: str, request: MutableMapping[str, Any]) -> float:
        left = self._web_timeout - float(request.setdefault(_SPENT, 0.0))
        if left < _SHORTEST_CALL:
            raise NotAsked(operation, "this web request has given the service all of its time", _SLOTS_TAKEN)
        return left

    def _slot(self, slot: Slot) -> Slot:
        account, operation = slot.of
        if self._slots.take(slot, 0.0 if operation == READ else min(_MOMENT, self._web_timeout)):
            return slot
        why = f"as many requests as may are waiting for it{of_account(account)} already"
        if operation != READ and not self._slots.is_slow(account, operation):
            self._record.on_refusal(f"{operation}: {why}", account)
        raise self._refused(operation, why, _SLOTS_TAKEN)

    def _refused(self, operation: str, why: str, retry_after: float) -> NotAsked:
        self._log.warning("web requests", "a web request did not call the service, because %s", why, extra=about())
        self._observers.record(Observed.CALL, operation, "not_asked")
        return NotAsked(operation, f"the service was not asked: {why}", retry_after)

    def _note_outcome(self, keys: _Keys, admission: Admission, error: PaymentsError | None, seconds: float) -> None:
        """Report a call's outcome to the breaker; calls of programs count too, as they also show whether it answers.

        An answer that web requests can hardly wait for is as bad as none.
        """
        account, operation, fields = keys.account, keys.operation, about(account=keys.account)
        if is_answer(error) and seconds <= self._slow_after:
            if self._breaker.answered(account, operation):
                self._observers.record(Observed.CIRCUIT, operation, "closed", account=account)
                text = "the service answers again%s: %s"
                self._log.warning("recoveries of the service", text, of_account(account), operation, extra=fields)
            return
        if self._breaker.failed(admission, account, operation):
            self._observers.record(Observed.CIRCUIT, operation, "opened", account=account)
            text = "the service fails%s, web requests for this are refused until a probe is answered: %s"
            why = f"{operation}: it took {seconds:.1f} seconds" if is_answer(error) else error
            self._log.warning("failures of the service", text, of_account(account), why, extra=fields, error=error)


def of_account(account: str) -> str:
    """The account for a log line; empty for the one of the settings."""
    return f" for account {account!r}" if account else ""


class _Keys:
    """The keys of one call: the account's client, and a newer one when the service refuses the first."""

    def __init__(self, accounts: Accounts, account: str, operation: str) -> None:
        self._accounts = accounts
        self.operation = operation
        self.account = account
        self.client = accounts.client_of(account, operation)

    def renew(self) -> bool:
        """Ask the shop for the keys again, since the service refused them; whether there are others now."""
        before = self.client
        self._accounts.refused(self.account, before)
        self.client = self._accounts.client_of(self.account, self.operation)
        return self.client is not before


class Permit:
    """Permission for one call, which is repeated once when the keys were replaced meanwhile.

    :param left: the seconds that it may take.
    :param now: a monotonic clock, in seconds.
    :param note: called with the call's error, or None when it was answered, and the seconds that it took.
    :param give_back: returns the permission; called once, after the call or when none was made.
    """

    def __init__(
        self,
        keys: _Keys,
        left: float,
        now: Callable[[], float],
        note: Callable[[PaymentsError | None, float], None],
        give_back: Callable[[], None] = lambda: None,
    ) -> None:
        self._keys = keys
        self._now = now
        self._until = now() + left
        self._note = note
        self._give_back: Callable[[], None] | None = give_back

    def read(self, checkout: ServiceCheckout) -> Deposit | None:
        """Read a checkout's deposit. See `read_deposit`."""
        return self.ask(lambda client: read_deposit(client, checkout))

    def end(self) -> None:
        """Return the permission as soon as the call is over, before its answer is processed."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back()

    def ask(self, call: Callable[[PaymentsClient], T]) -> T:
        """Make the call with the client of the account, as this permission allows."""
        began = self._now()
        try:
            answer = self._asked(call)
        except PaymentsError as error:
            self._note(error, self._now() - began)
            raise
        else:
            self._note(None, self._now() - began)
            return answer
        finally:
            self.end()

    def _asked(self, call: Callable[[PaymentsClient], T]) -> T:
        try:
            return call(self._within())
        except Unauthorized:
            if self._until - self._now() < _SHORTEST_CALL or not self._keys.renew():
                raise
        return call(self._within())

    def _within(self) -> PaymentsClient:
        return self._keys.client.within(max(self._until - self._now(), _SHORTEST_CALL))
