"""Answers that come later: look-ups of bank transfers whose answer was lost, and reads of those that were sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby

import msgspec

from flask_paycheckout.client import FiatDisbursement, PaymentsError
from flask_paycheckout.clock import Clock
from flask_paycheckout.parts import Parts
from flask_paycheckout.parts.logs import about
from flask_paycheckout.payouts.calls import PayoutCalls, amount_to_accept, error_text, is_refusal, keys_gone_text
from flask_paycheckout.payouts.payout_model import PayoutMixin, about_payout
from flask_paycheckout.payouts.payout_moves import PayoutMove
from flask_paycheckout.payouts.payout_states import PayoutEvidence, PayoutStatus
from flask_paycheckout.payouts.payout_tries import tries_of, tries_text
from flask_paycheckout.payouts.results import PayoutResults
from flask_paycheckout.payouts.stored import Payouts
from flask_paycheckout.service.accounts import AccountUnavailable

# The payouts that one look-up is for.
_LOOK_UPS = 100
# Reads at once; few, as nobody waits for them.
_READERS = 4
# Reads that are claimed together: all end before their claim does, however slow the service is.
_READS = 2 * _READERS
# An account whose keys the shop does not give for so long is gone: a person looks its payouts up.
_GONE = timedelta(days=1)
_IN_DOUBT = "the answer was lost, and the service cannot be asked about tokens; look on the chain or in its dashboard"
_ENDS = {"completed": PayoutEvidence.COMPLETED, "failed": PayoutEvidence.FAILED}

Read = Future[FiatDisbursement | None]
Ask = Callable[[Sequence[PayoutMixin]], set[str]]
"""Asks about a portion, and stores the answers; returns the accounts that got none."""


def _sent_with(payout: PayoutMixin) -> tuple[str, str]:
    return payout.account, payout.client_id or ""


@dataclass(frozen=True, eq=False)
class Following:
    """Finds out what became of payouts that were sent, or may have been; it never gives one up.

    :param database_clock: by which hosts agree how long ago the first look-up was.
    """

    parts: Parts
    payouts: Payouts
    calls: PayoutCalls
    database_clock: Clock

    def _in_portions(self, status: PayoutStatus, most: int, results: PayoutResults, ask: Ask) -> None:
        """Ask about all that is due in this state, so many at a time.

        An account whose whole portion gets no answer is not asked again in this round, and nobody is when several
        accounts get none and no other one does.
        """
        ended: set[str] = set()
        while not results.stopped() and (claimed := self.payouts.take_due(status, results.started, most, ended)):
            failed = ask(claimed)
            results.deliver()
            ended |= failed
            if len(failed) > 1 and failed == {payout.account for payout in claimed}:
                return

    # Look-ups

    def look_up_due(self, results: PayoutResults) -> None:
        """Look up all that is due."""

        def ask(claimed: Sequence[PayoutMixin]) -> set[str]:
            together = groupby(sorted(claimed, key=_sent_with), _sent_with)
            return {account for (account, _), payouts in together if not self.look_up(list(payouts), results)}

        self._in_portions(PayoutStatus.SENDING, _LOOK_UPS, results, ask)

    def look_up(self, claimed: Sequence[PayoutMixin], results: PayoutResults) -> bool:
        """Find out what became of claimed payouts that were sent with the same keys.

        :returns: False when there was no answer, which proves nothing.
        """
        payouts = []
        for payout in claimed:
            if payout.disbursement_id is not None:
                # The service has it: its answer was noted, but could not be stored as a move.
                results.move(payout, PayoutMove(PayoutEvidence.ACCEPTED, {"disbursement_id": payout.disbursement_id}))
            elif not payout.is_token:
                payouts.append(payout)
            elif payout.refused and not payout.doubted:
                results.refused(payout)
            else:
                results.in_doubt(payout, payout.problem or _IN_DOUBT)
        if not payouts:
            return True
        began = self.database_clock()
        try:
            found = self.calls.find(payouts)
        except Exception as error:
            # A signer of the shop's own may raise anything.
            fields = about(account=payouts[0].account)
            text, told = "%d payouts could not be looked up: %s", (len(payouts), error_text(error))
            self.parts.log.warning("look-ups of payouts", text, *told, extra=fields, error=error)
            results.failed_calls += 1
            problem = f"it could not be looked up: {error_text(error)}"
            gone = isinstance(error, AccountUnavailable)
            for payout in payouts:
                # Not because of one error of the shop's function after a day on which the service was away.
                if gone and payout.problem == problem and payout.moved_at <= self.parts.clock() - _GONE:
                    results.in_doubt(payout, problem)
                else:
                    results.unread(payout, problem)
            return False
        ended = self.database_clock()
        for payout in payouts:
            if payout.service_reference not in found:
                results.in_doubt(payout, keys_gone_text(payout.client_id))
            elif (made := found[payout.service_reference]) is not None:
                results.found(payout, made, PayoutEvidence.FOUND, self.calls.difference(payout, made))
            else:
                results.missed(payout, began, ended)
        return True

    def ask_earlier(self, payout: PayoutMixin, results: PayoutResults) -> bool:
        """Read each earlier try of a claimed payout before it is sent under a new service reference.

        :returns: False when it must not be sent: an earlier try was carried out after all, or could not be read.
        """
        earlier = () if payout.is_token else tries_of(payout.earlier)
        for one in earlier:
            try:
                made = self.calls.reading(payout, one)()
            except Exception as error:
                results.failed_calls += 1
                results.not_carried_out(payout, f"an earlier try could not be read: {error_text(error)}")
                return False
            if made is not None and str(made.status).lower() != "failed":
                columns = msgspec.structs.asdict(one)
                columns["earlier"] = tries_text(tuple(each for each in earlier if each != one))
                problem = self.calls.difference(payout, made, one)
                results.found(payout, made, PayoutEvidence.FOUND, problem, **columns)
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

            self._in_portions(PayoutStatus.SENT, _READS, results, ask)

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
                self.parts.log.warning("reads of payouts", text, *told, extra=about_payout(payout), error=error)
            results.failed_calls += 1
            # Where nobody has its keys, a person may say that it arrived, with what the service reported before.
            known = {"reported_amount": payout.reported_amount or ""} if isinstance(error, AccountUnavailable) else {}
            results.unread(payout, f"it could not be read: {error_text(error)}", **known)
            return is_refusal(error)
        if read is None:
            results.unread(payout, "the service knows no disbursement with its reference")
            return True
        problem, evidence = self.calls.difference(payout, read), _ENDS.get(str(read.status).lower())
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
