"""How far the payments of an order were paid back, as the customer may see it on the status page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import IntEnum

import msgspec

from flask_paycheckout.checkouts.payments import EXACT
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.payouts.paybacks import REFUNDED
from flask_paycheckout.payouts.payout_states import PayoutStatus
from flask_paycheckout.payouts.stored import Payouts, RefundState
from flask_paycheckout.totals import is_token


class RefundProgress(IntEnum):
    """How far a payment was paid back."""

    OWED = -1
    """It was not accepted, and nobody has decided what becomes of it."""

    FAILED = 0
    """Each refund has failed, or nobody knows whether it was sent."""

    CLAIMABLE = 1
    """The customer has not said yet where the money of at least one refund goes."""

    STARTED = 2
    PARTLY = 3
    WHOLLY = 4
    KEPT = 5
    """It was not accepted, and the shop keeps it."""


class OrderRefunds(msgspec.Struct, frozen=True):
    """How far the payments of an order were paid back; None where no refund was decided."""

    of_payment: RefundProgress | None = None
    """The progress of the payment that paid the order."""

    of_others: RefundProgress | None = None
    """The progress that is furthest among all other accepted payments."""

    of_rejected: RefundProgress | None = None
    """The progress that is least far among the payments that were not accepted; None without any."""

    paid_back: Mapping[str, Decimal] = {}
    """The sums that were paid back, by currency."""


NO_REFUNDS = OrderRefunds()
_BY_HAND = {"kept": RefundProgress.KEPT, "paid_back": RefundProgress.WHOLLY}
_FAILED = frozenset({PayoutStatus.FAILED, PayoutStatus.UNKNOWN})


def read_refunds(payouts: Payouts, checkouts: Checkouts, order_id: str) -> OrderRefunds:
    """Read how far the payments of an order were paid back; two queries."""
    rejected = checkouts.rejected(order_id)
    by_payment: dict[str, list[RefundState]] = defaultdict(list)
    paid_back: dict[str, Decimal] = defaultdict(Decimal)
    for state in payouts.refund_states(order_id):
        by_payment[state.checkout_id].append(state)
        if _is_done(state):
            before = paid_back[state.currency]
            paid_back[state.currency] = EXACT.fma(state.times, Decimal(state.amount), before)
    progress: dict[bool, list[RefundProgress]] = {True: [], False: []}
    for checkout_id, states in by_payment.items():
        if checkout_id not in rejected:
            progress[states[0].paid_order_id is not None].append(_progress(states))
    return OrderRefunds(
        max(progress[True], default=None),
        max(progress[False], default=None),
        min((_outcome(payback, by_payment[checkout_id]) for checkout_id, payback in rejected.items()), default=None),
        dict(paid_back),
    )


def _outcome(payback: str | None, states: Sequence[RefundState]) -> RefundProgress:
    """The progress of a payment that was not accepted."""
    if payback in _BY_HAND:
        return _BY_HAND[payback]
    return _progress(states) if states else RefundProgress.OWED


def _progress(states: Sequence[RefundState]) -> RefundProgress:
    under_way = [state for state in states if state.status not in _FAILED]
    done = [_is_done(state) for state in under_way]
    if not under_way:
        return RefundProgress.FAILED
    if any(state.status == PayoutStatus.CLAIMABLE for state in under_way):
        return RefundProgress.CLAIMABLE
    if not any(done):
        return RefundProgress.STARTED
    if all(done) and all(state.payback == REFUNDED for state in under_way):
        return RefundProgress.WHOLLY
    return RefundProgress.PARTLY


def _is_done(state: RefundState) -> bool:
    # A payment in tokens cannot be followed further than that it was sent.
    last = PayoutStatus.SENT if is_token(state.currency) else PayoutStatus.COMPLETED
    return state.status in (last, PayoutStatus.COMPLETED)
