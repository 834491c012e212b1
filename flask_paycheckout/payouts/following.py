"""Answers that come later: look-ups of bank transfers whose answer was lost, and reads of those that were sent."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Any

import msgspec

from flask_paycheckout.client import FiatDisbursement, PaymentsError, Unauthorized
from flask_paycheckout.clock import Clock
from flask_paycheckout.payouts.calls import PayoutCalls, difference, is_refusal, keys_gone_text, words_of
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_queue import PayoutQueue
from flask_paycheckout.payouts.payout_schedule import Pauses, next_read
from flask_paycheckout.payouts.payout_states import PayoutEvidence
from flask_paycheckout.payouts.payout_tries import tries_of, tries_text
from flask_paycheckout.payouts.results import PayoutResults
from flask_paycheckout.service.logs import FailureLog, about, about_payout

# The payouts that one look-up is for.
_LOOK_UPS = 100
_IN_DOUBT = "the answer was lost, and the service cannot be asked about tokens; look on the chain or in its dashboard"

Missing = Callable[[PayoutMixin, datetime, datetime], None]


def _sent_with(payout: PayoutMixin) -> tuple[str, str]:
    return payout.account, payout.client_id or ""


class LookUps:
    """Finds out what became of payouts whose answer was lost, and of earlier tries.

    :param database_clock: by which hosts agree how long ago the first look-up was.
    """

    def __init__(
        self, queue: PayoutQueue, calls: PayoutCalls, clock: Clock, database_clock: Clock, log: FailureLog
    ) -> None:
        self._queue = queue
        self._calls = calls
        self._clock = clock
        self._database_clock = database_clock
        self._log = log
        self._pauses = Pauses(clock)

    def run(self, results: PayoutResults, *, at_once: bool = False) -> None:
        """Look up all that is due; an account's look-ups end when one gets no answer, and all when none does.

        :param at_once: whether to look up also for accounts that pause after failures.
        """
        ended = set() if at_once else self._pauses.accounts()
        while claimed := self._queue.take_look_ups(results.started, self._clock(), _LOOK_UPS, ended):
            asked = []
            for payout in claimed:
                if payout.disbursement_id is not None:
                    results.sent_before(payout)
                elif payout.is_token:
                    results.in_doubt(payout, _IN_DOUBT)
                else:
                    asked.append(payout)
            # One account whose service or keys fail leaves the look-ups of the others alone.
            failed = set()
            for (account, _), payouts in groupby(sorted(asked, key=_sent_with), _sent_with):
                began = time.monotonic()
                if self.look_up(list(payouts), results, results.missed):
                    self._pauses.answered(account)
                else:
                    self._pauses.failed(account, time.monotonic() - began)
                    failed.add(account)
            results.deliver()
            ended |= failed
            if len(failed) > 1 and len(failed) == len({payout.account for payout in asked}):
                return

    def look_up(self, payouts: Sequence[PayoutMixin], results: PayoutResults, missing: Missing) -> bool:
        """Look up claimed payouts; False when there was no answer, which proves nothing.

        :param missing: stores that the keys which sent a payout did not find it, given the times when the look-up began
            and ended, by the database's clock.
        """
        if not payouts:
            return True
        began = self._database_clock()
        try:
            looked_up = self._calls.find(payouts)
        except Exception as error:
            # A signer of the shop's own may raise anything.
            fields = about(account=payouts[0].account)
            text, told = "%d payouts could not be looked up: %s", (len(payouts), words_of(error))
            self._log.warning("look-ups of payouts", text, *told, extra=fields, error=error)
            results.call_failed()
            for payout in payouts:
                results.unread(payout, f"it could not be looked up: {words_of(error)}")
            return False
        ended = self._database_clock()
        for payout in payouts:
            made = looked_up.found.get(payout.service_reference)
            if made is not None:
                self._found(payout, made, results)
            elif looked_up.proves_absence:
                missing(payout, began, ended)
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
                made = self._calls.reading(payout, one)()
            except Exception as error:
                results.call_failed()
                results.not_carried_out(payout, f"an earlier try could not be read: {words_of(error)}")
                return False
            if made is not None and str(made.status).lower() != "failed":
                columns = msgspec.structs.asdict(one)
                columns["earlier"] = tries_text(tuple(each for each in earlier if each != one))
                differing = difference(payout, self._calls.known_destination(payout), made)
                results.sent_earlier(payout, columns, made, differing)
                return False
        return True

    def _found(self, payout: PayoutMixin, made: FiatDisbursement, results: PayoutResults) -> None:
        differing = difference(payout, self._calls.known_destination(payout), made)
        if differing is None:
            results.sent(payout, made, PayoutEvidence.FOUND)
        else:
            results.differs(payout, made, f"the service has it with another {differing}")


# Reads at once; few, as nobody waits for them.
_READERS = 4
# Reads that are claimed together: all end before their claim does, however slow the service is.
_PORTION = 2 * _READERS
_ENDS = {"completed": PayoutEvidence.COMPLETED, "failed": PayoutEvidence.FAILED}

Read = FiatDisbursement | None | Exception


class Following:
    """Reads sent payouts, with growing pauses, and never gives one up. Tokens cannot be read."""

    def __init__(self, queue: PayoutQueue, calls: PayoutCalls, clock: Clock, log: FailureLog) -> None:
        self._queue = queue
        self._calls = calls
        self._clock = clock
        self._log = log
        self._pauses = Pauses(clock)

    def run(self, results: PayoutResults, stopped: Callable[[], bool], *, at_once: bool = False) -> None:
        """Make the reads that are due.

        An account's reads end when all that it has in a portion get no answer, and everybody's when a portion of
        several accounts gets none.

        :param at_once: whether to read also for accounts that pause after failures.
        """
        ended = set() if at_once else self._pauses.accounts()
        with ThreadPoolExecutor(_READERS, "paycheckout-payout") as readers:
            while not stopped():
                claimed = self._queue.take_reads(results.started, self._clock(), _PORTION, ended)
                if not claimed:
                    return
                began = time.monotonic()
                # Only the calls run in threads; they use no database.
                reads = list(readers.map(_run, [self._reading(payout) for payout in claimed]))
                self._store(claimed, reads, results)
                results.deliver()
                failed = self._failed(claimed, reads, time.monotonic() - began)
                ended |= failed
                if len(failed) > 1 and all(isinstance(read, Exception) for read in reads):
                    return

    def _failed(self, claimed: Sequence[PayoutMixin], reads: Sequence[Read], seconds: float) -> set[str]:
        """The accounts of which no read was answered; they pause."""
        answered = {payout.account for payout, read in zip(claimed, reads, strict=True) if not _is_failure(read)}
        failed = {payout.account for payout in claimed} - answered
        for account in answered:
            self._pauses.answered(account)
        for account in failed:
            self._pauses.failed(account, seconds)
        return failed

    def _reading(self, payout: PayoutMixin) -> Callable[[], FiatDisbursement | None]:
        try:
            return self._calls.reading(payout)
        except PaymentsError as error:
            return partial(_raise, error)

    def _store(self, claimed: Sequence[PayoutMixin], reads: Sequence[Read], results: PayoutResults) -> None:
        for payout, read in zip(claimed, reads, strict=True):
            if isinstance(read, Exception):
                if payout.failures == 0 or not isinstance(read, PaymentsError):
                    text, told = "payout %s could not be read: %s", (payout.reference, words_of(read))
                    self._log.warning("reads of payouts", text, *told, extra=about_payout(payout), error=read)
                results.call_failed()
                results.unread(payout, f"it could not be read: {words_of(read)}")
            elif (problem := self._problem(payout, read)) is not None or read is None:
                results.unread(payout, problem or "", **_other_amount(payout, read))
            elif (evidence := _ENDS.get(str(read.status).lower())) is not None:
                failed = evidence is PayoutEvidence.FAILED
                results.ended(payout, read, evidence, "the service says that it failed" if failed else None)
            else:
                results.pending(payout, read, next_read(payout.moved_at, self._clock()))

    def _problem(self, payout: PayoutMixin, read: FiatDisbursement | None) -> str | None:
        """The reason why a record says nothing about this payout; None when it does."""
        if read is None:
            return "the service knows no disbursement with its reference"
        if payout.disbursement_id not in (None, read.disbursement_id):
            return "the service answered with another disbursement"
        if read.reference not in (None, payout.service_reference):
            return "the service has it under another reference"
        differing = difference(payout, self._calls.known_destination(payout), read)
        return None if differing is None else f"the service has it with another {differing}"


def _other_amount(payout: PayoutMixin, read: FiatDisbursement | None) -> dict[str, Any]:
    """The columns for the amount that the service reports of this payout, if it is another one."""
    if read is None or payout.disbursement_id not in (None, read.disbursement_id):
        return {}
    if read.reference not in (None, payout.service_reference):
        return {}
    amount = read.amount
    other = amount is not None and amount > 0 and amount != payout.amount
    return {"reported_amount": f"{amount:f}" if other else None, "disbursement_id": read.disbursement_id}


def _is_failure(read: Read) -> bool:
    """Whether the account's other reads would fail as well."""
    return isinstance(read, Exception) and (isinstance(read, Unauthorized) or not is_refusal(read))


def _raise(error: PaymentsError) -> FiatDisbursement | None:
    raise error


def _run(read: Callable[[], FiatDisbursement | None]) -> Read:
    try:
        return read()
    except Exception as error:
        # A signer of the shop's own may raise anything.
        return error
