"""Look-ups of bank transfers whose answer was lost, by the references that they were sent with."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import groupby

from flask_paycheckout.client import FiatDisbursement
from flask_paycheckout.clock import Clock
from flask_paycheckout.payouts.calls import PayoutCalls, words_of
from flask_paycheckout.payouts.differences import difference
from flask_paycheckout.payouts.pauses import Pauses
from flask_paycheckout.payouts.results import PayoutResults
from flask_paycheckout.rules.payout_states import PayoutEvidence
from flask_paycheckout.service.logs import FailureLog, about
from flask_paycheckout.store.payout_model import PayoutMixin
from flask_paycheckout.store.payout_queue import PayoutQueue

__all__ = ["LookUps"]

# The payouts that one look-up is for.
_PORTION = 100
_IN_DOUBT = "the answer was lost, and the service cannot be asked about tokens; look on the chain or in its dashboard"

Missing = Callable[[PayoutMixin, datetime], None]


def _account_of(payout: PayoutMixin) -> str:
    return payout.account


class LookUps:
    """Finds out what became of payouts whose answer was lost."""

    def __init__(self, queue: PayoutQueue, calls: PayoutCalls, clock: Clock, log: FailureLog) -> None:
        self._queue = queue
        self._calls = calls
        self._clock = clock
        self._log = log
        self._pauses = Pauses(clock)

    def run(self, results: PayoutResults, *, at_once: bool = False) -> None:
        """Look up all that is due; an account's look-ups end when one gets no answer, and all when none does.

        :param at_once: whether to look up also for accounts that pause after failures.
        """
        ended = set() if at_once else self._pauses.accounts()
        while claimed := self._queue.take_look_ups(results.started, self._clock(), _PORTION, ended):
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
            by_account = groupby(sorted(asked, key=_account_of), _account_of)
            for account, payouts in by_account:
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

        :param missing: stores that a payout was not found, given the time when the look-up began.
        """
        if not payouts:
            return True
        began = self._clock()
        try:
            found = self._calls.find(payouts)
        except Exception as error:
            # A signer of the shop's own may raise anything.
            fields = about(account=payouts[0].account)
            text, told = "%d payouts could not be looked up: %s", (len(payouts), words_of(error))
            self._log.warning("look-ups of payouts", text, *told, extra=fields, error=error)
            results.call_failed()
            for payout in payouts:
                results.unread(payout, f"it could not be looked up: {words_of(error)}")
            return False
        for payout in payouts:
            made = found.get(payout.service_reference)
            if made is None:
                missing(payout, began)
            else:
                self._found(payout, made, results)
        return True

    def _found(self, payout: PayoutMixin, made: FiatDisbursement, results: PayoutResults) -> None:
        differing = difference(payout, self._calls.known_destination(payout), made)
        if differing is None:
            results.sent(payout, made, PayoutEvidence.FOUND)
        else:
            results.differs(payout, made, f"the service has it with another {differing}")
