"""Answers that come later: look-ups of bank transfers whose answer was lost, and reads of those that were sent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

import msgspec

from flask_paycheckout.client import FiatDisbursement, PaymentsError
from flask_paycheckout.clock import EPOCH
from flask_paycheckout.payouts.calls import (
    OTHER_DESTINATION,
    PayoutCalls,
    amount_to_accept,
    error_text,
    forgotten_text,
    is_refusal,
    keys_gone_text,
    record_status,
)
from flask_paycheckout.payouts.due_payouts import DuePayouts
from flask_paycheckout.payouts.payout_model import PayoutMixin, about_payout
from flask_paycheckout.payouts.payout_moves import PayoutMove
from flask_paycheckout.payouts.payout_schedule import WITHOUT_KEYS, next_read
from flask_paycheckout.payouts.payout_states import LOOKED_UP, READ, RELEASING, Doubt, PayoutEvidence, PayoutState
from flask_paycheckout.payouts.payout_table import Try, all_tries, tries_of, tries_text
from flask_paycheckout.payouts.results import PayoutResults
from flask_paycheckout.service.accounts import AccountUnavailable
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.logs import about

# The payouts that one look-up is for.
_LOOK_UPS = 100
# Reads at once; few, as nobody waits for them.
_READERS = 4
# Reads that are claimed together: all end before their claim does, however slow the service is.
_READS = 2 * _READERS
# An account whose keys the shop does not give for so long is gone: a person looks its payouts up.
_GONE = timedelta(days=1)
_IN_DOUBT = "the answer was lost, and the service cannot be asked about tokens; look on the chain or in its dashboard"
# A transfer that had failed, and has one of these statuses, is paid after all.
_PAID_AFTER_ALL = ("pending", "completed")
_ENDS = {"completed": PayoutEvidence.COMPLETED, "failed": PayoutEvidence.FAILED}

Read = Future[FiatDisbursement | None]
Ask = Callable[[Sequence[PayoutMixin]], set[str]]
"""Asks about a portion, and stores the answers; returns the accounts that got none."""


def _sent_with(payout: PayoutMixin) -> tuple[str, str]:
    return payout.account, payout.client_id or ""


@dataclass(frozen=True, eq=False)
class Following:
    """Finds out what became of payouts that were sent, or may have been; it never gives one up."""

    wiring: Wiring
    due: DuePayouts
    calls: PayoutCalls

    def _in_portions(self, states: Collection[PayoutState], most: int, results: PayoutResults, ask: Ask) -> None:
        """Ask about all that is due in these states, so many at a time.

        An account whose whole portion gets no answer is not asked again in this round, and nobody is when several
        accounts get none and no other one does.
        """
        ended: set[str] = set()
        while not results.stopped() and (claimed := self.due.take_due(states, results.started, most, ended)):
            failed = ask(claimed)
            results.deliver()
            ended |= failed
            outage = len(failed) > 1 and failed == {payout.account for payout in claimed}
            if outage or len(claimed) < most:
                return

    # Look-ups

    def look_up_due(self, results: PayoutResults) -> None:
        """Look up all that is due."""

        def ask(claimed: Sequence[PayoutMixin]) -> set[str]:
            together = groupby(sorted(claimed, key=_sent_with), _sent_with)
            return {account for (account, _), payouts in together if not self.look_up(list(payouts), results)}

        self._in_portions(LOOKED_UP, _LOOK_UPS, results, ask)

    def look_up(self, claimed: Sequence[PayoutMixin], results: PayoutResults) -> bool:
        """Find out what became of claimed payouts that were sent with the same keys.

        :returns: False when there was no answer, which proves nothing.
        """
        payouts = []
        for payout in claimed:
            if payout.disbursement_id is not None and payout.state != PayoutState.UNKNOWN:
                # The service has it: its answer was noted, but could not be stored as a move.
                results.move(payout, PayoutMove(PayoutEvidence.ACCEPTED, {"disbursement_id": payout.disbursement_id}))
            elif not payout.is_token:
                payouts.append(payout)
            elif payout.state == PayoutState.REFUSED and payout.doubt is None:
                results.missed(payout, EPOCH, EPOCH)
            else:
                results.in_doubt(payout, payout.problem or _IN_DOUBT)
        if not payouts:
            return True
        began = self.due.database_clock()
        try:
            found = self.calls.find(payouts)
        except Exception as error:
            # A signer of the shop's own may raise anything.
            fields = about(account=payouts[0].account)
            text, told = "%d payouts could not be looked up: %s", (len(payouts), error_text(error))
            self.wiring.log.warning("look-ups of payouts", text, *told, extra=fields, error=error)
            results.failed_calls += 1
            problem = f"it could not be looked up: {error_text(error)}"
            gone = isinstance(error, AccountUnavailable)
            for payout in payouts:
                # Not because of one error of the shop's function after a day on which the service was away.
                if payout.state == PayoutState.UNKNOWN:
                    results.note(payout, None, due_at=self.wiring.clock() + WITHOUT_KEYS)
                elif gone and payout.problem == problem and payout.moved_at <= self.wiring.clock() - _GONE:
                    results.without_keys(payout, problem)
                else:
                    results.unread(payout, problem)
            return False
        ended = self.due.database_clock()
        for payout in payouts:
            if payout.service_reference not in found:
                results.without_keys(payout, keys_gone_text(payout.client_id))
            elif (made := found[payout.service_reference]) is not None:
                results.found(payout, made, PayoutEvidence.FOUND, self.calls.difference(payout, made))
            elif payout.state == PayoutState.UNKNOWN:
                problem = "its keys are back, and a look-up with them did not find it"
                results.unread(payout, problem, due_at=None)
            else:
                results.missed(payout, began, ended)
        return True

    def ask_before(self, claimed: Sequence[PayoutMixin], results: PayoutResults) -> Sequence[PayoutMixin]:
        """Find out whether claimed payouts were carried out before; those that may be sent now."""
        asked = [payout for payout in claimed if self.ask_earlier(payout, results)]
        # Of others, something may have been sent under the same reference.
        fresh = [payout for payout in asked if payout.refund_of and not (payout.doubt or payout.to_kind == "wallet")]
        stopped = self._ask_payments(fresh, results) if fresh else []
        return [payout for payout in asked if payout not in stopped]

    def _ask_payments(self, refunds: Sequence[PayoutMixin], results: PayoutResults) -> Sequence[PayoutMixin]:
        """Look for transfers of these refunds' payments that are not stored here; the refunds that must not be sent.

        A restored database has forgotten the transfers since its backup.
        """
        try:
            unknown = self.calls.unknown_transfers(refunds)
        except Exception as error:
            results.failed_calls += 1
            for refund in refunds:
                problem = f"the transfers of its payment could not be looked up: {error_text(error)}"
                results.not_carried_out(refund, problem)
            return refunds
        return [refund for refund in refunds if self._was_forgotten(refund, unknown[str(refund.refund_of)], results)]

    def _was_forgotten(self, refund: PayoutMixin, transfers: list[FiatDisbursement], results: PayoutResults) -> bool:
        """Whether the service has transfers of a refund's payment that are not stored here; one may be this refund.

        :param transfers: one that is this refund is removed.
        """
        for made in transfers:
            problem = self.calls.difference(refund, made, Try(str(made.reference)))
            # A person may know that the customer has named another account then.
            is_own = made.reference == refund.service_reference and problem == OTHER_DESTINATION
            if problem is None or is_own:
                transfers.remove(made)
                results.found(refund, made, PayoutEvidence.FOUND, problem, service_reference=made.reference)
                return True
        if transfers:
            results.not_carried_out(refund, forgotten_text(transfers[0]))
        return bool(transfers)

    def ask_earlier(self, payout: PayoutMixin, results: PayoutResults) -> bool:
        """Read each earlier try of a claimed payout before it is sent under a new service reference.

        :returns: False when it must not be sent: an earlier try was carried out after all, or could not be read.
        """
        earlier = () if payout.to_kind == "wallet" else tries_of(payout.earlier)
        for one in earlier:
            try:
                made = self.calls.reading(payout, one)()
            except Exception as error:
                results.failed_calls += 1
                results.not_carried_out(payout, f"an earlier try could not be read: {error_text(error)}")
                return False
            if made is not None and record_status(made) != "failed":
                columns = msgspec.structs.asdict(one)
                columns["earlier"] = tries_text(tuple(each for each in earlier if each != one))
                problem = self.calls.difference(payout, made, one)
                results.found(payout, made, PayoutEvidence.FOUND, problem, **columns)
                return False
        return all(self._has_failed(ended, payout, results) for ended in self.calls.payouts.passed_on(payout))

    def _has_failed(self, before: PayoutMixin, refund: PayoutMixin, results: PayoutResults) -> bool:
        """Whether the service still says that an earlier refund of the payment failed; otherwise this one waits.

        It is not asked about tokens, nor about what came back by a person's word.
        """
        tries = [one for one in all_tries(before) if one.paid_by is not None and one.doubt != Doubt.DENIED]
        for one in () if before.is_token else tries:
            try:
                made = self.calls.reading(before, one)()
            except Exception as error:
                results.failed_calls += 1
                results.not_carried_out(refund, f"an earlier refund could not be read: {error_text(error)}")
                return False
            if made is not None and record_status(made) != "failed":
                problem = f"refund {before.reference} of the same payment was paid after all: cancel this one"
                results.not_carried_out(refund, problem)
                return False
        return True

    # Reads

    def read_due(self, results: PayoutResults) -> None:
        """Make the reads that are due, with growing pauses."""
        with ThreadPoolExecutor(_READERS, "paycheckout-payout") as readers:

            def ask(claimed: Sequence[PayoutMixin]) -> set[str]:
                reads = [(payout, self._begin(payout, readers)) for payout in claimed]
                answered = {payout.account for payout, read in reads if self._store(payout, read, results)}
                return {payout.account for payout in claimed} - answered

            self._in_portions(READ, _READS, results, ask)

    def _begin(self, payout: PayoutMixin, readers: Executor) -> Read:
        """Begin a call, which uses no database, in a thread."""
        try:
            return readers.submit(self.calls.reading(payout))
        except PaymentsError as error:
            failed = Read()
            failed.set_exception(error)
            return failed

    def _store(self, payout: PayoutMixin, reading: Read, results: PayoutResults) -> bool:
        """Store what a read has found; False when the account's other reads would fail as well."""
        try:
            read = reading.result()
        except Exception as error:
            # A signer of the shop's own may raise anything.
            if payout.failures == 0 or not isinstance(error, PaymentsError):
                text, told = "payout %s could not be read: %s", (payout.reference, error_text(error))
                self.wiring.log.warning("reads of payouts", text, *told, extra=about_payout(payout), error=error)
            results.failed_calls += 1
            if payout.status in RELEASING:
                results.note(payout, None, due_at=self._next_read_of_failed(payout))
                return is_refusal(error)
            if payout.state == PayoutState.COMPLETED and isinstance(error, AccountUnavailable):
                results.note(payout, None, due_at=None)
                return False
            # Where nobody has its keys, a person may say that it arrived, with what the service reported before.
            known = {"reported_amount": payout.reported_amount or ""} if isinstance(error, AccountUnavailable) else {}
            results.unread(payout, f"it could not be read: {error_text(error)}", **known)
            return is_refusal(error)
        if payout.status in RELEASING:
            self._store_of_failed(payout, read, results)
            return True
        if payout.state == PayoutState.COMPLETED:
            if read is not None and record_status(read) == "failed":
                results.ended(payout, read, PayoutEvidence.FAILED)
            else:
                results.read(payout, due_at=None)
            return True
        if read is None:
            results.unread(payout, "the service knows no disbursement with its reference")
            return True
        problem, evidence = self.calls.difference(payout, read), _ENDS.get(record_status(read))
        accepted = problem and amount_to_accept(payout, read, problem)
        if problem is not None and not (accepted and evidence is PayoutEvidence.FAILED):
            results.unread(
                payout,
                problem,
                reported_amount=accepted,
                disbursement_id=payout.disbursement_id or read.disbursement_id,
            )
        elif evidence is not None:
            # Also of one that it reports otherwise: it has failed all the same.
            results.ended(payout, read, evidence)
        else:
            results.pending(payout, read)
        return True

    def _store_of_failed(self, payout: PayoutMixin, made: FiatDisbursement | None, results: PayoutResults) -> None:
        """Store what the service says of a transfer that had failed: it may pay it after all."""
        due: dict[str, Any] = {"due_at": self._next_read_of_failed(payout)}
        if made is None or record_status(made) not in _PAID_AFTER_ALL:
            if payout.reported_amount is None:
                # Its problem stays the reason for which it failed.
                results.note(payout, None, **due)
            else:
                results.read(payout, reported_amount=None, **due)
            return
        told, differs = None, self.calls.difference(payout, made)
        if differs or payout.state != PayoutState.FAILED:
            other = payout.replaced_by
            since = f"{other} was made in its place: cancel that if it was not sent" if other else "it was given up"
            told = f"the service pays it after all, and {differs or since}"
        if payout.state != PayoutState.FAILED:
            due["reported_amount"] = (differs and amount_to_accept(payout, made, differs)) or ""
        results.paid_after_all(payout, made, told, **due)

    def _next_read_of_failed(self, payout: PayoutMixin) -> datetime | None:
        """The time of the next read of a transfer that has failed; None once it was watched for long enough."""
        now, since = self.wiring.clock(), payout.moved_at
        return next_read(since, now) if now < since + self.wiring.settings.watch_for else None
