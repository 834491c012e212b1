"""The alarms about money that goes out, and the name of a payout."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, case, exists, func, or_, select

from flask_paycheckout.books.account_names import payer_of
from flask_paycheckout.books.alarms import PATIENCE, RECONCILE, WEEK, Alarm, Example, Look, Severity, alarm, waiting
from flask_paycheckout.books.payment_alarms import in_outage
from flask_paycheckout.errors import payout_status_text
from flask_paycheckout.payouts.paybacks import PAID_BACK, REFUNDED
from flask_paycheckout.payouts.payout_states import PayoutStatus
from flask_paycheckout.service.record import PAYOUT, READS
from flask_paycheckout.text import account_text, moment_text, payout_sum_text

# The accounts that one sentence names.
_NAMED = 5
_BY_WHY = "--by YOU --why REASON"


@alarm(Severity.TODAY)
def payouts_to_approve(look: Look) -> Iterator[Alarm]:
    """Payouts and refunds that wait for a person's approval."""
    return _payouts(
        look,
        [look.payouts.status == PayoutStatus.WAITING],
        ("payout or refund waits for your approval", "payouts or refunds wait for your approval"),
        "Approve what you see: flask paycheckout payouts approve REFERENCE --seen N --by YOU (over the daily limit:"
        " --over-limit; else it waits for a day with room)",
        f"Or cancel it: flask paycheckout payouts cancel REFERENCE {_BY_WHY}",
        more="--seen {0.revision}",
    )


@alarm(Severity.TODAY)
def unclaimed_refunds(look: Look) -> Iterator[Alarm]:
    """Payouts and refunds of which the receiver has not said where the money goes; a note in the first week."""
    c = look.payouts
    return _payouts(
        look,
        [c.status == PayoutStatus.CLAIMABLE],
        (
            "payout or refund waits for its receiver to say where",
            "payouts or refunds wait for their receivers to say where",
        ),
        "Send the receiver the link again; the owner's page of the payout or refund shows it.",
        f"Or cancel one: flask paycheckout payouts cancel REFERENCE {_BY_WHY}",
        note=c.moved_at > look.now - WEEK,
    )


@alarm(Severity.NOW)
def unsent_payouts(look: Look) -> Iterator[Alarm]:
    """Payouts that are ready, and that no call sends."""
    payers, unsent = ready_payouts(look, _is_late(look), lacks_token=False)
    return _payouts(
        look,
        unsent,
        ("payout is ready and not sent", "payouts are ready and not sent"),
        RECONCILE,
        note=_in_outage(look, case(payers or {"": ""}, value=payer_of(look.payouts))),
    )


@alarm(Severity.TODAY)
def payouts_without_access_token(look: Look) -> Iterator[Alarm]:
    """Payouts that are ready, and whose account has no access token to send them with."""
    payers, unsent = ready_payouts(look, lacks_token=True)
    return _payouts(
        look,
        unsent,
        ("payout is ready and not sent: no access token", "payouts are ready and not sent: no access token"),
        missing_token_text(payers.values()),
    )


def ready_payouts(
    look: Look, *late: ColumnElement[bool], lacks_token: bool
) -> tuple[dict[str, str], Sequence[ColumnElement[bool]]]:
    """The conditions of ready payouts whose payer lacks an access token or not.

    :param late: the condition of those that should have been sent; without a token none is sent, however soon.
    :returns: before them, the accounts of these payouts with those whose money pays.
    """
    c = look.payouts
    unsent = c.status == PayoutStatus.READY, *late
    found = select(payer_of(c)).where(*unsent, *look.of_account(c.account)).distinct().order_by(payer_of(c))
    of = {name: look.merchants.payer_of(name) for (name,) in look.rows(found)}
    payers = {name: payer for name, (payer, lacks) in of.items() if lacks is lacks_token}
    return payers, [*unsent, payer_of(c).in_(payers)]


def _is_late(look: Look) -> ColumnElement[bool]:
    """Whether the next step is overdue, or has failed for more than five minutes."""
    c = look.payouts
    patience = look.now - PATIENCE
    return or_(c.next_attempt_at <= patience, c.problem_since <= patience)


@alarm(Severity.NOW)
def payouts_not_followed(look: Look) -> Iterator[Alarm]:
    """Payouts that were sent, or may have been, and whose reads and look-ups are overdue or fail."""
    under_way = look.payouts.status.in_([PayoutStatus.SENDING, PayoutStatus.SENT])
    return _payouts(
        look,
        [under_way, _is_late(look)],
        (
            "payout was sent, or may have been, and is without news",
            "payouts were sent, or may have been, and are without news",
        ),
        RECONCILE,
        "If it runs, look for the reference in the service's dashboard.",
        "If you know that it is right though the service reports it otherwise, or that it arrived though its keys are"
        " gone: flask paycheckout payouts resolve REFERENCE --sent"
        f" {_BY_WHY}",
        note=_in_outage(look, payer_of(look.payouts)),
        since=("problem_since", "next_attempt_at"),
    )


@alarm(Severity.TODAY)
def slow_transfers(look: Look) -> Iterator[Alarm]:
    """Bank transfers that the service has neither completed nor failed for a week."""
    c = look.payouts
    return _payouts(
        look,
        [c.status == PayoutStatus.SENT, c.next_attempt_at.is_not(None), c.moved_at <= look.now - WEEK],
        ("transfer is without news for a week", "transfers are without news for a week"),
        "Look for the reference in the service's dashboard, or ask the service.",
        since=("moved_at", "problem_since"),
    )


@alarm(Severity.TODAY)
def unknown_payouts(look: Look) -> Iterator[Alarm]:
    """Payouts of which nobody here knows whether they were sent."""
    return _payouts(
        look,
        [look.payouts.status == PayoutStatus.UNKNOWN],
        (
            "payout is unknown: nobody here can know whether the money went out",
            "payouts are unknown: nobody here can know whether the money went out",
        ),
        "Look in the service's dashboard, or on the chain, and say what you found:",
        f"flask paycheckout payouts resolve REFERENCE --sent (or --not-sent) {_BY_WHY}",
        more="service reference {0.service_reference}",
    )


@alarm(Severity.TODAY)
def failed_payouts(look: Look) -> Iterator[Alarm]:
    """Payouts that failed in the last seven days.

    Without refunds in whose place another one of the same amount was made after the failure, each in the place of one,
    or whose payment was given back as a whole.
    """
    c, other, paid = look.payouts, look.models.payouts.alias().c, look.checkouts
    others = select(func.count()).where(other.refund_of == c.refund_of, other.counts == c.counts, other.id != c.id)
    made = others.where(other.created_at >= c.moved_at, other.status != PayoutStatus.CANCELLED).scalar_subquery()
    failed = others.where(other.moved_at >= c.moved_at, other.status == PayoutStatus.FAILED).scalar_subquery()
    covered = exists().where(paid.checkout_id == c.refund_of, paid.payback.in_((PAID_BACK, REFUNDED)))
    return _payouts(
        look,
        [c.status == PayoutStatus.FAILED, c.moved_at > look.now - WEEK, made <= failed, ~covered],
        ("payout failed", "payouts failed"),
        f"If it was not paid, try one again: flask paycheckout payouts retry REFERENCE {_BY_WHY}",
    )


def _payouts(
    look: Look,
    where: Sequence[ColumnElement[bool]],
    what: tuple[str, str],
    *remedies: str,
    more: str = "",
    note: ColumnElement[bool] | None = None,
    # A retry moves a payout, and its trouble goes on.
    since: tuple[str, str] = ("problem_since", "moved_at"),
) -> Iterator[Alarm]:
    """One alarm for all payouts that fulfil the conditions.

    :param what: the words for one and for many of them.
    :param more: a form with which each example ends, filled with its row.
    :param note: the condition of those that are a mere note, where there are no others.
    :param since: the columns of the time since when each waits, of which the first counts that is not NULL.
    """
    table = look.models.payouts
    rows = select(table, func.coalesce(*(table.c[name] for name in since)).label("since"))
    rows = rows.where(*where, *look.of_account(table.c.account))

    def example(row: Any) -> Example:
        of_order = f" of order {row.order_id}" if row.order_id else ""
        sent = payout_sum_text(row) + (f" to {row.destination}" if row.destination else "")
        status = f"{payout_status_text(row.status)} since {moment_text(row.moved_at)}"
        text = f"{row.reference}: {row.kind}{of_order}{account_text(row.account)}, {sent}, {status}"
        text += f": {' '.join(row.problem.split())}" if row.problem else ""
        text += f" ({more.format(row)})" if more else ""
        return Example(text, row.order_id, row.reference, name=f"{payout_name(row)}: {sent}")

    return waiting(look, rows, "since", what, example, *remedies, note=note)


def _in_outage(look: Look, payer: ColumnElement[str]) -> ColumnElement[bool]:
    since = func.coalesce(look.payouts.problem_since, look.payouts.next_attempt_at)
    return in_outage(look, payer, since, PAYOUT, READS)


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
    remedies = [own] if named else []
    remedies += [default] if "" in accounts else []
    return f"No access token is configured{of}. {'. '.join(remedies)}"


def payout_name(payout: Any) -> str:
    """The name of a payout on pages, given its columns: a refund has a number, and a payout the shop's reference."""
    of_order = f" (order {payout.order_id})" if payout.order_id else ""
    return f"Refund no. {payout.id}{of_order}" if payout.kind == "refund" else f"Payout {payout.reference}"
