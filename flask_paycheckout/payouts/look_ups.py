"""Look-ups of bank transfers whose answer was lost, by the references that they were sent with."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import groupby

import msgspec

from flask_paycheckout.client import FiatDisbursement
from flask_paycheckout.clock import Clock
from flask_paycheckout.payouts.calls import PayoutCalls, keys_gone_text, words_of
from flask_paycheckout.payouts.differences import difference
from flask_paycheckout.payouts.pauses import Pauses
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_queue import PayoutQueue
from flask_paycheckout.payouts.payout_states import PayoutEvidence
from flask_paycheckout.payouts.payout_tries import tries_of, tries_text
from flask_paycheckout.payouts.results import PayoutResults
from flask_paycheckout.service.logs import FailureLog, about

__all__ = ["LookUps", "Missing"]

# The payouts that one look-up is for.
_PORTION = 100
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
