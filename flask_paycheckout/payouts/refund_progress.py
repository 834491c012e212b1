"""The progress of an order's refunds, as the customer may see it on the status page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from enum import IntEnum

import msgspec

from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.payouts.payout_states import PayoutStatus
from flask_paycheckout.payouts.payout_table import Payouts, RefundState
from flask_paycheckout.payouts.refund_limits import REFUNDED, left_of
from flask_paycheckout.totals import EXACT, Amount, is_token


class RefundProgress(IntEnum):
    """The progress of a refund."""

    DONE = 0
    STARTED = 1
    CLAIMABLE = 2
    """The customer has not said yet where the money goes."""

    FAILED = 3
    """It has failed, or nobody knows whether it was sent."""


class OrderRefunds(msgspec.Struct, frozen=True):
    """The progress of an order's refunds."""

    sums: Mapping[tuple[RefundProgress, str], Decimal] = {}
    """The sums of the order's refunds by their progress and currency; finished refunds come first."""

    of_payment: bool | None = None
    """Whether all accepted payments were refunded completely; None if nothing of what paid the order was refunded."""

    of_rejected: Collection[str | None] = ()
    """The outcomes of the rejected payments: `KEPT`, `REFUNDED`, or None while undecided."""


NO_REFUNDS = OrderRefunds()
_FAILED = frozenset({PayoutStatus.FAILED, PayoutStatus.UNKNOWN})


def read_refunds(payouts: Payouts, checkouts: Checkouts, order_id: str) -> OrderRefunds:
    """Read the progress of an order's refunds with two queries."""
    payments, states = checkouts.decided(order_id), payouts.refund_states(order_id)
    sums: dict[tuple[RefundProgress, str], Decimal] = defaultdict(Decimal)
    for state in states:
        kind = _progress(state), state.currency
        sums[kind] = EXACT.fma(state.times, Decimal(state.amount), sums[kind])
    refunded = {state.checkout_id for state in states}
    rejected = [each for each in payments if each.status == Status.REJECTED]
    left = [left_of(each) for each in payments if each.status != Status.REJECTED]
    # A second payment that was accepted pays no order.
    pay = {each.checkout_id for each in payments if each.status == Status.PART or each.paid_order_id is not None}
    return OrderRefunds(
        dict(sorted(sums.items())),
        _is_whole([state for state in states if state.checkout_id in pay], left),
        {REFUNDED if each.checkout_id in refunded else each.payback for each in rejected},
    )


def _progress(state: RefundState) -> RefundProgress:
    # A token payout cannot be followed after it was sent.
    last = PayoutStatus.SENT if is_token(state.currency) else PayoutStatus.COMPLETED
    if state.status in (last, PayoutStatus.COMPLETED):
        return RefundProgress.DONE
    if state.status in _FAILED:
        return RefundProgress.FAILED
    return RefundProgress.CLAIMABLE if state.status == PayoutStatus.CLAIMABLE else RefundProgress.STARTED


def _is_whole(states: Sequence[RefundState], left: Sequence[Amount | None]) -> bool | None:
    ends = [_progress(state) for state in states if state.status not in _FAILED]
    if RefundProgress.DONE not in ends:
        return None
    return set(ends) == {RefundProgress.DONE} and not any(each is None or each.amount for each in left)
