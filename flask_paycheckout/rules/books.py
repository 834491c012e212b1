"""The books: the kinds of their lines, and which moves of a payout are movements of money. Pure."""

from __future__ import annotations

from enum import StrEnum

from flask_paycheckout.rules.payout_states import PayoutKind, PayoutStatus

__all__ = ["LineKind", "booked_as"]


class LineKind(StrEnum):
    """The kinds of lines in an export, stored with the bookings of payouts."""

    PAYMENT = "payment"
    """Money of a customer that arrived."""

    FEE = "fee"
    """The fee of a payment, when it is in another currency than the payment."""

    REFUND = "refund"
    PAYOUT = "payout"
    REFUND_RETURNED = "refund_returned"
    """A refund that was sent and then failed, so that its money is back."""

    PAYOUT_RETURNED = "payout_returned"
    """A payout that was sent and then failed, so that its money is back."""


_SENT = {PayoutKind.PAYOUT: LineKind.PAYOUT, PayoutKind.REFUND: LineKind.REFUND}
_RETURNED = {PayoutKind.PAYOUT: LineKind.PAYOUT_RETURNED, PayoutKind.REFUND: LineKind.REFUND_RETURNED}


def booked_as(kind: PayoutKind, before: PayoutStatus, after: PayoutStatus) -> LineKind | None:
    """The kind of line that a payout's move between two states is booked as; None when it moves no money."""
    if after is PayoutStatus.SENT:
        return _SENT[kind]
    if (before, after) == (PayoutStatus.SENT, PayoutStatus.FAILED):
        return _RETURNED[kind]
    return None
