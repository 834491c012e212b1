"""The money of one order, summed by currency: payments, fees, refunds, payouts, and the rest."""

from __future__ import annotations

from typing import NamedTuple

from flask_paycheckout.books.explain import Explanation
from flask_paycheckout.books.ledger import MONEY_OUT
from flask_paycheckout.checkouts.payments import sums_of
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import RELEASING, PayoutKind
from flask_paycheckout.payouts.refund_limits import left_of
from flask_paycheckout.totals import Amount, amount_of

Sums = tuple[Amount, ...]


class OrderMoney(NamedTuple):
    """The sums of an order. Refunds and payouts that failed or were cancelled are left out.

    Refunds are in the currency of the payment, even if they are sent in another one, so that the sums add up.
    """

    arrived: Sums
    fees: Sums
    """The fees of payments that the service reported."""

    received: Sums
    refunded: Sums
    """Refunds that were sent or completed, including refunds by hand."""

    to_refund: Sums
    """Refunds that were requested but not sent yet."""

    paid_out: Sums
    left: Sums
    """The part of the payments that no refund takes, rounded to whole units of its currency."""


def money_of(story: Explanation) -> OrderMoney:
    """The sums of an order."""
    payments = [attempt.payment for attempt in story.attempts if attempt.payment]
    fees = [payment.fee for payment in payments if payment.fee]
    refunds = [each for each in story.payouts if each.kind == PayoutKind.REFUND and each.status not in RELEASING]
    out = [each for each in story.payouts if each.status in MONEY_OUT]
    return OrderMoney(
        sums_of(payment.paid for payment in payments),
        sums_of(Amount(fee.amount, fee.currency) for fee in fees if fee.amount is not None and fee.currency),
        sums_of(payment.received for payment in payments),
        sums_of(_counted(each) for each in out if each in refunds),
        sums_of(_counted(each) for each in refunds if each not in out),
        sums_of(amount_of(each.exact_amount, each.currency) for each in out if each not in refunds),
        sums_of(map(left_of, story.attempts)),
    )


def refunded_of(story: Explanation, checkout_id: str) -> Sums:
    """The sums that sent and completed refunds of one payment take of it."""
    out = [each for each in story.payouts if each.refund_of == checkout_id and each.status in MONEY_OUT]
    return sums_of(map(_counted, out))


def _counted(refund: PayoutMixin) -> Amount | None:
    """The sum that a refund takes of its payment."""
    return amount_of(refund.exact_counts, refund.counts_currency)
