"""Lookups of bank transfers whose answer was lost, and reads of bank transfers that were sent."""

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
    OTHER_AMOUNT,
    OTHER_DESTINATION,
    Late,
    PayoutCalls,
    amount_to_accept,
    error_text,
    forgotten_text,
    is_paid_after_all,
    is_refusal,
    keys_gone_text,
    record_status,
)
from flask_paycheckout.payouts.due_payouts import DuePayouts
from flask_paycheckout.payouts.payout_model import PayoutMixin, about_payout
from flask_paycheckout.payouts.payout_moves import PayoutMove
from flask_paycheckout.payouts.payout_schedule import WITHOUT_KEYS, next_read, try_again
from flask_paycheckout.payouts.payout_states import (
    ENDED,
    LOOKED_UP,
    READ,
    RELEASING,
    Doubt,
    PayoutEvidence,
    PayoutState,
)
from flask_paycheckout.payouts.payout_table import Try, all_tries, late_tries, tries_of, tries_text, try_columns
from flask_paycheckout.payouts.results import PayoutResults
from flask_paycheckout.service.accounts import AccountUnavailable
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.logs import about

# The maximum number of payouts per lookup.
_LOOK_UPS = 100
# The number of concurrent reads; few, because nobody waits for them.
_READERS = 4
# The number of reads that are claimed together: all of them end before their claim, however slow the service is.
_READS = 2 * _READERS
# The time for which the shop gives no keys of an account until a person must look its payouts up.
_GONE = timedelta(days=1)
_IN_DOUBT = "the answer was lost, and the service cannot be asked about tokens; look on the chain or in its dashboard"
_ENDS = {"completed": PayoutEvidence.COMPLETED, "failed": PayoutEvidence.FAILED}

Read = Future[Late]
Ask = Callable[[Sequence[PayoutMixin]], set[str]]
"""A function that asks about a batch of payouts and stores the answers; returns the accounts that got no answer."""


def _sent_with(payout: PayoutMixin) -> tuple[str, str]:
    return payout.account, payout.client_id or ""


@dataclass(frozen=True, eq=False)
class Following:
    """Finds out what became of payouts that were sent, or may have been; it never gives one up."""

    wiring: Wiring
    due: DuePayouts
    calls: PayoutCalls

    def _in_batches(self, states: Collection[PayoutState], size: int, results: PayoutResults, ask: Ask) -> None:
        """Ask about all due payouts in these states, in batches of this size.

        An account that gets no answer to its part of a batch is not asked again in this round. If a batch has several
        accounts and none of them gets an answer, the remaining batches wait for the next round.
        """
        ended: set[str] = set()
        while not results.stopped() and (claimed := self.due.take_due(states, results.started, size, ended)):
            failed = ask(claimed)
            results.deliver()
            ended |= failed
            outage = len(failed) > 1 and failed == {payout.account for payout in claimed}
            if outage or len(claimed) < size:
                return

    # Lookups

    def look_up_due(self, results: PayoutResults) -> None:
        """Look up all due payouts."""

        def ask(claimed: Sequence[PayoutMixin]) -> set[str]:
            by_keys = groupby(sorted(claimed, key=_sent_with), _sent_with)
            return {account for (account, _), payouts in by_keys if not self.look_up(list(payouts), results)}

        self._in_batches(LOOKED_UP, _LOOK_UPS, results, ask)

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
            transfers = self.calls.find(payouts)
        except Exception as error:
            # A signer of the shop's own may raise anything.
            fields = about(account=payouts[0].account)
            text, values = "%d payouts could not be looked up: %s", (len(payouts), error_text(error))
            self.wiring.log.warning("look-ups of payouts", text, *values, extra=fields, error=error)
            results.failed_calls += 1
            problem = f"it could not be looked up: {error_text(error)}"
            gone = isinstance(error, AccountUnavailable)
            for payout in payouts:
                # Require the same problem twice: after an outage of a day, one error of the shop's function is not
                # enough.
                if payout.state == PayoutState.UNKNOWN:
                    results.note(payout, None, due_at=self.wiring.clock() + WITHOUT_KEYS)
                elif gone and payout.problem == problem and payout.moved_at <= self.wiring.clock() - _GONE:
                    results.without_keys(payout, problem)
                else:
                    results.unread(payout, problem)
            return False
        ended = self.due.database_clock()
        for payout in payouts:
            if payout.service_reference not in transfers:
                results.without_keys(payout, keys_gone_text(payout.client_id))
            elif (transfer := transfers[payout.service_reference]) is not None:
                results.found(payout, transfer, PayoutEvidence.FOUND, self.calls.difference(payout, transfer))
            elif payout.state == PayoutState.UNKNOWN:
                problem = "its keys are back, and a look-up with them did not find it"
                results.unread(payout, problem, due_at=None)
            else:
                results.missed(payout, began, ended)
        return True

    def ask_before(self, claimed: Sequence[PayoutMixin], results: PayoutResults) -> Sequence[PayoutMixin]:
        """Find out whether claimed payouts were carried out before; return the payouts that may be sent now."""
        sendable = [payout for payout in claimed if self.ask_earlier(payout, results)]
        # The others may have been sent under the same reference already.
        fresh = [payout for payout in sendable if payout.refund_of and not (payout.doubt or payout.to_kind == "wallet")]
        stopped = self._ask_payments(fresh, results) if fresh else []
        return [payout for payout in sendable if payout not in stopped]

    def _ask_payments(self, refunds: Sequence[PayoutMixin], results: PayoutResults) -> Sequence[PayoutMixin]:
        """Look for unknown transfers of these refunds' payments; return the refunds that must not be sent.

        A restored database lacks the transfers since its backup.
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

        :param transfers: the transfers of its payment that are not stored here; the refund's own one is removed.
        """
        for transfer in transfers:
            problem = self.calls.difference(refund, transfer, Try(str(transfer.reference)))
            # The customer may have named another account before the restore, so a person decides.
            is_own = transfer.reference == refund.service_reference and problem == OTHER_DESTINATION
            if problem is None or is_own:
                transfers.remove(transfer)
                results.found(refund, transfer, PayoutEvidence.FOUND, problem, service_reference=transfer.reference)
                return True
        if transfers:
            results.not_carried_out(refund, forgotten_text(transfers[0]))
        return bool(transfers)

    def ask_earlier(self, payout: PayoutMixin, results: PayoutResults) -> bool:
        """Read each earlier try of a claimed payout before it is sent under a new service reference.

        :returns: False when it must not be sent: an earlier try was carried out after all, or could not be read.
        """
        earlier = () if payout.to_kind == "wallet" else tries_of(payout.earlier)
        for earlier_try in earlier:
            try:
                transfer = self.calls.reading(payout, earlier_try)()
            except Exception as error:
                results.failed_calls += 1
                results.not_carried_out(payout, f"an earlier try could not be read: {error_text(error)}")
                return False
            if transfer is not None and record_status(transfer) != "failed":
                columns = msgspec.structs.asdict(earlier_try)
                # Nothing was sent under the present reference.
                columns["earlier"] = tries_text(tuple(each for each in earlier if each != earlier_try))
                problem = self.calls.difference(payout, transfer, earlier_try)
                results.found(payout, transfer, PayoutEvidence.FOUND, problem, **columns)
                return False
        return all(self._has_failed(ended, payout, results) for ended in self.calls.payouts.passed_on(payout))

    def _has_failed(self, earlier: PayoutMixin, refund: PayoutMixin, results: PayoutResults) -> bool:
        """Whether the service still says that an earlier refund of the payment failed; if not, the new refund waits.

        The service is not asked about tokens, nor about tries that came back according to a person.
        """
        tries = [each for each in all_tries(earlier) if each.paid_by is not None and each.doubt != Doubt.DENIED]
        for each in () if earlier.is_token else tries:
            try:
                transfer = self.calls.reading(earlier, each)()
            except Exception as error:
                results.failed_calls += 1
                results.not_carried_out(refund, f"an earlier refund could not be read: {error_text(error)}")
                return False
            if transfer is not None and record_status(transfer) != "failed":
                problem = f"refund {earlier.reference} of the same payment was paid after all: cancel this one"
                results.not_carried_out(refund, problem)
                return False
        return True

    # Reads

    def read_due(self, results: PayoutResults) -> None:
        """Make all due reads."""
        with ThreadPoolExecutor(_READERS, "paycheckout-payout") as readers:

            def ask(claimed: Sequence[PayoutMixin]) -> set[str]:
                reads = [(payout, self._begin(payout, readers)) for payout in claimed]
                answered = {payout.account for payout, read in reads if self._store(payout, read, results)}
                return {payout.account for payout in claimed} - answered

            self._in_batches(READ, _READS, results, ask)

    def _begin(self, payout: PayoutMixin, readers: Executor) -> Read:
        """Begin a read in a thread; it uses no database."""
        try:
            return readers.submit(self.calls.reading_all(payout))
        except PaymentsError as error:
            failed = Read()
            failed.set_exception(error)
            return failed

    def _store(self, payout: PayoutMixin, reading: Read, results: PayoutResults) -> bool:
        """Store what a read has found; False when the account's other reads would fail as well."""
        try:
            late, read = reading.result()
        except Exception as error:
            # A signer of the shop's own may raise anything.
            if payout.failures == 0 or not isinstance(error, PaymentsError):
                text, values = "payout %s could not be read: %s", (payout.reference, error_text(error))
                self.wiring.log.warning("reads of payouts", text, *values, extra=about_payout(payout), error=error)
            results.failed_calls += 1
            if payout.status in ENDED:
                # A webhook may have asked for this read. Keep the problem: it is the reason of a failure.
                is_answer = is_refusal(error) or isinstance(error, AccountUnavailable)
                again = try_again(payout.failures, self.wiring.clock())
                due = self._next_read_of_ended(payout) if is_answer else again
                results.note(payout, None, failures=payout.failures + 1, due_at=due)
                return is_refusal(error)
            # Without its keys, a person may record that it arrived, with the amount that the service reported before,
            # if any.
            columns = {"reported_amount": payout.reported_amount or ""} if isinstance(error, AccountUnavailable) else {}
            results.unread(payout, f"it could not be read: {error_text(error)}", **columns)
            return is_refusal(error)
        if payout.status in RELEASING:
            self._store_of_failed(payout, read, late, results)
        elif read is not None:
            self._store_of_sent(payout, read, late, results)
        elif payout.state == PayoutState.COMPLETED:
            results.read(payout, due_at=self._next_read_of_ended(payout))
        else:
            results.unread(payout, "the service knows no disbursement with its reference")
        return True

    def _store_of_sent(
        self, payout: PayoutMixin, transfer: FiatDisbursement, late: Try | None, results: PayoutResults
    ) -> None:
        """Store the service's record of a transfer that was sent, or that it had completed.

        :param late: an earlier try that it pays, too; the record's amount is the sum then.
        """
        was_completed = payout.state == PayoutState.COMPLETED
        problem, evidence = self.calls.difference(payout, transfer), _ENDS.get(record_status(transfer))
        accepted = problem and amount_to_accept(payout, transfer, problem)
        if was_completed and problem != OTHER_AMOUNT:
            problem = None
        if problem == OTHER_AMOUNT and late is not None:
            problem = f"the service pays it, and after all also {late.service_reference}, an earlier transfer of it"
        # A failure counts even if the amount or destination differs.
        has_failed = evidence is PayoutEvidence.FAILED and (was_completed or accepted)
        if problem is not None and not has_failed:
            disbursement_id = payout.disbursement_id or transfer.disbursement_id
            store = results.differs if was_completed else results.unread
            store(payout, problem, reported_amount=accepted, disbursement_id=disbursement_id)
        elif was_completed and not has_failed:
            results.read(payout, due_at=self._next_read_of_ended(payout))
        elif evidence is not None:
            results.ended(payout, transfer, evidence)
        else:
            results.pending(payout, transfer)

    def _store_of_failed(
        self, payout: PayoutMixin, transfer: FiatDisbursement | None, late: Try | None, results: PayoutResults
    ) -> None:
        """Store the service's record of a failed transfer, which it may pay after all.

        :param late: the earlier try that it pays, which becomes the present one.
        """
        due: dict[str, Any] = {"due_at": self._next_read_of_ended(payout)}
        if transfer is None or not is_paid_after_all(transfer):
            if payout.reported_amount is None:
                # Keep the problem: it is the reason of the failure.
                results.note(payout, None, **due)
            else:
                results.read(payout, reported_amount=None, **due)
            return
        problem, differs = None, self.calls.difference(payout, transfer, late)
        columns = {} if late is None else try_columns(payout, late)
        if differs or payout.state != PayoutState.FAILED:
            other = payout.replaced_by
            since = f"{other} was made in its place: cancel that if it was not sent" if other else "it was given up"
            problem = f"the service pays it after all, and {differs or since}"
        if payout.state != PayoutState.FAILED:
            due["reported_amount"] = (differs and amount_to_accept(payout, transfer, differs)) or ""
        results.paid_after_all(payout, transfer, problem, columns, **due)

    def _next_read_of_ended(self, payout: PayoutMixin) -> datetime | None:
        """The time of the next read of an ended transfer; None if nothing failed, or after PAYCHECKOUT_WATCH_FOR."""
        now, since = self.wiring.clock(), payout.moved_at
        if payout.state == PayoutState.COMPLETED and not late_tries(payout.earlier):
            return None
        return next_read(since, now) if now < since + self.wiring.settings.watch_for else None
