"""The audit: reads deposits and disbursements again, in pages, and compares each with its row; then the books."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from flask_paycheckout.books.audit.books import books_findings
from flask_paycheckout.books.audit.findings import Finding
from flask_paycheckout.books.audit.listing import Listing
from flask_paycheckout.books.audit.reading import Reads
from flask_paycheckout.books.audit.rechecks import DepositChecks, PayoutChecks, ReadDeposit
from flask_paycheckout.books.audit.rows import AuditRows
from flask_paycheckout.books.periods import Period
from flask_paycheckout.payouts.calls import PayoutCalls
from flask_paycheckout.service.accounts import Accounts

if TYPE_CHECKING:
    from flask_paycheckout.parts import Parts

__all__ = ["Audit"]

Pages = Iterator[tuple[Sequence[Finding], int]]
"""Findings, and how many rows of `Audit.count` are among them."""


@dataclass(frozen=True)
class Audit:
    """Compares the rows of one app with the service and with the books.

    :param asked: the period; it ends at the latest when the audit begins.
    :param stopped: returns whether the audit is to stop.
    :param read_deposit: returns the function that reads a checkout's deposit, like `Settlement.reading`.
    """

    parts: Parts
    asked: Period
    stopped: Callable[[], bool]
    accounts: Accounts
    calls: PayoutCalls
    read_deposit: ReadDeposit

    @cached_property
    def rows(self) -> AuditRows:
        """The rows that are compared."""
        # The end is not included, but this very moment is.
        now = self.parts.clock() + timedelta(microseconds=1)
        return AuditRows(self.parts, replace(self.asked, end=min(self.asked.end or now, now)))

    def count(self) -> int:
        """The number of checkouts and payouts that are compared with the service."""
        return self.rows.count(self.rows.unpaid(), self.rows.paid(), self.rows.payouts())

    def run(self) -> Pages:
        """Compare everything.

        :raises Stopped: it was asked to stop.
        """
        rows, clock = self.rows, self.parts.clock
        # The other half of the readers is for reconcile, which runs beside it.
        with Reads(max(1, self.parts.settings.reconcile_readers // 2), self.stopped) as reads:
            deposits = DepositChecks(rows, reads, clock, self.read_deposit)
            payouts = PayoutChecks(rows, reads, clock, self.calls)
            for source in (rows.unpaid(), rows.paid()):
                for page in rows.pages(source):
                    checkouts = [rows.of_row(source.table, row) for row in page]
                    yield deposits.certain(checkouts, deposits.look(checkouts)), len(page)
            listing = Listing(rows, reads, payouts, self.accounts)
            for account in rows.accounts():
                yield from listing.of(account)
            for page in rows.pages(rows.payouts()):
                yield listing.unlisted([rows.of_row(rows.models.payouts, row) for row in page])
            for findings in books_findings(rows, reads.require_going_on):
                yield findings, 0
