"""The report as lines of text, with the remedy for whatever needs a person."""

from __future__ import annotations

from collections.abc import Iterator

from flask_paycheckout.payouts.calls import PAYOUT
from flask_paycheckout.reports.payout_alarms import payout_lines
from flask_paycheckout.reports.report import Report
from flask_paycheckout.rules.states import Status
from flask_paycheckout.rules.text import account_text, moment_text, visible
from flask_paycheckout.service.record import START, FailingCalls
from flask_paycheckout.store.overview import LISTED, SILENT
from flask_paycheckout.store.paybacks import MoneyToPayBack, sums_of
from flask_paycheckout.store.payments import Amount
from flask_paycheckout.store.troubles import READ_ONLY

__all__ = ["operation_text", "report_text"]

_FAILING_TEXT = {START: "nobody can start a payment", PAYOUT: "no payout can be sent"}
_DOCTOR = "  What is wrong, and what to do: flask paycheckout doctor"


def report_text(report: Report) -> str:
    """The report for people, with control characters escaped."""
    sections = (
        _count_lines,
        _read_only_lines,
        _account_lines,
        _held_lines,
        _payback_lines,
        _unsettled_lines,
        _undelivered_lines,
        _webhook_lines,
        _failing_lines,
        _unreadable_lines,
        _backlog_lines,
        _payout_lines,
    )
    return "\n".join(visible(line) for section in sections for line in section(report))


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
        orders = "order" if report.recently_paid == 1 else f"{min(report.recently_paid, SILENT)} orders"
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


def _more(count: int, listed: int) -> Iterator[str]:
    if count > listed:
        yield f"  ... and {count - listed} more"


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
