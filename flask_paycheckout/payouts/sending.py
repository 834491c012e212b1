"""Sending: payouts are claimed and committed before the call, and each result is stored as evidence."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Any

from sqlalchemy import Row

from flask_paycheckout.client import CryptoDisbursement, PaymentsClient, PaymentsError
from flask_paycheckout.clock import Clock, doubled
from flask_paycheckout.config.accounts import AccessToken
from flask_paycheckout.events.events import Delivery
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.payouts.calls import (
    Disbursement,
    PayoutCalls,
    difference,
    error_text,
    is_refusal,
    keys_gone_text,
    record_status,
    says_taken,
)
from flask_paycheckout.payouts.destinations import Destination, Unreadable
from flask_paycheckout.payouts.due_payouts import DuePayouts
from flask_paycheckout.payouts.following import Following
from flask_paycheckout.payouts.payout_model import PayoutMixin, about_payout
from flask_paycheckout.payouts.payout_moves import PayoutMove, PayoutMoves, problem_columns
from flask_paycheckout.payouts.payout_states import Doubt, PayoutEvidence, PayoutStatus
from flask_paycheckout.payouts.results import PayoutReport, PayoutResults
from flask_paycheckout.service.record import PAYOUT, Cause, ServiceRecord
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.installation import Installation
from flask_paycheckout.wiring.logs import about

_SENDS = "sends of payouts"
# Errors of the client when it cannot build a call, so that nothing was sent.
_NOT_BUILT = (TypeError, ValueError, ArithmeticError)
_PAUSE = timedelta(seconds=5), timedelta(minutes=10)
# The least length of a pause in times of the failed call, so that such calls take less than a tenth of the time.
_TIMES_THE_CALL = 10
_PAYER_CANNOT = "the account that may have paid it already has no access token of its own now; give it one again"


@dataclass(frozen=True)
class Pauses:
    """The accounts with which nothing is sent for a while.

    A pause lasts 5 s, doubled with each failure, and at least ten times as long as the failed call took, but 10 min at
    most. Each lost answer about a token leaves a payout that only a person can decide, so an outage must not cost one
    in every round. An account whose calls hang must not take the time of the others either. Pauses are kept by each
    process, and end with the first call that is answered.
    """

    clock: Clock
    _failed: dict[str, tuple[int, datetime]] = field(default_factory=dict, init=False)

    def accounts(self) -> set[str]:
        """The names of the accounts whose pause is not over."""
        now = self.clock()
        return {account for account, (_, until) in list(self._failed.items()) if until > now}

    def failed(self, account: str, seconds: float) -> None:
        """Note a call without a certain answer.

        :param seconds: the time that it took.
        """
        failures = self._failed.get(account, (0,))[0] + 1
        pause = max(doubled(failures, *_PAUSE), timedelta(seconds=_TIMES_THE_CALL * seconds))
        self._failed[account] = failures, self.clock() + min(pause, _PAUSE[1])

    def answered(self, account: str) -> None:
        """Note a call that was answered."""
        self._failed.pop(account, None)


@dataclass(frozen=True, eq=False)
class PayoutSender:
    """Runs rounds for one app, in any number of processes and threads at once."""

    wiring: Wiring
    due: DuePayouts
    calls: PayoutCalls
    following: Following
    record: ServiceRecord
    moves: PayoutMoves
    outbox: Outbox
    installation: Installation

    @cached_property
    def _pauses(self) -> Pauses:
        return Pauses(self.wiring.clock)

    def run(
        self,
        access_token: str | Callable[[], str] | None = None,
        stopped: Callable[[], bool] = lambda: False,
        *,
        at_once: bool = True,
    ) -> tuple[PayoutReport, Delivery]:
        """Run a round over all payouts that are due at its beginning; returns its counts and its deliveries of events.

        :param access_token: used in place of the setting. Without either nothing is sent; lookups and reads go on.
        :param stopped: whether to end before the next call.
        :param at_once: whether to send also for accounts whose last sends failed; reconcile pauses instead.
        :raises TypeError: the access token is neither a string nor a function.
        :raises ValueError: the access token cannot stand in a header.
        """
        if not (access_token is None or callable(access_token)):
            # Check the token before anything is claimed.
            self.calls.accounts.authorized(access_token)
        results = PayoutResults(self.wiring, self.moves, self.outbox, stopped, self.wiring.clock())
        due = self.due.backlog(results.started)
        results.left = due.ready
        token = self.wiring.settings.access_token if access_token is None else access_token
        # Earlier steps may make payouts ready.
        may_send = due.sent or due.postponed or due.looked_up
        steps: dict[Callable[[PayoutResults], None], bool] = {
            self._let_time_pass: due.lapsed or due.postponed,
            self.following.look_up_due: due.looked_up,
            partial(self._send_ready, token, at_once): may_send,
            self.following.read_due: due.read,
            self._count: may_send,
        }
        if taken := [step for step, is_due in steps.items() if is_due]:
            self._take_steps(results, *taken)
        return results.report(), results.delivery

    def _let_time_pass(self, results: PayoutResults) -> None:
        """Cancel payouts that nobody claimed in time, and make those ready that waited for the next day."""
        for payout in self.due.overdue(results.started):
            unclaimed = payout.status == PayoutStatus.CLAIMABLE
            # A payout that does not fit into the next day either has waited since the first day.
            since = {"problem_since": payout.problem_since}
            results.move(payout, PayoutMove(PayoutEvidence.EXPIRED if unclaimed else PayoutEvidence.NEXT_DAY, since))

    def _count(self, results: PayoutResults) -> None:
        results.left = self.due.backlog(results.started).ready

    def _take_steps(self, results: PayoutResults, *steps: Callable[[PayoutResults], None]) -> None:
        """Take the steps of a round; a failed step must not prevent the next one."""
        try:
            for step in steps:
                try:
                    step(results)
                except Exception:
                    results.failed_calls += 1
                    text = "a step of the round of payouts failed; the next round tries it again"
                    self.wiring.log.exception("rounds of payouts", text, extra=about())
        finally:
            self.record.write()
            results.deliver()

    def read_again(self, reference: str) -> None:
        """Read a completed bank transfer again, and apply what the service says now."""
        self.due.read_again(reference)
        results = PayoutResults(self.wiring, self.moves, self.outbox, lambda: False, self.wiring.clock())
        self._take_steps(results, self.following.read_due)

    def _called(self, token: Callable[[], str]) -> str:
        """Call a function that gives an access token, in its own app context, because threads have none."""
        with self.wiring.sessions.own():
            return token()

    # Sends

    def _send_ready(self, access_token: AccessToken | None, at_once: bool, results: PayoutResults) -> None:
        """Send all ready payouts, one batch after the other; nothing from a copy of the shop.

        Sending for an account that pays ends at the first call that the service does not answer, or refuses altogether.

        :param access_token: for accounts without one of their own; a function is called before each send.
        """
        if not self.installation.is_here():
            return
        due_by, away = self.wiring.clock(), set() if at_once else self._pauses.accounts()
        waiting, locked = set[str](), set[int]()
        # Payouts of a refused batch are sent alone, once one lookup for all of them has found nothing.
        for _ in range(2):
            while not results.stopped() and (first := self.due.next_ready(due_by, waiting, away, locked)) is not None:
                paying = self._paying(first, access_token, away, results)
                if paying is None:
                    if first.paid_by is None:
                        waiting.add(first.account)
                    else:
                        away.add(first.paid_by)
                    continue
                payer, client = paying
                taken = self.due.take(first, due_by, paid_by=payer, client_id=client.client_id)
                if not taken:
                    # Another transaction has locked it, perhaps for long.
                    locked.add(first.id)
                    continue
                began = time.monotonic()
                if self._send(client, taken, results):
                    self._pauses.answered(payer)
                else:
                    away.add(payer)
                    self._pauses.failed(payer, time.monotonic() - began)
                results.deliver()
            if not results.failed_calls:
                return
            self.following.look_up_due(results)

    def _paying(
        self, first: Row[Any], access_token: AccessToken | None, away: Collection[str], results: PayoutResults
    ) -> tuple[str, PaymentsClient] | None:
        """The account that pays and its client with its access token; None if it cannot pay now.

        :param first: the row of the payout.
        :param away: accounts that send nothing now.
        """
        payer, accounts = first.account, self.calls.accounts
        try:
            payer = accounts.payer_of(payer) if first.paid_by is None else first.paid_by
            client = None if payer in away else accounts.paying(payer, access_token, self._called)
            if client is not None:
                return payer, client
            if payer not in away and first.paid_by is not None and first.problem != _PAYER_CANNOT:
                payout = self.moves.payouts.made(first._mapping)
                results.note(payout, None, **problem_columns(payout, _PAYER_CANNOT, self.wiring.clock()))
            return None
        except PaymentsError as error:
            problem = error_text(error)
            self.record.on_outcome(PAYOUT, payer, error, problem)
        except Exception as error:
            # Log no message: the shop's function may have put the token in it.
            problem = f"no access token: the function that gives it raised {type(error).__name__}"
            self.record.on_failure((PAYOUT, Cause.KEYS), problem, payer)
        self.wiring.log.warning(_SENDS, "payouts are not sent: %s", problem, extra=about(account=payer))
        results.failed_calls += 1
        return None

    def _send(self, client: PaymentsClient, taken: Sequence[PayoutMixin], results: PayoutResults) -> bool:
        """Send claimed payouts in one call; False when further calls would fail as well."""
        destinations = {payout.id: to for payout in taken if (to := self._destination(client, payout, results))}
        readable = [payout for payout in taken if payout.id in destinations]
        sendable = self.following.ask_before(readable, results)
        # Renew the claims right before the call: a process that was suspended past its claim sends nothing.
        batch = self.due.renew(sendable)
        if not batch:
            return True
        try:
            disbursements = self.calls.send(client, [(payout, destinations[payout.id]) for payout in batch])
        except Exception as error:
            results.failed_calls += 1
            if isinstance(error, _NOT_BUILT) and len(batch) > 1:
                # One of the payouts is the reason; find out by sending each alone.
                answered = [self._send(client, [payout], results) for payout in batch]
                return all(answered)
            return self._failed(batch, error, results)
        self._answered(batch, destinations, disbursements, results)
        return True

    def _destination(self, client: PaymentsClient, payout: PayoutMixin, results: PayoutResults) -> Destination | None:
        """A payout's destination; None if it, or the keys that sent the payout before, are not known any more.

        The result is stored, and such a payout does not stop the others.
        """
        if payout.client_id != client.client_id:
            # Other keys may belong to another account of the service, which does not know what was sent before.
            (results.in_doubt if payout.is_token else results.without_keys)(payout, keys_gone_text(payout.client_id))
            return None
        try:
            return self.calls.sealing.open(payout.to_kind, payout.to_details)
        except Unreadable as error:
            results.failed_calls += 1
            results.not_carried_out(payout, str(error))
            return None

    # Results

    def _answered(
        self,
        batch: Sequence[PayoutMixin],
        destinations: Mapping[int, Destination],
        disbursements: Sequence[Disbursement],
        results: PayoutResults,
    ) -> None:
        """Store the service's answer, and look up the payouts that it does not name."""
        by_reference = defaultdict(list)
        for answer in disbursements:
            by_reference[answer.reference].append(answer)
        unnamed = []
        for payout in batch:
            answers = by_reference[payout.service_reference]
            if not answers:
                unnamed.append(payout)
                continue
            problem = difference(payout, answers[0], destinations[payout.id])
            if len({answer.disbursement_id for answer in answers}) > 1:
                problem = "the service's answer names it twice"
            elif isinstance(answers[0], CryptoDisbursement) and record_status(answers[0]) == "failed":
                problem = "the service's answer says that it failed"
            results.found(payout, answers[0], PayoutEvidence.ACCEPTED, problem)
        if unnamed:
            results.failed_calls += 1
            problem = "the service's answer does not name it"
            results.lost(unnamed, PayoutEvidence.ANSWER_LOST, problem)

    def _failed(self, batch: Sequence[PayoutMixin], error: Exception, results: PayoutResults) -> bool:
        """Store a failed call; False when further calls would fail as well."""
        problem, several = error_text(error), len(batch) > 1
        if isinstance(error, _NOT_BUILT):
            results.not_carried_out(batch[0], problem)
            return True
        fields = about(account=batch[0].account) if several else about_payout(batch[0])
        values = "%d payouts were not sent, or not for certain: %s", len(batch), problem
        self.wiring.log.warning(_SENDS, *values, extra=fields, error=error)
        if not isinstance(error, PaymentsError) or error.carried_out == "unknown":
            results.lost(batch, PayoutEvidence.ANSWER_LOST, problem)
            return False
        if is_refusal(error):
            # One bad payout must not stop the others.
            evidence = PayoutEvidence.BATCH_REFUSED if several else PayoutEvidence.REFUSED
            taken = {"doubt": Doubt.LOST} if not several and says_taken(error) else {}
            results.lost(batch, evidence, problem, **taken)
            return True
        for payout in batch:
            results.not_carried_out(payout, problem, error.retry_after)
        return False
