"""The audit: reads deposits and disbursements again in pages, compares each with its row, and compares the books.

Disbursements are read from the list of each merchant account, newest first, as far back as the period reaches; a list
also shows disbursements that no row here knows. An audit can be resumed at the place where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property, partial
from typing import Any

from flask_paycheckout.books.account_names import Merchants
from flask_paycheckout.books.audit.books import compare_books
from flask_paycheckout.books.audit.comparing import (
    compare_deposit,
    compare_disbursement,
    compare_other,
    not_proved,
    unknown_here,
)
from flask_paycheckout.books.audit.findings import Finding, Kind, Verdict
from flask_paycheckout.books.audit.reading import Job, Reads, is_about_keys, what_to_do
from flask_paycheckout.books.audit.rechecks import Findings, Recheck
from flask_paycheckout.books.audit.rows import BEGIN, AuditPlace, AuditRows, Ordered
from flask_paycheckout.books.lists import Place, place_of
from flask_paycheckout.books.periods import Period
from flask_paycheckout.checkouts.settlement import Settlement
from flask_paycheckout.client import FiatDisbursement, Invalid, NotFound, Page, PaymentsClient, Unauthorized
from flask_paycheckout.client.resources.fiat_records import created_at_of
from flask_paycheckout.database.state_table import Row
from flask_paycheckout.payouts.calls import Late, PayoutCalls
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutStatus
from flask_paycheckout.service.record import PAYOUT
from flask_paycheckout.wiring import Wiring

# The number of disbursements on one page of a list.
_LISTED = 100

Compared = tuple[Place, Collection[Finding]]
"""Some findings, and the place after the rows that they are about."""


@dataclass(frozen=True)
class Audit:
    """Compares the rows of one app with the service and with the books.

    :param asked: the requested period; it ends when the audit begins, if not earlier.
    :param reads: makes the calls.
    :param heal: called with each difference before its second comparison, in an audit that may change rows.
    :param page_size: the number of rows that are read together.
    """

    wiring: Wiring
    asked: Period
    reads: Reads
    merchants: Merchants
    calls: PayoutCalls
    settlement: Settlement
    heal: Callable[[Finding], object] | None = None
    page_size: int = 200

    # The ids of disbursements with a finding already, because accounts with the same keys have the same list.
    _others: set[str] = field(default_factory=set, init=False)

    @cached_property
    def rows(self) -> AuditRows:
        """The rows that the audit compares."""
        # The end of a period is excluded, but this very moment must be included.
        now = self.wiring.clock() + timedelta(microseconds=1)
        return AuditRows(self.wiring, replace(self.asked, end=min(self.asked.end or now, now)))

    def count(self) -> int:
        """The number of checkouts and payouts that are compared with the service."""
        return self.rows.count(self.rows.unpaid(), self.rows.paid(), self.rows.payouts())

    def run(self, begin: AuditPlace = BEGIN) -> Iterator[tuple[AuditPlace, Collection[Finding]]]:
        """Compare everything from a place on, page by page; yields the findings of each page with the place after it.

        :raises Stopped: the audit was asked to stop.
        """
        rows = self.rows
        models, books = rows.models, compare_books(rows, self.reads)
        comparisons = (
            partial(self._compare_rows, models.Checkout, self.settlement.reading, compare_deposit),
            partial(self._compare_rows, models.Payout, self._reading_of, self._compare_payout),
        )
        deposits, payouts = (_by_id(Recheck(self.reads, compare, self.heal)) for compare in comparisons)
        steps: list[Callable[[Place | None], Iterator[Compared]]] = [
            *(partial(self._pages, source, deposits) for source in (rows.unpaid(), rows.paid())),
            self._compare_lists,
            partial(self._pages, rows.payouts(), payouts),
            partial(self._pages, rows.retried_tokens(), self._not_proved),
            *(partial(self._pages, source, books) for source in (rows.paid(), rows.paid_out(), rows.lines())),
        ]
        for number, step in enumerate(steps[begin.step :], start=begin.step):
            for after, findings in step(begin.after if number == begin.step else None):
                yield AuditPlace(number, after), findings

    def _pages(
        self, source: Ordered, compare: Callable[[Sequence[Row]], Collection[Finding]], after: Place | None
    ) -> Iterator[Compared]:
        for page in self.rows.pages(source, after, self.page_size):
            self.reads.require_going_on()
            yield place_of(page[-1], source[1]), compare(page)

    def _compare_rows(
        self,
        model: type[Any],
        reading: Callable[[Any], Callable[[], Any]],
        compare: Callable[[Any, Any], Finding],
        ids: Collection[int],
    ) -> Findings:
        """Read the service's records of these rows, and compare them.

        :param reading: returns, in the caller's thread, the function that reads the service's record of a row; that
            function returns None if the service has none.
        :param compare: compares a row with the service's record.
        """
        rows = self.rows.find(model, "id", ids).values()
        results = self.reads.run([Job(row.account, partial(reading, row)) for row in rows])
        findings = {}
        for row, result in zip(rows, results, strict=True):
            if isinstance(result, Exception):
                # The account of the settings may pay for other accounts.
                remedy = what_to_do(result, getattr(row, "payer", row.account))
                findings[row.id] = compare(row, None).says(Verdict.UNREADABLE, (), remedy)
            else:
                findings[row.id] = compare(row, result)
        return findings

    # Payouts

    def _compare_lists(self, after: Place | None) -> Iterator[Compared]:
        """The findings of the lists of all accounts, page by page."""
        account, number = ("", 0) if after is None else after
        only = self.asked.account
        # The names include the account of the settings.
        names = sorted({"", *self.merchants.names(None)}) if only is None else [only]
        for name in (each for each in names if each >= account):
            page = number if name == account else 0
            while page is not None:
                findings, following = self._compare_page(name, page + 1)
                yield (name, page + 1), findings
                page = page + 1 if following else None
            # This place is after the list, so that no page of the list is read again.
            yield (f"{name}\0", 0), ()

    def _compare_page(self, account: str, number: int) -> tuple[Collection[Finding], bool]:
        """The findings of one page of an account's list, and whether the next page may belong to the period, too."""
        client = partial(self.merchants.accounts.client_of, account, PAYOUT)
        [page] = self.reads.run([Job(account, lambda: partial(self._listed, account, client(), number))])
        if isinstance(page, Exception):
            if self.asked.account is None and is_about_keys(page) and self._has_nothing(account):
                # The account may be closed for good.
                return [], False
            remedy = what_to_do(page, account, "So long nobody knows what is missing here.")
            return [Finding(Verdict.UNREADABLE, Kind.DISBURSEMENT, account, remedy=remedy)], False
        period, dated = self.rows.period, [(created_at_of(each), each) for each in page.docs]
        listed = [each for created_at, each in dated if period.contains(created_at)]
        start = period.start
        older = [created_at for created_at, _ in dated if created_at and start is not None and created_at < start]
        return [*self._compare(account, listed)], page.has_next_page and len(older) < len(page.docs)

    def _has_nothing(self, account: str) -> bool:
        """Whether an account has no row in the period."""
        rows = AuditRows(self.wiring, replace(self.rows.period, account=account))
        return not rows.count(rows.unpaid(), rows.paid(), rows.payouts())

    def _listed(self, account: str, client: PaymentsClient, number: int) -> Page[FiatDisbursement]:
        try:
            try:
                return client.fiat_disbursements.list(page=number, sort="-createdAt", limit=_LISTED)
            except Invalid:
                # The interface does not specify the maximum page size, nor that a larger one is an error.
                return client.fiat_disbursements.list(page=number, sort="-createdAt")
        except Unauthorized:
            self.merchants.accounts.refused(account, client)
            raise

    def _compare(self, account: str, listed: Sequence[FiatDisbursement]) -> Iterator[Finding]:
        """The findings about disbursements that no payout has now; the disbursements of payouts are read one by one."""
        find, payouts = self.rows.find, self.rows.models.Payout
        by_reference = find(
            payouts, "service_reference", [disbursement.reference for disbursement in listed if disbursement.reference]
        )
        by_id = find(payouts, "disbursement_id", [disbursement.disbursement_id for disbursement in listed])
        new = list[FiatDisbursement]()
        for disbursement in listed:
            payout = by_reference.get(disbursement.reference) or by_id.get(disbursement.disbursement_id)
            # A second transfer under a payout's reference is not the payout's own.
            is_other = payout is None or payout.disbursement_id not in (None, disbursement.disbursement_id)
            if is_other and disbursement.disbursement_id not in self._others:
                new.append(disbursement)
        self._others.update(disbursement.disbursement_id for disbursement in new)
        owners = by_reference | self.rows.by_earlier_reference(
            {disbursement.reference for disbursement in new if disbursement.reference}
        )
        for disbursement in new:
            payout = owners.get(disbursement.reference)
            if payout is None:
                yield unknown_here(account, disbursement)
            elif self.rows.period.account in (None, payout.account):
                yield compare_other(payout, disbursement)

    def _reading_of(self, payout: PayoutMixin) -> Callable[[], FiatDisbursement | None]:
        return partial(_found, self.calls.reading_all(payout))

    def _compare_payout(self, payout: PayoutMixin, disbursement: FiatDisbursement | None) -> Finding:
        return compare_disbursement(payout, self.calls.known_destination(payout), disbursement, self.wiring.clock())

    def _not_proved(self, page: Sequence[Row]) -> Collection[Finding]:
        """The findings about token payouts that were sent again and have not been compared with the chain since."""
        payouts = self.rows.find(self.rows.models.Payout, "id", [row["id"] for row in page]).values()
        had_come_back = self.calls.payouts.had_come_back
        again = (each for each in payouts if each.status != PayoutStatus.COMPLETED and had_come_back(each))
        return list(map(not_proved, again))


def _by_id(checks: Recheck) -> Callable[[Iterable[Row]], Collection[Finding]]:
    return lambda page: checks.certain(row["id"] for row in page)


def _found(read: Callable[[], Late]) -> FiatDisbursement | None:
    try:
        return read()[1]
    except (NotFound, Invalid) as error:
        # The interface does not specify which of the two the service sends. A gateway's 404 for an unknown route has
        # another message.
        if "not found" in (error.message or "").lower():
            return None
        raise
