"""The audit: reads deposits and disbursements again, in pages, and compares each with its row; then the books.

Disbursements are read from the list of each merchant account, newest first, as far as the period reaches back; a list
also shows those that no row here knows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property, partial
from threading import Event
from typing import Any

from flask_paycheckout.books.account_names import Merchants
from flask_paycheckout.books.audit.books import books_findings
from flask_paycheckout.books.audit.comparing import judge_deposit, judge_disbursement, judge_other, unknown_here
from flask_paycheckout.books.audit.findings import Finding, Kind, Verdict
from flask_paycheckout.books.audit.reading import Job, Reads, what_to_do
from flask_paycheckout.books.audit.rechecks import Findings, Recheck
from flask_paycheckout.books.audit.rows import AuditRows, Ordered
from flask_paycheckout.books.periods import Period
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.client import Deposit, FiatDisbursement, Invalid, NotFound, PaymentsClient, Unauthorized
from flask_paycheckout.parts import Parts
from flask_paycheckout.payouts.calls import PayoutCalls
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.service.record import PAYOUT

_PAGE = 100


@dataclass(frozen=True)
class Audit:
    """Compares the rows of one app with the service and with the books.

    :param asked: the period; it ends at the latest when the audit begins.
    :param stopped: is set when the audit is to stop.
    :param read_deposit: returns the function that reads a checkout's deposit, like `Settlement.reading`.
    """

    parts: Parts
    asked: Period
    stopped: Event
    merchants: Merchants
    calls: PayoutCalls
    read_deposit: Callable[[CheckoutMixin], Callable[[], Deposit | None]]

    # Disbursements that are named already: accounts with the same keys have the same list.
    _others: set[str] = field(default_factory=set, init=False)
    # By the id of the payout, the disbursements that a list shows; each saves the first read of it.
    _shown: dict[int, FiatDisbursement] = field(default_factory=dict, init=False)

    @cached_property
    def rows(self) -> AuditRows:
        """The rows that are compared."""
        # The end is not included, but this very moment is.
        now = self.parts.clock() + timedelta(microseconds=1)
        return AuditRows(self.parts, replace(self.asked, end=min(self.asked.end or now, now)))

    @cached_property
    def _reads(self) -> Reads:
        # The other half of the readers is for reconcile, which runs beside it.
        return Reads(max(1, self.parts.settings.reconcile_readers // 2), self.stopped)

    @cached_property
    def _payouts(self) -> Recheck:
        payouts = self.rows.models.Payout
        return Recheck(self._reads, partial(self._look, payouts, self._reading_of, self._compare_payout))

    def count(self) -> int:
        """The number of checkouts and payouts that are compared with the service."""
        return self.rows.count(self.rows.unpaid(), self.rows.paid(), self.rows.payouts())

    def run(self) -> Iterator[Collection[Finding]]:
        """Compare everything, page by page.

        :raises Stopped: it was asked to stop.
        """
        rows = self.rows
        deposits = Recheck(self._reads, partial(self._look, rows.models.Checkout, self.read_deposit, judge_deposit))
        yield from self._compare_rows(deposits, rows.unpaid())
        yield from self._compare_rows(deposits, rows.paid())
        for account in self._accounts():
            yield from self._compare_list(account)
        yield from self._compare_rows(self._payouts, rows.payouts())
        yield from books_findings(rows, self._reads)

    def _compare_rows(self, checks: Recheck, source: Ordered) -> Iterator[Collection[Finding]]:
        for page in self.rows.pages(source):
            yield checks.certain(row["id"] for row in page)

    def _look(
        self,
        model: type[Any],
        reading: Callable[[Any], Callable[[], Any]],
        compare: Callable[[Any, Any], Finding],
        ids: Collection[int],
    ) -> Findings:
        """Read what the service says of these rows, and compare.

        :param reading: returns, in the caller's thread, the function that reads what the service says of a row; that
            returns None when the service has nothing.
        :param compare: compares a row with what was read.
        """
        rows = self.rows.find(model, "id", ids).values()
        reads = self._reads.run([Job(row.account, partial(reading, row)) for row in rows])
        found = {}
        for row, read in zip(rows, reads, strict=True):
            if isinstance(read, Exception):
                # The account of the settings may pay for others.
                remedy = what_to_do(read, getattr(row, "payer", row.account))
                found[row.id] = compare(row, None).says(Verdict.UNREADABLE, (), remedy)
            else:
                found[row.id] = compare(row, read)
        return found

    def _accounts(self) -> list[str]:
        """The merchant accounts whose disbursements are listed, that of the settings among them."""
        only = self.asked.account
        return sorted({"", *self.merchants.names(None)}) if only is None else [only]

    def _compare_list(self, account: str) -> Iterator[Collection[Finding]]:
        """The findings of an account's list, in pages."""
        job = Job(account, lambda: partial(self._listed, account, self.merchants.accounts.client_of(account, PAYOUT)))
        [listed] = self._reads.run([job])
        if isinstance(listed, Exception):
            remedy = what_to_do(listed, account, "So long nobody knows what is missing here.")
            yield [Finding(Verdict.UNREADABLE, Kind.DISBURSEMENT, account, remedy=remedy)]
            return
        for first in range(0, len(listed), _PAGE):
            yield from self._compare(account, listed[first : first + _PAGE])

    def _listed(self, account: str, client: PaymentsClient) -> Sequence[FiatDisbursement]:
        try:
            try:
                return self._of_period(client.fiat_disbursements.iterate(sort="-createdAt", limit=_PAGE))
            except Invalid:
                # How many records a page may have is not shown, nor that more are an error.
                return self._of_period(client.fiat_disbursements.iterate(sort="-createdAt"))
        except Unauthorized:
            self.merchants.accounts.refused(account, client)
            raise

    def _of_period(self, listed: Iterable[FiatDisbursement]) -> Sequence[FiatDisbursement]:
        """The disbursements of the period from a list, newest first, which is left once it only has older ones."""
        period, found, older = self.rows.period, list[FiatDisbursement](), 0
        for made in listed:
            self._reads.require_going_on()
            if period.contains(made.created_at):
                found.append(made)
            elif period.start is not None and made.created_at is not None and made.created_at < period.start:
                older += 1
                if older > _PAGE:
                    break
        return found

    def _compare(self, account: str, listed: Sequence[FiatDisbursement]) -> Iterator[Collection[Finding]]:
        find, payouts = self.rows.find, self.rows.models.Payout
        known = find(payouts, "service_reference", [made.reference for made in listed if made.reference])
        by_id = find(payouts, "disbursement_id", [made.disbursement_id for made in listed])
        others = []
        for made in listed:
            payout = known.get(made.reference) or by_id.get(made.disbursement_id)
            # A second transfer under the reference of a payout is none of it.
            if payout is None or payout.disbursement_id not in (None, made.disbursement_id):
                others.append(made)
            elif payout.payer == account and self._is_audited(payout.account):
                self._shown[payout.id] = made
        yield self._payouts.certain(self._shown)
        yield list(self._unknown_here(account, others, known))

    def _reading_of(self, payout: PayoutMixin) -> Callable[[], FiatDisbursement | None]:
        shown = self._shown.pop(payout.id, None)
        return partial(_found, self.calls.reading(payout)) if shown is None else lambda: shown

    def _compare_payout(self, payout: PayoutMixin, made: FiatDisbursement | None) -> Finding:
        return judge_disbursement(payout, self.calls.known_destination(payout), made, self.parts.clock())

    def _is_audited(self, account: str) -> bool:
        return self.rows.period.account in (None, account)

    def _unknown_here(
        self, account: str, listed: Sequence[FiatDisbursement], known: dict[Any, PayoutMixin]
    ) -> Iterator[Finding]:
        """The findings about disbursements that no payout has now.

        :param known: payouts by their present references, which the service should have once.
        """
        new = [made for made in listed if made.disbursement_id not in self._others]
        self._others.update(made.disbursement_id for made in new)
        owners = known | self.rows.by_earlier_reference({made.reference for made in new if made.reference})
        for made in new:
            payout = owners.get(made.reference)
            if payout is None:
                yield unknown_here(account, made)
            elif self._is_audited(payout.account):
                yield judge_other(payout, made)


def _found(read: Callable[[], FiatDisbursement | None]) -> FiatDisbursement | None:
    try:
        return read()
    except (NotFound, Invalid) as error:
        # Which of the two the service says is not shown. A gateway's 404 for an unknown route has other words.
        if "not found" in (error.message or "").lower():
            return None
        raise
