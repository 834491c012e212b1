"""Second looks: a difference is named only when two looks at row and service, or at row and books, find the same.

The second one follows some moments later, since a running shop may be about to store what has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import Table

from flask_paycheckout.books.audit.findings import Finding, Verdict
from flask_paycheckout.books.audit.reading import Job, Reads, what_to_do
from flask_paycheckout.books.audit.rows import AuditRows
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.client import Deposit

Findings = dict[Any, Finding]
"""By the id of the row, or the name of the checkout or payout."""

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
    named: set[int] = field(default_factory=set, init=False)
    """The ids of the rows that are named already, since a list can show one twice."""

    def look(self, rows: Collection[Any]) -> Findings:
        """Read what the service says of these rows, and compare."""
        answers = self.reads.run([Job(row.account, partial(self.reading, row)) for row in rows])
        return {row.id: self._judge(row, read) for row, read in zip(rows, answers, strict=True)}

    def certain(self, judged: Findings) -> Collection[Finding]:
        """The findings that are certain."""
        found = certain(judged, lambda ids: self.look(self.rows.find(self.table, "id", ids).values()), self.reads)
        self.named.update(found)
        return found.values()

    def _judge(self, row: Any, read: Any) -> Finding:
        if isinstance(read, Exception):
            return self.compare(row, None).unreadable(what_to_do(read, row.account))
        return self.compare(row, read)


def certain(judged: Findings, look: Callable[[Collection[Any]], Findings], reads: Reads) -> Findings:
    """The findings that are certain: a doubtful one is named once two looks say the same.

    :param look: looks again.
    """
    doubtful = _doubtful(judged)
    for _ in range(_MOST_LOOKS):
        if not doubtful:
            break
        reads.pause(_CALM)
        again = look(doubtful)
        # Rows that are not found any more were deleted meanwhile.
        judged = {name: one for name, one in judged.items() if name not in doubtful} | again
        doubtful = {name: one for name, one in _doubtful(again).items() if one != doubtful[name]}
    return judged


def _doubtful(judged: Findings) -> Findings:
    return {name: one for name, one in judged.items() if one.verdict not in (Verdict.AGREED, Verdict.UNREADABLE)}
