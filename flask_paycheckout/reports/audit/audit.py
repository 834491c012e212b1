"""The audit: reads deposits and disbursements again, in pages, and compares each with its row.

The order of the pages is that of values which never change, so that an audit that was stopped goes on where it was:
checkouts without money by creation, checkouts with money by its arrival, the lists of disbursements by account, and
payouts that no list has shown by the id of the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from flask_paycheckout.client import Deposit, PaymentsError
from flask_paycheckout.clock import Clock
from flask_paycheckout.payouts.calls import PayoutCalls, words_of
from flask_paycheckout.reports.audit.deposits import CheckoutRow, judge_deposit
from flask_paycheckout.reports.audit.findings import Finding, Kind
from flask_paycheckout.reports.audit.listing import Listing
from flask_paycheckout.reports.audit.payouts import PayoutLooks
from flask_paycheckout.reports.audit.reading import Job, Reads, what_to_do
from flask_paycheckout.reports.audit.rows import AuditRows, Scope
from flask_paycheckout.reports.audit.second_look import SecondLook
from flask_paycheckout.service.accounts import Accounts
from flask_paycheckout.service.deposits import ServiceCheckout

__all__ = ["FIRST", "LAST", "Audit", "Batch", "Place", "ServiceDown"]

# The rows of a page, which are read together.
_PAGE = 200
_STEPS = ("unpaid", "paid", "lists", "payouts")

Pages = Iterator[tuple[Sequence[Finding], Any, int]]
"""Findings, the position after them in the step, and how many rows of `AuditRows.count` are among them."""


@dataclass(frozen=True)
class Place:
    """How far an audit has come."""

    step: str
    after: Any = None
    """The position in the step, as JSON has it."""


FIRST, LAST = Place(_STEPS[0]), Place("finished")


class Batch(NamedTuple):
    """Some findings, and the place after them."""

    findings: Sequence[Finding]
    place: Place
    compared: int
    """The number of rows of `AuditRows.count` among them."""


class ServiceDown(Exception):
    """The service does not answer, so the audit ends early; it can go on at its last place."""


class Audit:
    """Compares the rows of one app with the service.

    :param read_deposit: returns the function that reads a checkout's deposit, like `Settlement.reading`.
    :param goes_on_later: whether to end at an outage, at a place from which it can go on; otherwise all that cannot be
        read is named.
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
        *,
        goes_on_later: bool,
    ) -> None:
        self.rows = rows
        self._reads = reads
        self._read_deposit = read_deposit
        self._clock = clock
        self._goes_on_later = goes_on_later
        self._second_look = SecondLook(clock, reads.pause)
        self._looks = PayoutLooks(rows, reads, calls, clock)
        self._listing = Listing(rows, scope, reads, self._looks, self._second_look, accounts)

    def remember(self, finding: Finding) -> None:
        """Take a finding of an earlier run into account, so that it is not named again."""
        if finding.kind is Kind.DISBURSEMENT:
            self._listing.remember(finding)

    def run(self, place: Place = FIRST) -> Iterator[Batch]:
        """Compare everything from a place on.

        :raises Stopped: it was asked to stop; the last batch has the place from which it goes on.
        :raises ServiceDown: the service does not answer, and the audit can go on later.
        """
        steps: dict[str, Callable[[Any], Pages]] = {
            "unpaid": partial(self._checkouts, self.rows.unpaid, lambda row: row.created_at),
            "paid": partial(self._checkouts, self.rows.paid, lambda row: row.completed_at),
            "lists": self._lists,
            "payouts": self._payouts,
        }
        if place == LAST:
            return
        with self._reads:
            for step in _STEPS[_STEPS.index(place.step) :]:
                for findings, after, compared in steps[step](place.after if step == place.step else None):
                    self._require_service()
                    yield Batch(findings, Place(step, after), compared)
        yield Batch((), LAST, 0)

    def _require_service(self) -> None:
        error = self._reads.nobody_answers
        if self._goes_on_later and error is not None:
            raise ServiceDown(words_of(error))

    def _checkouts(
        self,
        page_of: Callable[[Any, int], Sequence[CheckoutRow]],
        moment: Callable[[CheckoutRow], Any],
        after: Any,
    ) -> Pages:
        while rows := page_of(after, _PAGE):
            found = self._second_look.at(
                rows, self._look_at_deposits(rows), self._checkouts_now, self._look_at_deposits
            )
            after = [moment(rows[-1]).isoformat(), rows[-1].id]
            yield found, after, len(rows)

    def _checkouts_now(self, ids: Iterable[int]) -> Mapping[int, CheckoutRow]:
        return self.rows.checkouts_now(list(ids))

    def _look_at_deposits(self, rows: Sequence[CheckoutRow]) -> dict[int, Finding]:
        jobs: list[Job[Deposit | None]] = [Job(row.account, partial(self._read_deposit, row)) for row in rows]
        answers = self._reads.run(jobs)
        return {row.id: self._of_deposit(row, read) for row, read in zip(rows, answers, strict=True)}

    def _of_deposit(self, row: CheckoutRow, read: Deposit | Exception | None) -> Finding:
        now = self._clock()
        if isinstance(read, Exception):
            return judge_deposit(row, None, now).unreadable(what_to_do(read, row.account))
        if read is not None and read.deposit_id != row.checkout_id:
            answer = "The service answered with another deposit, so nothing is known of this one. Ask the service."
            return judge_deposit(row, None, now).unreadable(answer)
        return judge_deposit(row, read, now)

    def _lists(self, after: Any) -> Pages:
        for account in self.rows.accounts():
            if after is not None and (account < after[0] or (account == after[0] and after[1])):
                continue
            begun = [account, False]
            # A list that ended an earlier run too is named, or it would end every one.
            goes_on_later = self._goes_on_later and after != begun
            yield (), begun, 0
            try:
                for findings, compared in self._listing.of(account, goes_on_later=goes_on_later):
                    yield findings, begun, compared
            except PaymentsError as error:
                raise ServiceDown(words_of(error)) from error
            yield (), [account, True], 0

    def _payouts(self, after: Any) -> Pages:
        """Payouts that no list has shown."""
        while rows := self.rows.payouts(after or 0, _PAGE):
            unseen = [payout for payout in rows if not self._listing.has_shown(payout)]
            absent = [payout for payout in unseen if self._listing.has_not(payout)]
            judged = {payout.id: self._looks.judge(payout, None) for payout in absent}
            judged |= self._looks.at([payout for payout in unseen if payout.id not in judged])
            found = self._second_look.at(unseen, judged, self._looks.rows_now, self._looks.at)
            after = rows[-1].id
            yield found, after, len(unseen)
