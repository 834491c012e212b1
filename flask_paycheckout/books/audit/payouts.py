"""Reads of single disbursements, and their comparison with the payouts' rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from flask_paycheckout.books.audit.disbursements import judge_disbursement
from flask_paycheckout.books.audit.findings import Finding
from flask_paycheckout.books.audit.reading import Job, Reads, what_to_do
from flask_paycheckout.books.audit.rows import AuditRows
from flask_paycheckout.client import FiatDisbursement, NotFound
from flask_paycheckout.clock import Clock
from flask_paycheckout.payouts.calls import PayoutCalls
from flask_paycheckout.payouts.payout_model import PayoutMixin

__all__ = ["PayoutLooks"]


class PayoutLooks:
    """Looks at single payouts."""

    def __init__(self, rows: AuditRows, reads: Reads, calls: PayoutCalls, clock: Clock) -> None:
        self._rows = rows
        self._reads = reads
        self._calls = calls
        self._clock = clock

    def at(self, payouts: Sequence[PayoutMixin]) -> dict[int, Finding]:
        """Read the disbursements of these payouts; the findings by the id of the row."""
        answers = self._reads.run([Job(payout.account, partial(self._reading, payout)) for payout in payouts])
        return {payout.id: self.judge(payout, read) for payout, read in zip(payouts, answers, strict=True)}

    def judge(self, payout: PayoutMixin, read: FiatDisbursement | Exception | None) -> Finding:
        """Compare a payout with its disbursement.

        :param read: None when the service has none; an error when it could not be read.
        """
        to, now = self._calls.known_destination(payout), self._clock()
        if isinstance(read, Exception):
            return judge_disbursement(payout, to, None, now).unreadable(what_to_do(read, payout.account))
        return judge_disbursement(payout, to, read, now)

    def _reading(self, payout: PayoutMixin) -> Callable[[], FiatDisbursement | None]:
        return partial(_found, self._calls.reading(payout))


def _found(read: Callable[[], FiatDisbursement | None]) -> FiatDisbursement | None:
    try:
        return read()
    except NotFound as error:
        # A gateway's 404 for an unknown route has other words.
        if "not found" in (error.message or "").lower():
            return None
        raise
