"""The report on all payments of the shop: counts by state, and everything that needs a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Engine

from flask_paycheckout.payouts.calls import PAYOUT
from flask_paycheckout.reports.payout_alarms import PayoutAlarms, payout_lines, read_payout_alarms
from flask_paycheckout.rules.states import Status
from flask_paycheckout.rules.text import account_text, moment_text, plain, visible
from flask_paycheckout.service.record import START, FailingCalls, failing_calls
from flask_paycheckout.store.account_names import (
    LISTED_ACCOUNTS,
    AccountCounts,
    count_by_account,
    stored_accounts,
)
from flask_paycheckout.store.models import Models
from flask_paycheckout.store.overview import (
    LISTED,
    PATIENCE,
    Backlog,
    HeldPayment,
    Overview,
    UndeliveredEvent,
    UnheardPayment,
    Unreadable,
    UnsettledPayment,
)
from flask_paycheckout.store.paybacks import MoneyToPayBack, count_to_pay_back, list_to_pay_back, sums_of
from flask_paycheckout.store.payments import Amount
from flask_paycheckout.store.payout_overview import ListedPayout, PayoutOverview
from flask_paycheckout.store.troubles import READ_ONLY, takes_no_writes

__all__ = ["Alarms", "Report", "operation_text", "read_alarms", "report"]

# With so many paid orders in a row without a webhook, webhooks do not arrive at all.
_SILENT = 5
_FAILING_TEXT = {START: "nobody can start a payment", PAYOUT: "no payout can be sent"}
_DOCTOR = "  What is wrong, and what to do: flask paycheckout doctor"


@dataclass(frozen=True)
class Alarms:
    """The parts of a report that need a person, cheap enough for a page that is opened often."""

    held: int
    """The number of payments that wait for a decision."""

    to_pay_back: int
    """The number of payments that paid no order, and were not yet recorded as paid back or kept."""

    stuck: tuple[UndeliveredEvent, ...]
    """Events with a failed receiver, or undelivered for more than five minutes; 100 at most."""

    webhooks_silent: bool
    """Whether none of the last five paid orders (or of fewer, when there are fewer) had a webhook."""

    backlog: Backlog
    unsettled: tuple[UnsettledPayment, ...] = ()
    """Completed payments that could not be applied; 100 at most."""

    unreadable: tuple[Unreadable, ...] = ()
    """Checkouts that cannot be read or settled, by account and error, the oldest first; 10 of an account at most."""

    failing: tuple[FailingCalls, ...] = ()
    """Calls that the service has failed to answer, or has refused, for more than five minutes."""

    payouts: PayoutAlarms = field(default_factory=PayoutAlarms)
    """Payouts and refunds that need a person."""

    read_only: bool = False
    """Whether the database takes no changes, so that no payment can be recorded."""


@dataclass(frozen=True)
class Report:
    """The state of all payments at one moment; `str()` adds the remedy to whatever needs a person.

    `held`, `to_pay_back`, `undelivered` and `unheard` list at most 100 entries each; the counts cover all.
    """

    at: datetime
    account: str | None
    """The merchant account that this report is limited to; None: it covers all."""

    accounts: tuple[AccountCounts, ...]
    """The counts of each account; empty for a shop that only uses the one of the settings. 1,000 at most."""

    more_accounts: bool
    """Whether there are more accounts than `accounts` has."""

    checkouts: dict[str, int]
    """The number of checkouts in each state, zeros included."""

    held: tuple[HeldPayment, ...]
    to_pay_back_count: int
    to_pay_back: tuple[MoneyToPayBack, ...]
    """Rejected payments, and accepted second ones, that were not yet recorded as paid back or kept."""

    undelivered_count: int
    undelivered: tuple[UndeliveredEvent, ...]
    """Events with a failed receiver first, then the oldest."""

    recently_paid: int
    """The number of paid checkouts that `unheard` looks at: the newest 1,000, paid more than five minutes ago."""

    unheard_count: int
    unheard: tuple[UnheardPayment, ...]
    webhooks_silent: bool
    """Whether none of the last five paid orders (or of fewer, when there are fewer) had a webhook."""

    backlog: Backlog
    unsettled: tuple[UnsettledPayment, ...]
    """Completed payments that could not be applied, oldest first; 100 at most."""

    unreadable: tuple[Unreadable, ...]
    """Checkouts that cannot be read or settled, by account and error, the oldest first; 10 of an account at most."""

    failing: tuple[FailingCalls, ...]
    """Calls that the service has failed to answer, or has refused, for more than five minutes."""

    webhook_url: str
    """The address to register in the service's dashboard."""

    payouts: dict[str, int]
    """The number of payouts and refunds in each state, zeros included."""

    claimable: tuple[ListedPayout, ...]
    """Refunds of which the customer has not said where they go, oldest first; 100 at most."""

    payout_alarms: PayoutAlarms
    """Payouts and refunds that need a person."""

    unbooked: int = 0
    """The number of payouts that an older version sent and did not book, so that exports lack them."""

    read_only: bool = False
    """Whether the database takes no changes, so that no payment can be recorded."""

    @property
    def stuck(self) -> tuple[UndeliveredEvent, ...]:
        """The listed events with a failed receiver, or undelivered for more than five minutes."""
        return _stuck(self.undelivered, self.at)

    @property
    def needs_a_person(self) -> bool:
        """Whether anything in this report does not resolve itself."""
        troubles = (self.held, self.to_pay_back, self.stuck, self.webhooks_silent, self.backlog.overdue)
        failing = self.unsettled or self.unreadable or self.failing or self.payout_alarms.any
        return any(troubles) or bool(failing or self.unbooked or self.read_only)

    def as_dict(self) -> dict[str, Any]:
        """Convert to JSON-ready values, with times as ISO 8601 text."""
        values: dict[str, Any] = plain(asdict(self))
        return values | {"needs_a_person": self.needs_a_person}

    def __str__(self) -> str:
        troubles = (_held_lines, _payback_lines, _unsettled_lines, _undelivered_lines, _webhook_lines)
        sections = (
            _count_lines,
            _read_only_lines,
            _account_lines,
            *troubles,
            _failing_lines,
            _unreadable_lines,
            _backlog_lines,
            _payout_lines,
        )
        return "\n".join(visible(line) for section in sections for line in section(self))


def report(
    engine: Engine,
    models: Models,
    now: datetime,
    webhook_url: str,
    *,
    account: str | None = None,
    token_missing: bool = False,
) -> Report:
    """Report on all payments and payouts, from the stored rows alone; the service is not called.

    :param account: only those of this merchant account.
    :param token_missing: whether no access token is configured.
    """
    calls = failing_calls(engine, models.services, account)
    with engine.connect() as connection:
        overview = Overview(connection, models, now, account)
        payouts = PayoutOverview(connection, models, now, account)
        names = stored_accounts(connection, models, LISTED_ACCOUNTS + 1) if account is None else [account]
        shown = names[:LISTED_ACCOUNTS] if account is not None or any(names) else []
        counts = count_by_account(connection, models, shown) if shown else ()
        # Counting reads an entry of an index for each row: once is enough where the listed accounts are all.
        is_whole = bool(shown) and len(names) <= LISTED_ACCOUNTS
        paid = overview.recently_paid()
        unheard = [payment for payment, webhooks in paid if not webhooks]
        return Report(
            at=now,
            account=account,
            accounts=counts,
            more_accounts=len(names) > LISTED_ACCOUNTS,
            checkouts=_together([each.checkouts for each in counts]) if is_whole else overview.count_by_status(),
            held=overview.held(),
            to_pay_back_count=count_to_pay_back(connection, models, account),
            to_pay_back=list_to_pay_back(connection, models, LISTED, account),
            undelivered_count=overview.count_undelivered(),
            undelivered=overview.undelivered(),
            recently_paid=len(paid),
            unheard_count=len(unheard),
            unheard=tuple(unheard[:LISTED]),
            webhooks_silent=_silent(paid),
            backlog=overview.backlog(),
            unsettled=overview.unsettled(),
            unreadable=overview.unreadable(),
            failing=_failing(calls, overview, now),
            webhook_url=webhook_url,
            payouts=_together([each.payouts for each in counts]) if is_whole else payouts.count_by_status(),
            claimable=payouts.claimable(),
            payout_alarms=read_payout_alarms(payouts, token_missing=token_missing),
            unbooked=payouts.count_unbooked(),
            read_only=takes_no_writes(connection),
        )


def read_alarms(
    engine: Engine, models: Models, now: datetime, *, account: str | None = None, token_missing: bool = False
) -> Alarms:
    """Collect everything that needs a person now, from the stored rows alone.

    :param account: only what is about this merchant account.
    :param token_missing: whether no access token is configured.
    """
    calls = failing_calls(engine, models.services, account)
    with engine.connect() as connection:
        overview = Overview(connection, models, now, account)
        return Alarms(
            held=overview.count_held(),
            to_pay_back=count_to_pay_back(connection, models, account),
            stuck=_stuck(overview.undelivered(), now),
            webhooks_silent=_silent(overview.recently_paid(_SILENT)),
            backlog=overview.backlog(),
            unsettled=overview.unsettled(),
            unreadable=overview.unreadable(),
            failing=_failing(calls, overview, now),
            payouts=read_payout_alarms(PayoutOverview(connection, models, now, account), token_missing=token_missing),
            read_only=takes_no_writes(connection),
        )


def _together(counts: Sequence[dict[str, int]]) -> dict[str, int]:
    """The sums of counts by state, each of which names every state."""
    return {state: sum(each[state] for each in counts) for state in counts[0]}


def _failing(failing: Sequence[FailingCalls], overview: Overview, now: datetime) -> tuple[FailingCalls, ...]:
    """Calls that have failed more than once, and for more than five minutes, since they were last answered.

    A newer checkout of the same account proves that its starts are answered again, whichever process made it.
    """
    found = []
    for calls in failing:
        if calls.operation == START:
            answered_at = overview.newest_checkout_at(calls.account)
            if answered_at is not None and answered_at > calls.since:
                if answered_at >= calls.last_failure_at:
                    continue
                calls = replace(calls, since=answered_at)
        if calls.count > 1 and calls.since <= now - PATIENCE:
            found.append(calls)
    return tuple(found)


def _stuck(undelivered: tuple[UndeliveredEvent, ...], now: datetime) -> tuple[UndeliveredEvent, ...]:
    return tuple(event for event in undelivered if event.last_error or now - event.occurred_at >= PATIENCE)


def _silent(paid: list[tuple[UnheardPayment, int]]) -> bool:
    return bool(paid) and not any(webhooks for _, webhooks in paid[:_SILENT])


def _count_lines(report: Report) -> Iterator[str]:
    counted = ", ".join(f"{count} {state}" for state, count in report.checkouts.items())
    of = f" of account {report.account}" if report.account else ""
    yield f"Checkouts{of} at {moment_text(report.at)}: {counted}."
    if not report.needs_a_person:
        yield "Nothing needs a person."


def _read_only_lines(report: Report) -> Iterator[str]:
    if report.read_only:
        yield from ("", "THE DATABASE IS READ-ONLY: no payment can be recorded.", f"  {READ_ONLY.remedy}")


def _account_lines(report: Report) -> Iterator[str]:
    if report.account is not None or not report.accounts:
        return
    yield from ("", "By account:")
    for counts in report.accounts[:LISTED]:
        states = ", ".join(f"{count} {state}" for state, count in counts.checkouts.items() if count)
        payouts = ", ".join(f"{count} {state}" for state, count in counts.payouts.items() if count)
        told = "; ".join([*([states] if states else []), *([f"payouts: {payouts}"] if payouts else [])])
        yield f"  {counts.account or 'the account of the settings'}: {told}"
    if report.more_accounts or len(report.accounts) > LISTED:
        yield "  ... and more; see one with: flask paycheckout report --account NAME"


def _held_lines(report: Report) -> Iterator[str]:
    count = report.checkouts[Status.HELD]
    if not count:
        return
    yield from ("", f"HELD: {_number(count, 'payment waits', 'payments wait')} for your decision.")
    for payment in report.held:
        yield (
            f"  {payment.checkout_id} of order {payment.order_id}{account_text(payment.account)}: {payment.reason},"
            f" {_arrived(payment.paid)} of {payment.asked}, since {moment_text(payment.since)}"
        )
    yield from _more(count, len(report.held))
    yield "  Look into one: flask paycheckout show ORDER_ID"
    yield "  Decide:        flask paycheckout resolve CHECKOUT_ID --accept (or --reject) --by YOU --why REASON"


def _payback_lines(report: Report) -> Iterator[str]:
    if not report.to_pay_back_count:
        return
    payments = _number(report.to_pay_back_count, "payment", "payments")
    yield from ("", f"MONEY TO PAY BACK OR KEEP: {payments} that paid no order.")
    for money in report.to_pay_back:
        decided = "accepted as a second payment" if money.accepted else "rejected"
        yield (
            f"  {money.checkout_id} of order {money.order_id}{account_text(money.account)}: {_arrived(money.paid)}"
            f" of {money.asked}, {money.reason}, {decided} {moment_text(money.since)}{_left_text(money)}"
        )
    yield from _more(report.to_pay_back_count, len(report.to_pay_back))
    sums = sums_of(report.to_pay_back)
    if sums:
        together = "Together, of those listed" if report.to_pay_back_count > len(report.to_pay_back) else "Together"
        yield f"  {together}: {', '.join(map(str, sums))}"
    yield "  Pay one back:           flask paycheckout refund CHECKOUT_ID --by YOU --why REASON"
    yield "  Say what became of one: flask paycheckout payback CHECKOUT_ID --done (or --kept) --by YOU --why REASON"


def _left_text(money: MoneyToPayBack) -> str:
    return f"; {money.left} of it are left, the rest is refunded" if money.left != money.paid else ""


def _arrived(paid: Amount | None) -> str:
    return "an unknown amount arrived" if paid is None else f"{paid} arrived"


def _unsettled_lines(report: Report) -> Iterator[str]:
    if not report.unsettled:
        return
    count = len(report.unsettled)
    more = " or more" if count == LISTED else ""
    are = "payment is" if count == 1 else "payments are"
    yield from ("", f"NEITHER PAID NOR HELD: {count}{more} {are} completed at the service, and cannot be applied here.")
    for payment in report.unsettled:
        yield (
            f"  {payment.checkout_id} of order {payment.order_id}{account_text(payment.account)},"
            f" since {moment_text(payment.since)}:"
            f" {_one_line(payment.problem)}"
        )
    yield "  Repair the named cause; reconcile tries again within ten minutes."


def _failing_lines(report: Report) -> Iterator[str]:
    for calls in report.failing:
        yield ""
        yield (
            f"THE SERVICE FAILS: {operation_text(calls)} since {moment_text(calls.since)},"
            f" {calls.count} times, the last {moment_text(calls.last_failure_at)}."
        )
        yield f"  {_one_line(calls.words)}"
    if report.failing:
        yield _DOCTOR


def _unreadable_lines(report: Report) -> Iterator[str]:
    if not report.unreadable:
        return
    count = sum(group.count for group in report.unreadable)
    since = moment_text(min(group.since for group in report.unreadable))
    checkouts = _number(count, "checkout", "checkouts")
    yield from ("", f"NOT READABLE: {checkouts} could not be read or settled, the longest since {since}.")
    for group in report.unreadable:
        first = moment_text(group.since)
        yield f"  {group.count}{account_text(group.account)} since {first}: {_one_line(group.problem)}"
    yield _DOCTOR


def operation_text(calls: FailingCalls) -> str:
    """Name the calls that fail, for people."""
    what = _FAILING_TEXT.get(calls.operation, f"calls to {calls.operation} fail")
    return f"{what} with account {calls.account}" if calls.account else what


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _undelivered_lines(report: Report) -> Iterator[str]:
    if not report.undelivered_count:
        return
    events = _number(report.undelivered_count, "event", "events")
    yield from ("", f"UNDELIVERED: {events} not delivered to every receiver.")
    for event in report.undelivered:
        error = f": {' '.join(event.last_error.split())}" if event.last_error else ""
        yield (
            f"  {event.name} of {event.subject}, {moment_text(event.occurred_at)},"
            f" tried {_number(event.attempts, 'time', 'times')}{error}"
        )
    yield from _more(report.undelivered_count, len(report.undelivered))
    if report.stuck:
        yield "  Repair the receiver; reconcile runs it again. If no delivery was tried, start reconcile."
        yield "  To try again now: flask paycheckout deliver --now"


def _webhook_lines(report: Report) -> Iterator[str]:
    if report.unheard_count:
        yield ""
        yield f"WITHOUT A WEBHOOK: {report.unheard_count} of the newest {report.recently_paid} paid checkouts."
        for payment in report.unheard[:10]:
            yield (
                f"  {payment.checkout_id} of order {payment.order_id}{account_text(payment.account)},"
                f" paid {moment_text(payment.paid_at)}, found by {payment.found_by}"
            )
        yield from _more(report.unheard_count, min(len(report.unheard), 10))
    if report.webhooks_silent:
        orders = "order" if report.recently_paid == 1 else f"{min(report.recently_paid, _SILENT)} orders"
        yield f"  WEBHOOKS DO NOT ARRIVE: there was none for the newest {orders} that were paid."
        yield "  The payments were found without webhooks, but later. Register this address in the service's dashboard:"
        yield f"    {report.webhook_url}"
        yield "  If it is registered, check that the web server, firewall and any login let its POST requests through."


def _backlog_lines(report: Report) -> Iterator[str]:
    if report.backlog.overdue and report.backlog.since:
        overdue = _number(report.backlog.overdue, "read is", "reads are")
        since = moment_text(report.backlog.since)
        yield from ("", f"RECONCILE IS BEHIND: {overdue} overdue, the longest since {since}.")
        if any(reads.account for reads in report.backlog.accounts):
            for reads in report.backlog.accounts:
                name = reads.account or "the account of the settings"
                yield f"  {reads.overdue} of {name} since {moment_text(reads.since)}"
        yield "  Keep this running beside the shop: flask paycheckout reconcile --watch"


def _payout_lines(report: Report) -> Iterator[str]:
    yield from payout_lines(report.payouts, report.claimable, report.payout_alarms)
    if report.unbooked:
        yield from ("", f"NOT IN THE BOOKS: {_number(report.unbooked, 'payout', 'payouts')} of an older version.")
        yield "  To book what was sent: flask paycheckout fill-bookings"


def _more(count: int, listed: int) -> Iterator[str]:
    if count > listed:
        yield f"  ... and {count - listed} more"


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
