"""The lines by which `flask paycheckout show` explains an order: its checkouts, payouts and events."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from flask_paycheckout.books.happenings import happenings_of
from flask_paycheckout.books.payout_remedies import BY_WHY, remedies
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.decisions import ACCEPTING_EXCESS, ACCEPTING_PART, REJECTING, accepting
from flask_paycheckout.checkouts.order_problems import OrderProblem, ProblemKind
from flask_paycheckout.checkouts.requests import RequestMixin
from flask_paycheckout.events.event_model import EventMixin
from flask_paycheckout.payouts.destinations import shown
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutState, PayoutStatus
from flask_paycheckout.text import (
    PRUNED_TEXT,
    Show,
    account_text,
    amount_text,
    moment_text,
    payout_sum_text,
    plain_sum,
)
from flask_paycheckout.totals import Amount, Receive, amount_to_type

STATUS_TEXT = {
    "unpaid": "Nobody has started to pay this order. (Abandoned attempts may have been pruned.)",
    "created": "The customer was sent to the payment page and has not picked a payment method yet.",
    "pending": "The customer picked a payment method; the money is not here yet.",
    "part": "A part of what the order costs has arrived; the rest is left to pay.",
    "paid": "The order is paid: the payment was read from the service and agrees with the order's total.",
    "held": "Money arrived that needs your decision.",
    "abandoned": "No payment arrived. A late one would still be noticed.",
}

_ACCEPTING = {
    "part": ("--accept --as-part", ACCEPTING_PART),
    "excess": ("--accept --refund-excess", ACCEPTING_EXCESS),
}
_TO_DECIDE = (PayoutStatus.WAITING, PayoutStatus.FAILED, PayoutStatus.UNKNOWN)


def total_text(attempt: CheckoutMixin, show: Show = plain_sum) -> str:
    """The total that the customer was asked to pay, as text.

    When another program stored an invalid total, its raw columns are shown, so that the rest can still be read.
    """
    try:
        total, due = attempt.total, attempt.due
        part = "" if due.amount == total.amount else f"{show(due.amount, due.currency)} of "
        after = f" after the fee, paid in {total.pay_in}" if isinstance(total, Receive) else ""
        return f"{part}{show(total.amount, total.currency)}{after}"
    except (ValueError, TypeError, ArithmeticError):
        return f"{attempt.total_amount} {attempt.total_currency} (no total)"


def request_lines(request: RequestMixin) -> Iterator[str]:
    """The lines about the payment request that an order belongs to."""
    times = {"made": request.created_at, "to be paid before": request.expires_at, "withdrawn": request.withdrawn_at}
    times_text = [f"{what} {moment_text(at)}" for what, at in times.items() if at is not None]
    yield f"Request for {request.total}{account_text(request.account)}: {', '.join(times_text)}"
    yield f"  {request.title}{': ' if request.note else ''}{request.note or ''}"


def problem_line(problem: OrderProblem) -> str:
    """The line about the reason why an order cannot be paid, or the function of the shop that fails for it."""
    what = {
        ProblemKind.REFUSED: f"The service refuses a checkout of {problem.due}",
        ProblemKind.UNAVAILABLE: f"The customer could not pay {problem.due}",
    }.get(ProblemKind(problem.kind), f"The shop's function {problem.kind} fails")
    last = moment_text(problem.last_at)
    return f"{what} since {moment_text(problem.since)}, the last time {last}: {problem.error}"


def attempt_lines(number: int, attempt: CheckoutMixin) -> Iterator[str]:
    """The lines about an attempt to pay an order, with its history."""
    reason = f" ({attempt.reason})" if attempt.reason else ""
    checkout = f"checkout {attempt.checkout_id}{account_text(attempt.account)}"
    yield f"Attempt {number}: {checkout}, {total_text(attempt)}: {attempt.status}{reason}"
    if attempt.payment is not None:
        yield f"  Money: {attempt.payment}; seen as completed {moment_text(attempt.payment.completed_at)}"
    yield from _history_lines(attempt)
    if attempt.problem is not None and attempt.problem_since is not None:
        yield f"  NOT SETTLED since {moment_text(attempt.problem_since)}: {attempt.problem}"
    if attempt.next_read_at is not None:
        what = "The shop is asked again what the order costs" if attempt.status == "part" else "Read next by reconcile"
        yield f"  {what} after {moment_text(attempt.next_read_at)}"


def held_lines(attempt: CheckoutMixin, ways: Collection[str], *, order_is_paid: bool) -> Iterator[str]:
    """The decisions that a held payment waits for.

    :param ways: of `decisions.HOW_TO_ACCEPT` those that are possible.
    """
    yield f"  Decide with: flask paycheckout resolve {attempt.checkout_id} {BY_WHY} and one of"
    if "accept" in ways:
        yield f"    --accept: {accepting(attempt.reason, order_is_paid=order_is_paid)}"
    yield from (f"    {option}: {effect}" for way, (option, effect) in _ACCEPTING.items() if way in ways)
    yield f"    --reject: {REJECTING}"


def give_back_lines(
    attempt: CheckoutMixin, refunds: Collection[tuple[CheckoutMixin, Amount]], payouts: Iterable[PayoutMixin]
) -> Iterator[str]:
    """The lines about money that paid no order, or an excess: the refunds that give it back, and the alternatives.

    While one of its refunds has failed, only that is shown: a person who made another refund and retried the failed one
    would pay twice.

    :param payouts: the payouts of the order.
    """
    excess = attempt.reason == "excess"
    what = "More arrived than the order costs" if excess else "This money paid no order"
    # An excess may be refunded from any payment of the order.
    failed = [
        payout.reference
        for payout in payouts
        if payout.state == PayoutState.FAILED
        and payout.refund_of
        and (excess or payout.refund_of == attempt.checkout_id)
    ]
    if failed:
        yield f"  TO PAY BACK OR KEEP: {what}. Decide first about the refund that failed, {', '.join(failed)}, below."
        return
    yield f"  TO PAY BACK OR KEEP: {what}. Refund it{'' if refunds else ' in the service'}:"
    for paid, left in refunds:
        amount = f" --amount {amount_to_type(left.amount)}" if excess else ""
        yield f"    flask paycheckout refund {paid.checkout_id}{amount} {BY_WHY}"
    if refunds:
        yield "      (--by-hand if you have given it back yourself)"
    yield f"    Or keep it: flask paycheckout keep {attempt.checkout_id} {BY_WHY}"


def payout_lines(payout: PayoutMixin, *, stopped: bool) -> Iterator[str]:
    """The lines about a payout or refund of an order, with its history.

    :param stopped: whether it is a refund of a payment that was taken back.
    """
    of = f" of checkout {payout.refund_of}" if payout.refund_of is not None else ""
    about = f"{payout.reference}{of}{account_text(payout.account)}"
    fee = f", fee {amount_text(payout.exact_fee)}" if payout.exact_fee is not None else ""
    yield f"{payout.kind.capitalize()} {about}, {payout_sum_text(payout)}{fee}: {payout.shown_status}"
    yield from (f"  {fact}" for fact in (shown(payout.destination) or "To: not said yet").split("\n"))
    if payout.note:
        yield f"  Note: {payout.note}"
    yield from _history_lines(payout)
    if payout.problem is not None:
        since = "" if payout.problem_since is None else f" since {moment_text(payout.problem_since)}"
        yield f"  PROBLEM{since}: {payout.problem}"
    if payout.due_at is not None:
        yield f"  Next step after {moment_text(payout.due_at)}"
    if payout.status == PayoutStatus.CLAIMABLE:
        yield "  Waits for its receiver, who says where the money goes on the page of claim_url"
    if stopped:
        yield "  Its payment was taken back, so nothing more of it is sent"
    if stopped or payout.status in _TO_DECIDE or payout.reported_amount is not None:
        yield from (f"  {remedy}" for remedy in remedies(payout, stopped=stopped))


def event_line(event: EventMixin) -> str:
    """The line about an event of an order, with the state of its delivery."""
    if event.delivered_at is not None:
        delivery = f"delivered {moment_text(event.delivered_at)}"
    elif event.superseded_at is not None:
        delivery = f"superseded {moment_text(event.superseded_at)}: no longer true, so it is not delivered"
    else:
        delivery = _waiting_text(event)
    about = event.payout_reference or event.checkout_id
    return f"  {moment_text(event.occurred_at)}  {event.name} of {about}: {delivery}"


def _history_lines(row: CheckoutMixin | PayoutMixin) -> Iterator[str]:
    if row.pruned_at is not None:
        yield f"  {moment_text(row.pruned_at)}  {PRUNED_TEXT}"
    for happening in happenings_of(row):
        yield f"  {moment_text(happening.at)}  {happening.text}"
        facts = [*happening.facts.get("compared", []), *happening.facts.get("destination", "").split("\n")]
        yield from (f"{'':24}- {fact}" for fact in facts if fact)


def _waiting_text(event: EventMixin) -> str:
    if event.next_attempt_at is None:
        return "nobody has listened to it so far"
    text = [f"not delivered yet, tried {event.attempts} {'time' if event.attempts == 1 else 'times'}"]
    text += [" ".join(event.last_error.split())] if event.last_error else []
    text += [f"done: {', '.join(event.done)}"] if event.done else []
    if event.lease_until is not None:
        text.append(f"leased to a process until {moment_text(event.lease_until)}")
    else:
        text.append(f"tried next after {moment_text(event.next_attempt_at)}, or by flask paycheckout deliver --now")
    return "; ".join(text)
