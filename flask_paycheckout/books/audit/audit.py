"""The audit: reads deposits and disbursements again, in pages, and compares each with its row; then the books."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from flask_paycheckout.books.audit.books import books_findings
from flask_paycheckout.books.audit.deposits import judge_deposit
from flask_paycheckout.books.audit.findings import Finding
from flask_paycheckout.books.audit.listing import Listing
from flask_paycheckout.books.audit.payouts import PayoutLooks
from flask_paycheckout.books.audit.reading import Job, Reads, what_to_do
from flask_paycheckout.books.audit.rows import AuditRows, Scope, Source
from flask_paycheckout.books.audit.second_look import SecondLook
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.client import Deposit
from flask_paycheckout.clock import Clock
from flask_paycheckout.payouts.calls import PayoutCalls
from flask_paycheckout.service.accounts import Accounts
from flask_paycheckout.service.deposits import ServiceCheckout

__all__ = ["Audit"]

# The rows of a page, which are read together.
_PAGE = 200

Pages = Iterator[tuple[Sequence[Finding], int]]
"""Findings, and how many rows of `Audit.count` are among them."""


class Audit:
    """Compares the rows of one app with the service and with the books.

    :param read_deposit: returns the function that reads a checkout's deposit, like `Settlement.reading`.
    """

    def __init__(
        self,
        rows: AuditRows,
        scope: Scope,
        reads: Reads,
        accounts: Accounts,
        calls: PayoutCalls,
        read_deposit: Callable[[ServiceCheckout], Callable[[], Deposit | None]],
        clock: Clock,
    ) -> None:
        self.rows = rows
        self._reads = reads
        self._read_deposit = read_deposit
        self._clock = clock
        self._second_look = SecondLook(clock, reads.pause)
        self._looks = PayoutLooks(rows, reads, calls, clock)
        self._listing = Listing(rows, scope, reads, self._looks, self._second_look, accounts)

    def count(self) -> int:
        """The number of checkouts and payouts that are compared with the service."""
        return self.rows.count(self.rows.unpaid, self.rows.paid, self.rows.payouts)

    def run(self) -> Pages:
        """Compare everything.

        :raises Stopped: it was asked to stop.
        """
        with self._reads:
            for source in (self.rows.unpaid, self.rows.paid):
                yield from self._checkouts(source)
            for account in self.rows.accounts():
                yield from self._listing.of(account)
            yield from self._payouts()
            for findings in books_findings(self.rows, self._reads.require_going_on):
                yield findings, 0

    def _checkouts(self, source: Source) -> Pages:
        for page in self.rows.pages(source, _PAGE):
            rows = [self.rows.checkout(row) for row in page]
            judged = self._look_at_deposits(rows)
            yield self._second_look.at(rows, judged, self.rows.checkouts_now, self._look_at_deposits), len(rows)

    def _look_at_deposits(self, rows: Sequence[CheckoutMixin]) -> dict[int, Finding]:
        jobs = [Job(row.account, partial(self._read_deposit, row)) for row in rows]
        return {row.id: self._of_deposit(row, read) for row, read in zip(rows, self._reads.run(jobs), strict=True)}

    def _of_deposit(self, row: CheckoutMixin, read: Any) -> Finding:
        now = self._clock()
        if isinstance(read, Exception):
            return judge_deposit(row, None, now).unreadable(what_to_do(read, row.account))
        if read is not None and read.deposit_id != row.checkout_id:
            answer = "The service answered with another deposit, so nothing is known of this one. Ask the service."
            return judge_deposit(row, None, now).unreadable(answer)
        return judge_deposit(row, read, now)

    def _payouts(self) -> Pages:
        """Payouts that no list of their own account has shown."""
        for page in self.rows.pages(self.rows.payouts, _PAGE):
            payouts = map(self.rows.payout, page)
            unseen = [payout for payout in payouts if not self._listing.has_shown(payout)]
            absent = [payout for payout in unseen if self._listing.has_not(payout)]
            judged = {payout.id: self._looks.judge(payout, None) for payout in absent}
            judged |= self._looks.at([payout for payout in unseen if payout.id not in judged])
            found = self._second_look.at(unseen, judged, self.rows.payouts_now, self._looks.at)
            yield [self._listing.with_account(finding) for finding in found], len(unseen)
