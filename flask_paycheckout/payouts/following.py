"""Answers that come later: look-ups of bank transfers whose answer was lost, and reads of those that were sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import msgspec

from flask_paycheckout.client import FiatDisbursement, PaymentsError, Unauthorized
from flask_paycheckout.clock import Clock
from flask_paycheckout.parts import Parts
from flask_paycheckout.parts.logs import about
from flask_paycheckout.payouts.calls import OTHER_AMOUNT, PayoutCalls, error_text, is_refusal, keys_gone_text
from flask_paycheckout.payouts.payout_model import PayoutMixin, about_payout
from flask_paycheckout.payouts.payout_queue import PayoutQueue
from flask_paycheckout.payouts.payout_schedule import next_read
from flask_paycheckout.payouts.payout_states import PayoutEvidence, PayoutStatus
from flask_paycheckout.payouts.payout_tries import tries_of, tries_text
from flask_paycheckout.payouts.results import PayoutResults

# The payouts that one look-up is for.
_LOOK_UPS = 100
# Reads at once; few, as nobody waits for them.
_READERS = 4
# Reads that are claimed together: all end before their claim does, however slow the service is.
_READS = 2 * _READERS
_IN_DOUBT = "the answer was lost, and the service cannot be asked about tokens; look on the chain or in its dashboard"
_ENDS = {"completed": PayoutEvidence.COMPLETED, "failed": PayoutEvidence.FAILED}

Read = FiatDisbursement | None | Exception


def _sent_with(payout: PayoutMixin) -> tuple[str, str]:
    return payout.account, payout.client_id or ""


@dataclass(frozen=True, eq=False)
class Following:
    """Finds out what became of payouts that were sent, or may have been; it never gives one up.

    :param database_clock: by which hosts agree how long ago the first look-up was.
    """

    parts: Parts
    queue: PayoutQueue
    calls: PayoutCalls
    database_clock: Clock

    # Look-ups

    def look_up_due(self, results: PayoutResults) -> None:
        """Look up all that is due; an account's look-ups end when one gets no answer, and all when none does."""
        ended: set[str] = set()
        while claimed := self.queue.take_due(PayoutStatus.SENDING.value, results.started, _LOOK_UPS, ended):
            asked = list(self._to_be_asked(claimed, results))
            # One account whose service or keys fail leaves the look-ups of the others alone.
            failed = {
                account
                for (account, _), payouts in groupby(sorted(asked, key=_sent_with), _sent_with)
                if not self.look_up(list(payouts), results)
            }
            results.deliver()
            ended |= failed
            if len(failed) > 1 and len(failed) == len({payout.account for payout in asked}):
                return

    @staticmethod
    def _to_be_asked(claimed: Sequence[PayoutMixin], results: PayoutResults) -> Iterator[PayoutMixin]:
        """The payouts about which the service must be asked, after the others are decided."""
        for payout in claimed:
            if payout.disbursement_id is not None:
                results.sent_before(payout)
            elif payout.is_token:
                results.in_doubt(payout, _IN_DOUBT)
            else:
                yield payout

    def look_up(self, payouts: Sequence[PayoutMixin], results: PayoutResults) -> bool:
        """Look up claimed payouts; False when there was no answer, which proves nothing."""
        if not payouts:
            return True
        began = self.database_clock()
        try:
            looked_up = self.calls.find(payouts)
        except Exception as error:
            # A signer of the shop's own may raise anything.
            fields = about(account=payouts[0].account)
            text, told = "%d payouts could not be looked up: %s", (len(payouts), error_text(error))
            self.parts.log.warning("look-ups of payouts", text, *told, extra=fields, error=error)
            results.failed_calls += 1
            for payout in payouts:
                results.unread(payout, f"it could not be looked up: {error_text(error)}")
            return False
        ended = self.database_clock()
        for payout in payouts:
            made = looked_up.found.get(payout.service_reference)
            if made is not None:
                results.found(payout, made, PayoutEvidence.FOUND, self.calls.difference(payout, made))
            elif looked_up.proves_absence:
                results.missed(payout, began, ended)
            else:
                results.in_doubt(payout, keys_gone_text(payout.client_id))
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
                results.sent_earlier(payout, columns, made, self.calls.difference(payout, made))
                return False
        return True

    # Reads

    def read_due(self, results: PayoutResults, stopped: Callable[[], bool]) -> None:
        """Make the reads that are due, with growing pauses.

        An account's reads end when all that it has in a portion get no answer, and everybody's when a portion of
        several accounts gets none.
        """
        ended: set[str] = set()
        with ThreadPoolExecutor(_READERS, "paycheckout-payout") as readers:
            while not stopped():
                claimed = self.queue.take_due(PayoutStatus.SENT.value, results.started, _READS, ended)
                if not claimed:
                    return
                # Only the calls run in threads; they use no database.
                reads = list(readers.map(lambda read: read(), map(self._reading, claimed)))
                failed = {payout.account for payout in claimed}
                for payout, read in zip(claimed, reads, strict=True):
                    self._store(payout, read, results)
                    if not _is_failure(read):
                        failed.discard(payout.account)
                results.deliver()
                ended |= failed
                if len(failed) > 1 and all(isinstance(read, Exception) for read in reads):
                    return

    def _reading(self, payout: PayoutMixin) -> Callable[[], Read]:
        try:
            return partial(_run, self.calls.reading(payout))
        except PaymentsError as error:
            failure = error
        return lambda: failure

    def _store(self, payout: PayoutMixin, read: Read, results: PayoutResults) -> None:
        if isinstance(read, Exception):
            if payout.failures == 0 or not isinstance(read, PaymentsError):
                text, told = "payout %s could not be read: %s", (payout.reference, error_text(read))
                self.parts.log.warning("reads of payouts", text, *told, extra=about_payout(payout), error=read)
            results.failed_calls += 1
            results.unread(payout, f"it could not be read: {error_text(read)}")
        elif read is None:
            results.unread(payout, "the service knows no disbursement with its reference")
        elif (foreign := _foreign(payout, read)) is not None:
            results.unread(payout, foreign)
        elif (problem := self.calls.difference(payout, read)) is not None:
            results.unread(payout, problem, **_other_amount(problem, read))
        elif (evidence := _ENDS.get(str(read.status).lower())) is not None:
            results.ended(payout, read, evidence)
        else:
            results.pending(payout, read, next_read(payout.moved_at, self.parts.clock()))


def _foreign(payout: PayoutMixin, read: FiatDisbursement) -> str | None:
    """The reason why a record is another payout's; None when it is this one's."""
    if payout.disbursement_id not in (None, read.disbursement_id):
        return "the service answered with another disbursement"
    if read.reference not in (None, payout.service_reference):
        return "the service has it under another reference"
    return None


def _other_amount(problem: str, read: FiatDisbursement) -> dict[str, Any]:
    """The columns for the amount that the service reports of a payout, if that is what differs."""
    amount = read.amount if problem == OTHER_AMOUNT else None
    other = amount is not None and amount > 0
    return {"reported_amount": f"{amount:f}" if other else None, "disbursement_id": read.disbursement_id}


def _is_failure(read: Read) -> bool:
    """Whether the account's other reads would fail as well."""
    return isinstance(read, Exception) and (isinstance(read, Unauthorized) or not is_refusal(read))


def _run(read: Callable[[], FiatDisbursement | None]) -> Read:
    try:
        return read()
    except Exception as error:
        # A signer of the shop's own may raise anything.
        return error
