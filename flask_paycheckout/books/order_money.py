"""The money of one order, summed by currency: what arrived, what it cost, what went out, and what is left."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from flask_paycheckout.books.explain import AttemptStory, Explanation, PayoutStory
from flask_paycheckout.books.ledger import MONEY_OUT
from flask_paycheckout.checkouts.payments import Amount, sums_of
from flask_paycheckout.payouts.payout_states import RELEASING, PayoutKind

Sums = tuple[Amount, ...]


class OrderMoney(NamedTuple):
    """The sums of an order. Those of money out leave out what failed or was cancelled.

    Refunds are in the currency that was paid, also where another one is sent, so that the sums come to what is left.
    """

    arrived: Sums
    fees: Sums
    """The fees of payments that the service reported."""

    received: Sums
    refunded: Sums
    """Refunds that were sent or completed, and payments that a person has recorded as paid back."""

    to_refund: Sums
    """Refunds that were decided and not sent yet."""

    paid_out: Sums
    left: Sums
    """The part of the money that arrived which no refund takes."""


def money_of(story: Explanation) -> OrderMoney:
    """The sums of an order."""
    payments = [attempt.payment for attempt in story.attempts if attempt.payment]
    fees = [payment.fee for payment in payments if payment.fee]
    refunds = [each for each in story.payouts if each.kind == PayoutKind.REFUND and each.status not in RELEASING]
    out = [each for each in story.payouts if each.status in MONEY_OUT]
    arrived = sums_of(payment.paid for payment in payments)
    by_hand = list(map(_paid_by_hand, story.attempts))
    back = [*map(_counted, refunds), *by_hand]
    return OrderMoney(
        arrived,
        sums_of(Amount(fee.amount, fee.currency) for fee in fees if fee.amount is not None and fee.currency),
        sums_of(payment.received for payment in payments),
        sums_of([*(_counted(each) for each in out if each in refunds), *by_hand]),
        sums_of(_counted(each) for each in refunds if each not in out),
        sums_of(Amount(each.amount, each.currency) for each in out if each not in refunds),
        sums_of([*arrived, *(taken and Amount(-taken.amount, taken.currency) for taken in back)]),
    )


def refunded_of(story: Explanation, checkout_id: str) -> Sums:
    """The sums that the refunds of one payment take of it, of those that were sent or completed."""
    out = [each for each in story.payouts if each.refund_of == checkout_id and each.status in MONEY_OUT]
    return sums_of(map(_counted, out))


def _counted(refund: PayoutStory) -> Amount | None:
    """The sum that a refund takes of its payment."""
    counts, currency = refund.counts, refund.counts_currency
    return None if counts is None or currency is None else Amount(counts, currency)


def _paid_by_hand(attempt: AttemptStory) -> Amount | None:
    """The part of a payment that persons have recorded as paid back by hand."""
    paid, by_hand = attempt.payment and attempt.payment.paid, attempt.paid_back_amount
    return Amount(Decimal(by_hand), paid.currency) if paid and by_hand else None
