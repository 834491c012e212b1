"""The audit: reads deposits and disbursements again, in pages, and compares each with its row; then the books.

Disbursements are read from the list of each merchant account, newest first, as far as the period reaches back; a list
also shows those that no row here knows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from flask_paycheckout.books.audit.books import books_findings
from flask_paycheckout.books.audit.disbursements import judge_replaced, unknown_here
from flask_paycheckout.books.audit.findings import Finding, Kind, Verdict
from flask_paycheckout.books.audit.reading import Reads, is_about_keys, what_to_do
from flask_paycheckout.books.audit.rechecks import DepositChecks, PayoutChecks, ReadDeposit
from flask_paycheckout.books.audit.rows import AuditRows
from flask_paycheckout.books.periods import Period, earlier
from flask_paycheckout.client import FiatDisbursement, Invalid, PaymentsClient, PaymentsError, Unauthorized
from flask_paycheckout.payouts.calls import PAYOUT, PayoutCalls, error_text
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_schedule import LOOK_BACK
from flask_paycheckout.service.accounts import Accounts, AccountUnavailable

if TYPE_CHECKING:
    from flask_paycheckout.parts import Parts

__all__ = ["Audit"]

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


@dataclass(eq=False)
class Listing:
    """Goes through the lists of disbursements of one audit."""

    rows: AuditRows
    reads: Reads
    checks: PayoutChecks
    accounts: Accounts

    def __post_init__(self) -> None:
        # Payouts and other disbursements that are named already, since a list can show one twice.
        self._payouts: set[int] = set()
        self._others: set[str] = set()
        self._elsewhere: dict[int, str] = {}
        self._incomplete: set[str] = set()
        self._failing = False

    def unlisted(self, payouts: Sequence[PayoutMixin]) -> tuple[Sequence[Finding], int]:
        """The findings about payouts that no list of their own account has shown, and their number."""
        unseen = [payout for payout in payouts if payout.id not in self._payouts]
        absent = [payout for payout in unseen if self._proves_absence(payout)]
        judged = {payout.id: self.checks.judge(payout, None) for payout in absent}
        judged |= self.checks.look([payout for payout in unseen if payout.id not in judged])
        return [self._with_account(finding) for finding in self.checks.certain(unseen, judged)], len(unseen)

    def _with_account(self, finding: Finding) -> Finding:
        """The finding about a payout that no list of its own account has shown; the list of another one may have."""
        account = self._elsewhere.get(finding.row or 0)
        if account is None or finding.account in self._incomplete:
            return finding
        here, there = (
            {**(finding.here or {}), "account": finding.account},
            {**(finding.there or {}), "account": account},
        )
        differences = tuple(name for name in (*finding.differences, "account") if here.get(name) != there.get(name))
        return replace(
            finding, verdict=Verdict.DIFFERS, here=here, there=there, differences=differences, remedy=_OTHER_ACCOUNT
        )

    def _proves_absence(self, payout: PayoutMixin) -> bool:
        """Whether the lists were complete, and have shown by that that the service has nothing of a payout."""
        if payout.disbursement_id is not None or payout.taken_at is None or self.rows.period.account is not None:
            return False
        return self.rows.period.contains(payout.taken_at) and paying_account(payout) not in self._incomplete

    def of(self, account: str) -> Iterator[tuple[Sequence[Finding], int]]:
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
                    yield page
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

    def _pages(self, account: str) -> Iterator[tuple[Sequence[Finding], int]]:
        client = self.accounts.client_of(account, PAYOUT)
        try:
            yield from self._pages_of(account, client)
        except Unauthorized:
            self.accounts.refused(account, client)
            raise

    def _pages_of(self, account: str, client: PaymentsClient) -> Iterator[tuple[Sequence[Finding], int]]:
        listed = client.fiat_disbursements.iterate(sort="-createdAt", limit=_PAGE)
        try:
            page = next_page(account, listed)
        except Invalid:
            # How many records a page may have is not shown, nor that more are an error.
            listed = client.fiat_disbursements.iterate(sort="-createdAt")
            page = next_page(account, listed)
        since = self.rows.period.start
        while page:
            self.reads.require_going_on()
            yield self._compare(
                account, [made for made in page if self.rows.period.contains(made.created_at, LOOK_BACK)]
            )
            times = [made.created_at for made in page if made.created_at is not None]
            if since is not None and times and max(times) < earlier(since, LOOK_BACK):
                return
            page = next_page(account, listed)

    def _compare(self, account: str, listed: Sequence[FiatDisbursement]) -> tuple[Sequence[Finding], int]:
        known = self.rows.find(
            self.rows.models.payouts, "service_reference", [made.reference for made in listed if made.reference]
        )
        ids = [one.disbursement_id for one in listed if one.reference not in known]
        by_id = self.rows.find(self.rows.models.payouts, "disbursement_id", ids)
        pairs: dict[int, tuple[PayoutMixin, FiatDisbursement]] = {}
        others = []
        for made in listed:
            payout = known.get(str(made.reference)) or by_id.get(made.disbursement_id)
            if payout is None:
                others.append(made)
            elif paying_account(payout) != account and self.rows.period.account is None:
                # Its own list may show it too, where two accounts have the same keys.
                self._elsewhere[payout.id] = account
            elif self._wants(payout, made):
                pairs[payout.id] = payout, made
        rows = [payout for payout, _ in pairs.values()]
        judged = {number: self.checks.judge(payout, made) for number, (payout, made) in pairs.items()}
        found = self.checks.certain(rows, judged)
        for payout in rows:
            self._payouts.add(payout.id)
        return [*found, *self._unknown_here(account, others)], sum(self.rows.is_in_period(payout) for payout in rows)

    def _wants(self, payout: PayoutMixin, made: FiatDisbursement) -> bool:
        if payout.id in self._payouts or self.rows.period.account not in (None, payout.account):
            return False
        return self.rows.period.contains(made.created_at) or self.rows.is_in_period(payout)

    def _unknown_here(self, account: str, listed: Sequence[FiatDisbursement]) -> Iterator[Finding]:
        """The findings about disbursements that no payout has now."""
        new = [
            made
            for made in listed
            if made.disbursement_id not in self._others and self.rows.period.contains(made.created_at)
        ]
        replaced = self.rows.by_booked_reference({made.reference for made in new if made.reference is not None})
        for made in new:
            self._others.add(made.disbursement_id)
            payout = replaced.get(str(made.reference))
            if payout is None:
                yield unknown_here(account, made)
            elif self.rows.period.account in (None, payout.account):
                yield judge_replaced(payout, made)


def next_page(account: str, listed: Iterator[FiatDisbursement]) -> list[FiatDisbursement]:
    """The next disbursements of an account's list.

    :raises AccountUnavailable: the account's signer, which is the shop's own, failed.
    """
    try:
        return list(islice(listed, _PAGE))
    except PaymentsError:
        raise
    except Exception as error:
        raise AccountUnavailable(PAYOUT, account, error_text(error)) from error


def paying_account(payout: PayoutMixin) -> str:
    """The merchant account whose money pays a payout."""
    return payout.account if payout.paid_by is None else payout.paid_by
