"""The alarms about money that goes out, and the name of a payout."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, case, false, func, or_, select, true

from flask_paycheckout.books.alarms import (
    PATIENCE,
    RECONCILE,
    WEEK,
    Alarm,
    AlarmContext,
    Example,
    OwnerPage,
    Severity,
    Waiting,
    alarm,
)
from flask_paycheckout.books.payout_remedies import remedies
from flask_paycheckout.books.service_alarms import in_outage
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.connections import read_rows
from flask_paycheckout.errors import payout_status_text
from flask_paycheckout.payouts.destinations import facts_in
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PASSED_ON, PayoutKind, PayoutState, PayoutStatus
from flask_paycheckout.payouts.payout_table import NOT_SENT
from flask_paycheckout.service.record import PAYOUT, READS
from flask_paycheckout.text import Show, account_text, moment_text, order_text, payout_sum_text
from flask_paycheckout.wiring.installation import ANOTHER

_MOVED = (
    "Where the shop is, or has moved to, run: flask paycheckout doctor --moved-here. Stop the other one, or see"
    " docs/copies.md"
)
# The maximum number of accounts that one sentence names.
_NAMED = 5


@alarm(Severity.NOW)
def copied_shop(context: AlarmContext) -> Iterator[Alarm]:
    """Rounds of an app whose public address differs from the address of the shop that the database belongs to."""
    for row in _copies(context):
        yield Alarm(
            f"payouts and reminders are not sent from {row.value}: the database belongs to a shop at another address",
            as_utc(row.since),
            account=None,
            remedies=(_MOVED,),
        )


def _copies(context: AlarmContext) -> Sequence[Any]:
    c = context.models.installation.c
    return read_rows(context.engine, select(c.value, c.since).where(c.fact == ANOTHER))


@alarm(Severity.TODAY, OwnerPage("payouts", "waiting"))
def payouts_to_approve(context: AlarmContext) -> Waiting:
    """Payouts and refunds that wait for a person's approval."""
    return _payouts(
        context,
        [context.payouts.status == PayoutStatus.WAITING, ~context.is_stopped],
        ("payout or refund waits for your approval", "payouts or refunds wait for your approval"),
        more="--seen {0.revision}",
    )


@alarm(Severity.TODAY, OwnerPage("payouts", "claimable"))
def unclaimed_refunds(context: AlarmContext) -> Waiting:
    """Payouts and refunds whose receiver has not named a destination; a note in the first week."""
    c = context.payouts
    return _payouts(
        context,
        [c.status == PayoutStatus.CLAIMABLE, ~context.is_stopped],
        (
            "payout or refund waits for its receiver to say where",
            "payouts or refunds wait for their receivers to say where",
        ),
        "Send the receiver the link again; the owner's page of the payout or refund shows it.",
        note=c.moved_at > context.now - WEEK,
    )


@alarm(Severity.NOW)
def unsent_payouts(context: AlarmContext) -> Waiting:
    """Payouts that are ready but are not sent."""
    payers, unsent = ready_payouts(context, lacks_token=False)

    def outage() -> ColumnElement[bool]:
        return true() if _copies(context) else _in_outage(context, case(payers, value=context.payer))

    return _payouts(
        context,
        [*unsent, _is_late(context), ~context.is_stopped],
        ("payout is ready and not sent", "payouts are ready and not sent"),
        RECONCILE,
        outage=outage,
    )


@alarm(Severity.TODAY)
def stopped_refunds(context: AlarmContext) -> Waiting:
    """Refunds that are not sent, because their payment was taken back."""
    what = (
        "refund is not sent, since its payment was taken back",
        "refunds are not sent, since their payments were taken back",
    )
    return _payouts(context, [context.payouts.state.in_(NOT_SENT), context.is_stopped], what, stopped=True)


@alarm(Severity.TODAY)
def payouts_without_access_token(context: AlarmContext) -> Waiting:
    """Payouts that are ready, but whose account has no access token to send them with."""
    payers, unsent = ready_payouts(context, lacks_token=True)
    return _payouts(
        context,
        unsent,
        ("payout is ready and not sent: no access token", "payouts are ready and not sent: no access token"),
        missing_token_text(payers.values()),
    )


def ready_payouts(context: AlarmContext, *, lacks_token: bool) -> tuple[dict[str, str], Sequence[ColumnElement[bool]]]:
    """The conditions of ready payouts whose payer lacks an access token or not.

    :returns: the accounts of these payouts, each with the account whose money pays, and then the conditions.
    """
    payers = {name: payer for name, (payer, lacks) in context.payers.items() if lacks is lacks_token}
    return payers, [context.payouts.status == PayoutStatus.READY, context.payer.in_(payers)]


def _is_late(context: AlarmContext) -> ColumnElement[bool]:
    """Whether the next step is overdue, or has failed for more than five minutes."""
    c = context.payouts
    patience = context.now - PATIENCE
    return or_(c.due_at <= patience, c.problem_since <= patience)


@alarm(Severity.NOW)
def payouts_not_followed(context: AlarmContext) -> Waiting:
    """Payouts that were sent, or may have been, and whose reads and lookups are overdue or fail."""
    c = context.payouts
    under_way = c.status.in_([PayoutStatus.SENDING, PayoutStatus.SENT]), c.due_at.is_not(None)
    return _payouts(
        context,
        [*under_way, _is_late(context), ~func.coalesce(_pays_earlier(context), false())],
        (
            "payout was sent, or may have been, and is without news",
            "payouts were sent, or may have been, and are without news",
        ),
        RECONCILE,
        "If it runs, look for the reference in the service's dashboard.",
        outage=lambda: _in_outage(context, context.payer),
        since=("problem_since", "due_at"),
    )


@alarm(Severity.TODAY, OwnerPage("payouts", "sent"))
def slow_transfers(context: AlarmContext) -> Waiting:
    """Bank transfers that the service has neither completed nor failed for a week."""
    c = context.payouts
    return _payouts(
        context,
        [c.status == PayoutStatus.SENT, c.due_at.is_not(None), c.moved_at <= context.now - WEEK],
        ("transfer is without news for a week", "transfers are without news for a week"),
        "Look for the reference in the service's dashboard, or ask the service.",
        since=("moved_at", "problem_since"),
    )


@alarm(Severity.TODAY)
def repeated_transfers(context: AlarmContext) -> Waiting:
    """Payouts that may have been paid twice, until a person has checked.

    Either a token payout was sent again, or in place of another, after a person said that the money had come back; or
    the service pays a transfer after all that had failed and was retried, replaced or given up.
    """
    c = context.payouts
    again = (c.status == PayoutStatus.SENT) & c.due_at.is_(None) & c.problem_since.is_not(None)
    return _payouts(
        context,
        [again | _pays_earlier(context) | c.state.in_(PASSED_ON) & c.reported_amount.is_not(None)],
        ("payout may have been paid twice", "payouts may have been paid twice"),
        "Compare its transfers with the chain, or with the service's dashboard.",
    )


def _pays_earlier(context: AlarmContext) -> ColumnElement[bool]:
    """Whether the service pays an earlier transfer in addition to the present one."""
    c = context.payouts
    reported = c.due_at.is_not(None), c.reported_amount != ""
    return and_(c.status == PayoutStatus.SENT, c.earlier.is_not(None), *reported)


@alarm(Severity.TODAY, OwnerPage("payouts", "unknown"))
def unknown_payouts(context: AlarmContext) -> Waiting:
    """Payouts for which nobody here knows whether they were sent."""
    return _payouts(
        context,
        [context.payouts.status == PayoutStatus.UNKNOWN],
        (
            "payout is unknown: nobody here can know whether the money went out",
            "payouts are unknown: nobody here can know whether the money went out",
        ),
        "Look in the service's dashboard, or on the chain, and say what you found.",
        more="service reference {0.service_reference}",
    )


@alarm(Severity.TODAY, OwnerPage("payouts", "failed"))
def failed_payouts(context: AlarmContext) -> Waiting:
    """Payouts that failed, until they are retried, replaced or given up."""
    return _payouts(
        context,
        [context.payouts.state == PayoutState.FAILED, ~context.is_stopped],
        ("payout failed", "payouts failed"),
    )


def _payouts(
    context: AlarmContext,
    where: Sequence[ColumnElement[bool]],
    what: tuple[str, str],
    *advice: str,
    more: str = "",
    stopped: bool = False,
    note: ColumnElement[bool] | None = None,
    outage: Callable[[], ColumnElement[bool]] | None = None,
    # Do not begin with `moved_at`: a retry changes it, although the trouble goes on.
    since: tuple[str, str] = ("problem_since", "moved_at"),
) -> Waiting:
    """One alarm for all payouts that meet the conditions.

    :param what: the texts for one payout and for several.
    :param advice: instructions to follow before anybody decides about the payouts.
    :param more: a format string for the end of each example, filled with its row.
    :param stopped: whether the payouts are refunds of payments that were taken back.
    :param note: the condition of payouts that are a note; `note` and `outage` as for `Waiting`.
    :param since: the columns of the time since when each payout waits; the first one that is not NULL counts.
    """
    table = context.models.payouts
    first, second = since
    rows = select(table, func.coalesce(table.c[first], table.c[second]).label("since")).where(*where)

    def payout_of(row: Any) -> PayoutMixin:
        payout: PayoutMixin = context.models.of_row(context.models.Payout, row._mapping)
        return payout

    def instructions(oldest: Sequence[Any]) -> Iterator[str]:
        yield from advice
        for row in oldest:
            yield from remedies(payout_of(row), named=len(oldest) == 1, stopped=stopped)

    def example(row: Any) -> Example:
        payout = payout_of(row)
        of_order = f" of {order_text(payout.order_id)}" if payout.order_id else ""
        status = f"{payout_status_text(payout.status)} since {moment_text(payout.moved_at)}"
        text = f"{payout.reference}: {payout.kind}{of_order}{account_text(payout.account)}"
        text += f", {payout_sum_text(payout)}, {status}"
        text += f": {' '.join(payout.problem.split())}" if payout.problem else ""
        text += f" ({more.format(payout)})" if more else ""
        name, is_postponed = _line_of(payout, context.show), payout.state == PayoutState.POSTPONED
        return Example(text, payout.order_id, payout.reference, name=name, is_postponed=is_postponed)

    return Waiting(rows, "since", what, example, instructions, note, outage)


def _line_of(payout: PayoutMixin, show: Show) -> str:
    """A payout in one line for the owner: a refund with its order, another payout with its payee, order and note."""
    sent = payout_sum_text(payout, show)
    if payout.kind == PayoutKind.REFUND:
        return f"{payout_name(payout)}: {sent}"
    payee = facts_in(payout.destination).get("Name")
    of_order = f" ({order_text(payout.order_id)})" if payout.order_id else ""
    return f"Payout of {sent}{f' to {payee}' if payee else ''}{of_order}{f', {payout.note}' if payout.note else ''}"


def _in_outage(context: AlarmContext, payer: ColumnElement[str]) -> ColumnElement[bool]:
    since = func.coalesce(context.payouts.problem_since, context.payouts.due_at)
    return in_outage(context, payer, since, PAYOUT, READS)


def missing_token_text(accounts: Collection[str]) -> str:
    """The remedy for accounts that have no access token to send payouts with."""
    named = [repr(name) for name in accounts if name]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    of = f" for the account {', '.join(named[:_NAMED])}{more}" if named else ""
    own = "Give each its own: Account(..., access_token=...) in @paycheckout.account"
    default = (
        "Send them now with: flask paycheckout payouts send --login; or set PAYCHECKOUT_ACCESS_TOKEN, and reconcile"
        " sends them"
    )
    ways = ([own] if named else []) + ([default] if "" in accounts else [])
    return f"No access token is configured{of}. {'. '.join(ways)}"


def payout_name(payout: Any) -> str:
    """The name of a payout on pages, given its columns: a refund has a number, and a payout the shop's reference."""
    of_order = f" ({order_text(payout.order_id)})" if payout.order_id else ""
    return f"Refund no. {payout.id}{of_order}" if payout.kind == "refund" else f"Payout {payout.reference}"
