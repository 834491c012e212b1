"""The alarms about money that comes in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, select, text

from flask_paycheckout.books.alarms import (
    PATIENCE,
    RECONCILE,
    WEEK,
    AlarmContext,
    Example,
    OwnerPage,
    Severity,
    Waiting,
    alarm,
    subject,
)
from flask_paycheckout.books.happenings import REASON_WORDS
from flask_paycheckout.books.service_alarms import DOCTOR, in_outage
from flask_paycheckout.checkouts.checkout_model import ANOTHER_AMOUNT, MONEY_TO_PAY_BACK
from flask_paycheckout.checkouts.payments import arrived_of, payment_of
from flask_paycheckout.checkouts.states import OPEN, Reason, Status
from flask_paycheckout.clock import EPOCH
from flask_paycheckout.payouts.paybacks import money_of
from flask_paycheckout.payouts.payout_states import PayoutKind, PayoutState
from flask_paycheckout.service.record import READS
from flask_paycheckout.text import Show, moment_text, plain_sum, stored_sum_text
from flask_paycheckout.totals import Amount

_KEEP = "flask paycheckout keep CHECKOUT_ID --by YOU --why REASON"
_PAY_BACK_OR_KEEP = "The refunds that give it back: flask paycheckout show ORDER_ID", f"Or keep it: {_KEEP}"


@alarm(Severity.NOW)
def unsettled_payments(context: AlarmContext) -> Waiting:
    """Completed deposits that could not be applied."""
    what, c = "completed at the service, and neither paid nor held here", context.checkouts
    # For a part, this is about the order that it could not pay; not about a deposit that could not be read again, or
    # that arrived with another amount.
    of_order = c.webhook_due_at.is_(None), c.payback.is_distinct_from(ANOTHER_AMOUNT)
    open_or_part = c.status.in_(OPEN) | and_(c.status == Status.PART, *of_order)
    # Do not compare the plain column: SQLite would then read all payments by its index.
    completed = func.coalesce(c.payment_completed_at, EPOCH) > EPOCH
    return _checkouts(
        context,
        [c.problem_since.is_not(None), completed, open_or_part],
        "problem_since",
        (f"payment is {what}", f"payments are {what}"),
        "Repair the named cause; reconcile tries again within ten minutes.",
    )


@alarm(Severity.TODAY)
def unexplained_payments(context: AlarmContext) -> Waiting:
    """Successful reads that no rule explains, such as a deposit that was completed and is not any more."""
    return _checkouts(
        context,
        [
            context.checkouts.problem_since.is_not(None),
            context.checkouts.status.in_(OPEN),
            context.checkouts.failed_reads == 0,
        ],
        "problem_since",
        ("payment needs an explanation of the service", "payments need an explanation of the service"),
        "Look into one: flask paycheckout show ORDER_ID",
    )


@alarm(Severity.NOW)
def unread_payments(context: AlarmContext) -> Waiting:
    """Other checkouts whose reads have failed for over five minutes; a note while their accounts cannot be read."""
    c = context.checkouts
    return _checkouts(
        context,
        [
            c.problem_since <= context.now - PATIENCE,
            c.failed_reads > 0,
            c.status.in_(OPEN) & c.payment_completed_at.is_(None)
            | c.status.not_in(OPEN) & c.webhook_due_at.is_not(None),
        ],
        "problem_since",
        ("payment could not be read or settled", "payments could not be read or settled"),
        DOCTOR,
        calls=True,
    )


@alarm(Severity.NOW)
def reversed_payments(context: AlarmContext) -> Waiting:
    """Payments that had arrived, and that the service took back or reports as another amount.

    The alarm ends when the same amount arrives after all, or when a person has handled it.
    """
    c = context.checkouts
    gone = c.payment_completed_at.is_(None), c.payment_paid_amount.is_not(None), c.status.not_in(OPEN)
    return _checkouts(
        context,
        [c.problem_since.is_not(None), and_(*gone, c.payback.is_(None)) | (c.payback == ANOTHER_AMOUNT)],
        "problem_since",
        ("payment that had arrived was taken back or changed", "payments that had arrived were taken back or changed"),
        "Ask the service and the customer: the order stays paid here, so ship nothing for it, and refund nothing.",
        f"Once it is dealt with: {_KEEP}",
        name=lambda row: (
            f"Order {row.order_id}: {stored_sum_text(row.payment_paid_amount, row.payment_paid_currency, context.show)}"
        ),
    )


@alarm(Severity.NOW)
def late_reads(context: AlarmContext) -> Waiting:
    """Reads that reconcile should have made more than five minutes ago."""
    late = context.checkouts.next_read_at <= context.now - PATIENCE
    return _checkouts(
        context,
        [late],
        "next_read_at",
        ("read is overdue: reconcile is behind", "reads are overdue: reconcile is behind"),
        RECONCILE,
        calls=True,
    )


# Decisions of people


@alarm(Severity.TODAY, OwnerPage("orders", "held"))
def held_payments(context: AlarmContext) -> Waiting:
    """Payments that wait for a decision."""
    return _checkouts(
        context,
        [context.checkouts.status == Status.HELD],
        "moved_at",
        ("held payment waits for your decision", "held payments wait for your decision"),
        "Look into one, and decide as it says: flask paycheckout show ORDER_ID",
    )


def _checkouts(
    context: AlarmContext,
    where: Sequence[ColumnElement[bool]],
    since: str,
    what: tuple[str, str],
    *remedies: str,
    calls: bool = False,
    name: Callable[[Any], str] | None = None,
) -> Waiting:
    """One alarm for all checkouts that meet the conditions.

    :param since: the column of the time since when each checkout waits.
    :param calls: whether the checkouts wait for reads; in an outage the alarm is a note.
    :param name: returns the name of a checkout on the owner's pages; by default the name has the money that arrived.
    """
    c = context.checkouts
    rows = select(context.models.checkouts).where(*where)

    def example(row: Any) -> Example:
        text, name_of_row = subject(row), name(row) if name else ""
        if row.payment_completed_at is not None:
            arrived = arrived_of(payment_of(row._mapping), row.total_kind)
            due = row.due_amount or row.total_amount
            text += f": {row.reason or 'completed'}, {_arrived(arrived)} of {due} {row.total_currency}"
            if not name and not row.problem:
                of_all = row.total_amount if row.status == Status.PART else due
                why = f", {REASON_WORDS.get(row.reason, row.reason)}" if row.reason else ""
                came = _arrived(arrived, context.show).removesuffix(" arrived")
                of = stored_sum_text(of_all, row.total_currency, context.show)
                name_of_row = f"Order {row.order_id}: {came} of {of} arrived{why}"
        text += f", since {moment_text(getattr(row, since))}"
        return Example(text, row.order_id, problem=row.problem, name=name_of_row, checkout_id=row.checkout_id)

    def outage() -> ColumnElement[bool]:
        return in_outage(context, c.account, c[since], READS)

    return Waiting(rows, since, what, example, lambda _: remedies, outage=outage if calls else None)


def _arrived(paid: Amount | None, show: Show = plain_sum) -> str:
    return "an unknown amount arrived" if paid is None else f"{show(paid.amount, paid.currency)} arrived"


@alarm(Severity.TODAY, OwnerPage("paybacks"))
def money_to_pay_back(context: AlarmContext) -> Waiting:
    """Payments that paid no order, until the money is refunded or a person records that it is kept."""

    def example(row: Any) -> Example:
        money = money_of(context.models, row._mapping)
        decided = "accepted as a second payment" if row.status == Status.PAID else "rejected"

        def left(show: Show = plain_sum) -> str:
            if money.left is None or money.left == money.paid:
                return ""
            return f"; {show(money.left.amount, money.left.currency)} of it are left, the rest is refunded"

        total, since = f"{row.total_amount} {row.total_currency}", moment_text(row.moved_at)
        arrived = f"{_arrived(money.paid)} of {total}, {row.reason}, {decided} {since}{left()}"
        name = f"Order {row.order_id}: {_arrived(money.paid, context.show)}, {decided}{left(context.show)}"
        return Example(f"{subject(row)}: {arrived}", row.order_id, name=name, checkout_id=row.checkout_id)

    return Waiting(
        _to_pay_back(context).where(~_exceeds(context), ~_failed_refund(context, "refund_of", "checkout_id")),
        "moved_at",
        ("payment paid no order: pay the money back or keep it", "payments paid no order: pay them back or keep them"),
        example,
        lambda _: _PAY_BACK_OR_KEEP,
    )


@alarm(Severity.TODAY, OwnerPage("paybacks"))
def excess_payments(context: AlarmContext) -> Waiting:
    """Orders for which more arrived than they cost, until the excess is refunded, or recorded as kept."""

    def example(row: Any) -> Example:
        what = "more arrived than it costs"
        text = f"{subject(row)}: {row.excess} {row.total_currency} {what}, since {moment_text(row.moved_at)}"
        excess = stored_sum_text(row.excess or "0", row.total_currency, context.show)
        name = f"Order {row.order_id}: {excess} {what}"
        return Example(text, row.order_id, name=name, checkout_id=row.checkout_id)

    return Waiting(
        # An excess may be refunded from any payment of the order.
        _to_pay_back(context).where(_exceeds(context), ~_failed_refund(context, "order_id", "order_id")),
        "moved_at",
        ("order is paid with more than it costs", "orders are paid with more than they cost"),
        example,
        lambda _: _PAY_BACK_OR_KEEP,
    )


def _to_pay_back(context: AlarmContext) -> Select[Any]:
    return select(context.models.checkouts).where(text(MONEY_TO_PAY_BACK))


def _failed_refund(context: AlarmContext, of: str, column: str) -> ColumnElement[bool]:
    """Whether a refund of a row has failed, which has its own alarm: following both would refund the money twice."""
    c = context.payouts
    failed = c[of] == context.checkouts[column], c.kind == PayoutKind.REFUND, c.state == PayoutState.FAILED
    return exists().where(*failed)


def _exceeds(context: AlarmContext) -> ColumnElement[bool]:
    return func.coalesce(context.checkouts.reason, "") == Reason.EXCESS


@alarm(Severity.TODAY, OwnerPage("orders", "part"))
def unfinished_parts(context: AlarmContext) -> Waiting:
    """Parts of orders whose rest nobody has paid for a week, until they are refunded or kept."""
    c = context.checkouts
    # Use the index of planned reads, which does not contain the parts of paid orders.
    unpaid = c.next_read_at >= EPOCH, func.coalesce(c.status, "") == Status.PART
    return _checkouts(
        context,
        [*unpaid, c.payback.is_(None), c.moved_at <= context.now - WEEK],
        "moved_at",
        ("part waits for the rest of its order's money", "parts wait for the rest of their orders' money"),
        "Refund one: flask paycheckout refund CHECKOUT_ID --by YOU --why REASON",
        f"Or keep it: {_KEEP}",
    )
