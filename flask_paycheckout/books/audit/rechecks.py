"""Looks at rows and at what the service says of them: a difference is named only when a second look finds it as well.

That follows some moments later, since a running shop may be about to store what has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Table

from flask_paycheckout.books.audit.comparing import judge_disbursement
from flask_paycheckout.books.audit.findings import DOUBTFUL, Finding
from flask_paycheckout.books.audit.reading import Job, Reads, what_to_do
from flask_paycheckout.books.audit.rows import AuditRows
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.client import Deposit, FiatDisbursement, NotFound
from flask_paycheckout.clock import Clock
from flask_paycheckout.payouts.calls import PayoutCalls
from flask_paycheckout.payouts.payout_model import PayoutMixin

ReadDeposit = Callable[[CheckoutMixin], Callable[[], Deposit | None]]

# Looks at what differs, while the row moves each time.
_MOST_LOOKS = 5
# Seconds until the second look at what differs.
_CALM = 2.0


@dataclass(frozen=True)
class Recheck:
    """Compares rows of one table with the service, and makes sure of what it found.

    :param reading: returns, in the caller's thread, the function that reads what the service says of a row; that
        returns None when the service has nothing.
    :param compare: compares a row with what was read.
    """

    rows: AuditRows
    reads: Reads
    table: Table
    reading: Callable[[Any], Callable[[], Any]]
    compare: Callable[[Any, Any], Finding]

    def look(self, rows: Sequence[Any]) -> dict[int, Finding]:
        """Read what the service says of these rows, and compare; the findings by the id of the row."""
        answers = self.reads.run([Job(row.account, partial(self.reading, row)) for row in rows])
        return {row.id: self._judge(row, read) for row, read in zip(rows, answers, strict=True)}

    def certain(self, judged: dict[int, Finding]) -> Sequence[Finding]:
        """The findings that are certain: a doubtful one is named once two looks at row and service say the same.

        :param judged: by the id of the row.
        """
        doubtful = _doubtful(judged)
        for _ in range(_MOST_LOOKS):
            if not doubtful:
                break
            self.reads.pause(_CALM)
            again = self.look(list(self.rows.find(self.table, "id", list(doubtful)).values()))
            # Rows that are not found any more were deleted meanwhile.
            judged = {number: one for number, one in judged.items() if number not in doubtful} | again
            doubtful = {number: one for number, one in _doubtful(again).items() if one != doubtful[number]}
        return list(judged.values())

    def _judge(self, row: Any, read: Any) -> Finding:
        if isinstance(read, Exception):
            return self.compare(row, None).unreadable(what_to_do(read, row.account))
        return self.compare(row, read)


def payout_checks(rows: AuditRows, reads: Reads, clock: Clock, calls: PayoutCalls) -> Recheck:
    """Compares payouts with their disbursements."""

    def compare(row: PayoutMixin, read: FiatDisbursement | None) -> Finding:
        return judge_disbursement(row, calls.known_destination(row), read, clock())

    return Recheck(rows, reads, rows.models.payouts, lambda row: partial(_found, calls.reading(row)), compare)


def _found(read: Callable[[], FiatDisbursement | None]) -> FiatDisbursement | None:
    try:
        return read()
    except NotFound as error:
        # A gateway's 404 for an unknown route has other words.
        if "not found" in (error.message or "").lower():
            return None
        raise


def _doubtful(judged: Mapping[int, Finding]) -> dict[int, Finding]:
    return {number: one for number, one in judged.items() if one.verdict in DOUBTFUL}
