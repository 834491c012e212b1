"""How far the payments of an order were paid back, as the customer may see it on the status page: without amounts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import IntEnum

import msgspec

from flask_paycheckout.rules.payout_states import PayoutStatus
from flask_paycheckout.store.payouts import Payouts, RefundState
from flask_paycheckout.store.refund_limits import REFUNDED
from flask_paycheckout.totals import is_token

__all__ = ["NO_REFUNDS", "OrderRefunds", "RefundProgress", "read_refunds"]


class RefundProgress(IntEnum):
    """How far a payment was paid back."""

    STARTED = 1
    """A refund was decided, and none is completed yet."""

    PARTLY = 2
    WHOLLY = 3


class OrderRefunds(msgspec.Struct, frozen=True):
    """How far the payments of an order were paid back; None where no refund is under way or completed."""

    of_payment: RefundProgress | None = None
    """Of the payment that paid the order."""

    of_others: RefundProgress | None = None
    """Of all other payments, the one that is furthest."""


NO_REFUNDS = OrderRefunds()


def read_refunds(payouts: Payouts, order_id: str) -> OrderRefunds:
    """Read how far the payments of an order were paid back; one query."""
    by_payment: dict[str, list[RefundState]] = defaultdict(list)
    for state in payouts.refund_states(order_id):
        by_payment[state.checkout_id].append(state)
    progress: dict[bool, list[RefundProgress]] = {True: [], False: []}
    for states in by_payment.values():
        progress[states[0].paid_order_id is not None].append(_progress(states))
    return OrderRefunds(max(progress[True], default=None), max(progress[False], default=None))


def _progress(states: Iterable[RefundState]) -> RefundProgress:
    done = [_is_done(state) for state in states]
    if not any(done):
        return RefundProgress.STARTED
    covered = all(state.payback == REFUNDED for state in states)
    return RefundProgress.WHOLLY if all(done) and covered else RefundProgress.PARTLY


def _is_done(state: RefundState) -> bool:
    # A payment in tokens cannot be followed further than that it was sent.
    last = PayoutStatus.SENT if is_token(state.currency) else PayoutStatus.COMPLETED
    return state.status in (last, PayoutStatus.COMPLETED)
