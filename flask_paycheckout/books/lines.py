"""The books: the kinds of their lines, and which changes of a checkout or payout are movements of money. Pure."""

from __future__ import annotations

from datetime import datetime
from decimal import Context, Decimal
from enum import StrEnum
from typing import NamedTuple

from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.payouts.payout_states import PayoutKind, PayoutStatus

__all__ = ["EXACT", "MONEY_OUT", "PAYOUT_KINDS", "RETURNED", "Line", "LineKind", "money_in", "money_out"]

EXACT = Context(prec=600)
"""More digits than any sum has; the caller's own decimal context could round."""


class LineKind(StrEnum):
    """The kinds of lines in the books."""

    PAYMENT = "payment"
    """Money of a customer that paid an order."""

    HELD = "held"
    """Money of a customer that paid no order; a second line takes it back once it has paid one after all."""

    FEE = "fee"
    """A fee that no other line has, such as one in another currency than the payment."""

    REFUND = "refund"
    PAYOUT = "payout"
    REFUND_RETURNED = "refund_returned"
    """A refund that was sent and then failed, so that its money is back."""

    PAYOUT_RETURNED = "payout_returned"
    """A payout that was sent and then failed, so that its money is back."""

    PAYMENT_RETURNED = "payment_returned"
    """Money of a customer that the service reported as arrived, and later as not arrived."""


class Line(NamedTuple):
    """One line of the books. A value that the service did not report is None.

    Money in is positive, money out negative, fees are positive, and the net amount is gross less fee.
    """

    booked_at: datetime
    kind: LineKind
    order_id: str | None
    checkout_id: str | None
    reference: str | None
    """The payout's reference, as the shop gave it."""

    disbursement_id: str | None
    account: str
    """The name of the merchant account whose money moved; "" is the one of the settings."""

    currency: str | None
    """The currency of gross, fee and net: an ISO 4217 code, or a token id."""

    gross: Decimal | None
    fee: Decimal | None
    net: Decimal | None
    method: str | None
    """The payment method: the bank's code, else its name, else `crypto`."""

    received: Decimal | None
    """The amount that the shop receives of a payment; of a refund in another currency, the amount that it counts."""

    received_currency: str | None


MONEY_OUT = frozenset({PayoutStatus.SENT, PayoutStatus.COMPLETED})
"""The states in which a payout's money has left the account."""

PAYOUT_KINDS = {PayoutKind.PAYOUT: LineKind.PAYOUT, PayoutKind.REFUND: LineKind.REFUND}
RETURNED = {LineKind.PAYOUT: LineKind.PAYOUT_RETURNED, LineKind.REFUND: LineKind.REFUND_RETURNED}


def money_in(status: str, *, arrived: bool, pays_order: bool) -> LineKind | None:
    """The kind of line that tells of a checkout's money; None while none has arrived.

    :param pays_order: whether this checkout paid its order, and no other one did.
    """
    if not arrived:
        return None
    return LineKind.PAYMENT if status == Status.PAID and pays_order else LineKind.HELD


def money_out(kind: str, status: str) -> LineKind | None:
    """The kind of line that tells of a payout's money; None while the money is in the account."""
    return PAYOUT_KINDS[PayoutKind(kind)] if status in MONEY_OUT else None
