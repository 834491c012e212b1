"""The audit: reads deposits and disbursements again, in pages, and compares each with its row; then the books.

Disbursements are read from the list of each merchant account, newest first, as far as the period reaches back; a list
also shows those that no row here knows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from flask_paycheckout.books.audit.books import books_findings
from flask_paycheckout.books.audit.comparing import judge_replaced, unknown_here
from flask_paycheckout.books.audit.findings import Finding, Kind, Verdict
from flask_paycheckout.books.audit.reading import Reads, is_about_keys, what_to_do
from flask_paycheckout.books.audit.rechecks import ReadDeposit, Recheck, deposit_checks, payout_checks
from flask_paycheckout.books.audit.rows import AuditRows
from flask_paycheckout.books.periods import Period, earlier
from flask_paycheckout.client import FiatDisbursement, Invalid, PaymentsError, Unauthorized
from flask_paycheckout.payouts.calls import PayoutCalls, error_text
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_schedule import LOOK_BACK
from flask_paycheckout.service.accounts import Accounts, AccountUnavailable
from flask_paycheckout.service.record import PAYOUT

if TYPE_CHECKING:
    from flask_paycheckout.parts import Parts


Pages = Iterator[tuple[Sequence[Finding], int]]
"""Findings, and how many rows of `Audit.count` are among them."""


_PAGE = 100
# A list that fails each time somewhere on its way is given up.
_MOST_TRIES = 10
_OTHER_ACCOUNT = (
    "The money left another merchant account than the one that is stored. Ask the service which one paid, and correct"
    " your books by hand."
)


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
        reads = Reads(max(1, self.parts.settings.reconcile_readers // 2), self.stopped)
        deposits = deposit_checks(rows, reads, clock, self.read_deposit)
        payouts = payout_checks(rows, reads, clock, self.calls)
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


@dataclass(eq=False)
class Listing:
    """Goes through the lists of disbursements of one audit."""

    rows: AuditRows
    reads: Reads
    checks: Recheck
    accounts: Accounts

    # Payouts and other disbursements that are named already, since a list can show one twice.
    _payouts: set[int] = field(default_factory=set, init=False)
    _others: set[str] = field(default_factory=set, init=False)
    _elsewhere: dict[int, str] = field(default_factory=dict, init=False)
    _incomplete: set[str] = field(default_factory=set, init=False)
    _failing: bool = field(default=False, init=False)

    def unlisted(self, payouts: Sequence[PayoutMixin]) -> tuple[Sequence[Finding], int]:
        """The findings about payouts that no list of their own account has shown, and their number."""
        unseen = [payout for payout in payouts if payout.id not in self._payouts]
        judged = {payout.id: self.checks.compare(payout, None) for payout in unseen if self._proves_absence(payout)}
        judged |= self.checks.look([payout for payout in unseen if payout.id not in judged])
        return [self._with_account(finding) for finding in self.checks.certain(unseen, judged)], len(unseen)

    def _with_account(self, finding: Finding) -> Finding:
        """The finding about a payout that no list of its own account has shown; the list of another one may have."""
        account = self._elsewhere.get(finding.row or 0)
        if account is None or finding.account in self._incomplete:
            return finding
        here = {**(finding.here or {}), "account": finding.account}
        there = {**(finding.there or {}), "account": account}
        differences = [name for name in (*finding.differences, "account") if here.get(name) != there.get(name)]
        return replace(finding, here=here, there=there).says(Verdict.DIFFERS, differences, _OTHER_ACCOUNT)

    def _proves_absence(self, payout: PayoutMixin) -> bool:
        """Whether the lists were complete, and have shown by that that the service has nothing of a payout."""
        period = self.rows.period
        if payout.disbursement_id is not None or payout.taken_at is None or period.account is not None:
            return False
        return period.contains(payout.taken_at) and paying_account(payout) not in self._incomplete

    def of(self, account: str) -> Pages:
        """The findings of an account's list, in pages, each with the number of rows that `Audit.count` counts."""
        problem = self.reads.error_of(account) or (yield from self._tried(account))
        if problem is None:
            return
        self._incomplete.add(account)
        remedy = what_to_do(problem, account, "So long nobody knows what is missing here.")
        yield (Finding(Verdict.UNREADABLE, Kind.DISBURSEMENT, account, remedy=remedy),), 0

    def _tried(self, account: str) -> Generator[tuple[Sequence[Finding], int], None, PaymentsError | None]:
        """Go through a list, from its beginning again after an error; the error that ended it, if any."""
        problem: PaymentsError | None = None
        since = 0.0
        for tries in range(_MOST_TRIES):
            came_on = False
            try:
                for page in self._pages(account):
                    came_on = True
                    yield self._compare(account, page)
            except PaymentsError as error:
                problem = error
            else:
                self._failing = False
                return None
            if is_about_keys(problem):
                # The shop is asked for new ones once.
                if tries:
                    return problem
                continue
            since = self.reads.now() if came_on or not tries else since
            seconds = None if self._failing else self.reads.seconds_to_wait(problem, tries, since)
            if seconds is None:
                # The next accounts' lists are not waited for, until one can be read.
                self._failing = True
                return problem
            self.reads.pause(seconds)
        return problem

    def _pages(self, account: str) -> Iterator[Sequence[FiatDisbursement]]:
        """The disbursements of an account in pages, as far as the period reaches back."""
        period, listed = self.rows.period, self._listed(account)
        while page := list(islice(listed, _PAGE)):
            self.reads.require_going_on()
            yield [made for made in page if period.contains(made.created_at, LOOK_BACK)]
            times = [made.created_at for made in page if made.created_at is not None]
            if period.start is not None and times and max(times) < earlier(period.start, LOOK_BACK):
                return

    def _listed(self, account: str) -> Iterator[FiatDisbursement]:
        """An account's disbursements, newest first.

        :raises AccountUnavailable: the account's signer, which is the shop's own, failed.
        """
        client = self.accounts.client_of(account, PAYOUT)
        try:
            try:
                yield from client.fiat_disbursements.iterate(sort="-createdAt", limit=_PAGE)
            except Invalid:
                # How many records a page may have is not shown, nor that more are an error.
                yield from client.fiat_disbursements.iterate(sort="-createdAt")
        except PaymentsError as error:
            if isinstance(error, Unauthorized):
                self.accounts.refused(account, client)
            raise
        except Exception as error:
            raise AccountUnavailable(PAYOUT, account, error_text(error)) from error

    def _compare(self, account: str, listed: Sequence[FiatDisbursement]) -> tuple[Sequence[Finding], int]:
        rows, table = self.rows, self.rows.models.payouts
        known = rows.find(table, "service_reference", [made.reference for made in listed if made.reference])
        by_id = rows.find(
            table, "disbursement_id", [made.disbursement_id for made in listed if made.reference not in known]
        )
        payouts: list[PayoutMixin] = []
        judged: dict[int, Finding] = {}
        others = []
        for made in listed:
            payout = known.get(str(made.reference)) or by_id.get(made.disbursement_id)
            if payout is None:
                others.append(made)
            elif paying_account(payout) != account and rows.period.account is None:
                # Its own list may show it too, where two accounts have the same keys.
                self._elsewhere[payout.id] = account
            elif self._wants(payout, made):
                self._payouts.add(payout.id)
                payouts.append(payout)
                judged[payout.id] = self.checks.compare(payout, made)
        found = self.checks.certain(payouts, judged)
        return [*found, *self._unknown_here(account, others)], sum(map(rows.is_in_period, payouts))

    def _wants(self, payout: PayoutMixin, made: FiatDisbursement) -> bool:
        if payout.id in self._payouts or self.rows.period.account not in (None, payout.account):
            return False
        return self.rows.period.contains(made.created_at) or self.rows.is_in_period(payout)

    def _unknown_here(self, account: str, listed: Sequence[FiatDisbursement]) -> Iterator[Finding]:
        """The findings about disbursements that no payout has now."""
        period = self.rows.period
        new = [made for made in listed if made.disbursement_id not in self._others and period.contains(made.created_at)]
        replaced = self.rows.by_booked_reference({made.reference for made in new if made.reference is not None})
        for made in new:
            self._others.add(made.disbursement_id)
            payout = replaced.get(str(made.reference))
            if payout is None:
                yield unknown_here(account, made)
            elif period.account in (None, payout.account):
                yield judge_replaced(payout, made)


def paying_account(payout: PayoutMixin) -> str:
    """The merchant account whose money pays a payout."""
    return payout.account if payout.paid_by is None else payout.paid_by
