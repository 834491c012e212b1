"""Looks at rows and at what the service says of them: what differs is named only when its row did not move meanwhile.

What has changed only now is looked at again some moments later, since a running shop may be about to store it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import Table

from flask_paycheckout.books.audit.comparing import judge_deposit, judge_disbursement
from flask_paycheckout.books.audit.findings import DOUBTFUL, Finding
from flask_paycheckout.books.audit.reading import Job, Reads, what_to_do
from flask_paycheckout.books.audit.rows import AuditRows
from flask_paycheckout.client import Deposit, FiatDisbursement, NotFound
from flask_paycheckout.clock import Clock
from flask_paycheckout.payouts.calls import PayoutCalls
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.service.calls import ServiceCheckout

ReadDeposit = Callable[[ServiceCheckout], Callable[[], Deposit | None]]

# Looks at what differs, while the row moves each time.
_MOST_LOOKS = 5
_RECENT = timedelta(seconds=60)
# Seconds until the second look at what has changed only now.
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
    clock: Clock
    table: Table
    reading: Callable[[Any], Callable[[], Any]]
    compare: Callable[[Any, Any], Finding]

    def look(self, rows: Sequence[Any]) -> dict[int, Finding]:
        """Read what the service says of these rows, and compare; the findings by the id of the row."""
        answers = self.reads.run([Job(row.account, partial(self.reading, row)) for row in rows])
        return {row.id: self._judge(row, read) for row, read in zip(rows, answers, strict=True)}

    def certain(self, rows: Sequence[Any], judged: dict[int, Finding]) -> Sequence[Finding]:
        """The findings that are certain.

        :param rows: as they were read before `judged`.
        """
        stored = {row.id: row for row in rows}
        certain: set[int] = set()
        for looks in range(_MOST_LOOKS):
            doubtful = [number for number, one in judged.items() if one.verdict in DOUBTFUL and number not in certain]
            if not doubtful:
                break
            now, again = self._now(doubtful), []
            for number in doubtful:
                if number not in now:
                    # It was deleted meanwhile.
                    del judged[number]
                elif _version(now[number]) != _version(stored[number]) or (
                    looks == 0 and self._is_recent(judged[number])
                ):
                    again.append(number)
                else:
                    certain.add(number)
            if any(self._is_recent(judged[number]) for number in again):
                self.reads.pause(_CALM)
                now = self._now(again)
            stored |= now
            judged |= self.look([now[number] for number in again if number in now])
        return list(judged.values())

    def _judge(self, row: Any, read: Any) -> Finding:
        if isinstance(read, Exception):
            return self.compare(row, None).unreadable(what_to_do(read, row.account))
        return self.compare(row, read)

    def _now(self, ids: Iterable[int]) -> dict[int, Any]:
        """The rows as they are now, by their ids."""
        return self.rows.find(self.table, "id", list(ids))

    def _is_recent(self, finding: Finding) -> bool:
        return finding.changed_at is not None and finding.changed_at > self.clock() - _RECENT


def deposit_checks(rows: AuditRows, reads: Reads, clock: Clock, read_deposit: ReadDeposit) -> Recheck:
    """Compares checkouts with their deposits."""
    table = rows.models.checkouts
    return Recheck(rows, reads, clock, table, read_deposit, lambda row, read: judge_deposit(row, read, clock()))


def payout_checks(rows: AuditRows, reads: Reads, clock: Clock, calls: PayoutCalls) -> Recheck:
    """Compares payouts with their disbursements."""

    def compare(row: PayoutMixin, read: FiatDisbursement | None) -> Finding:
        return judge_disbursement(row, calls.known_destination(row), read, clock())

    return Recheck(rows, reads, clock, rows.models.payouts, lambda row: partial(_found, calls.reading(row)), compare)


def _found(read: Callable[[], FiatDisbursement | None]) -> FiatDisbursement | None:
    try:
        return read()
    except NotFound as error:
        # A gateway's 404 for an unknown route has other words.
        if "not found" in (error.message or "").lower():
            return None
        raise


def _version(row: Any) -> Any:
    """Equal as long as nothing that is compared has changed."""
    return row.changes if isinstance(row, PayoutMixin) else (row.status, row.deposit_status, row.revision)
