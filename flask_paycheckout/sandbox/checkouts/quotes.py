"""Quotes: the amount paid, the fee and the amount received. All fees of deposits are computed here.

With the method's flat fee F, its percentage P (q = P / 100) and the rate r (units of output currency per unit of
input currency, 1 when they are the same), every amount a whole number of its currency's smallest unit:

    paying A      fee = F + A*q, rounded up;  net = A - fee;  received = net * r, rounded down
    receiving B   net = B / r, rounded up;    A = (net + F) / (1 - q), rounded up;  fee = A - net;  received = B

So `A == net + fee` exactly, and without a conversion `net` is what is received. Both formulas agree: A is the smallest
payment that leaves `net`, hence A - net is F + A*q rounded up, which is the fee of paying A. Rounding favours the
service and is below one smallest unit; after a conversion the service also keeps what rounding takes from `net * r`.
"""

from __future__ import annotations

from decimal import ROUND_DOWN, Decimal
from typing import NamedTuple

from flask_paycheckout.sandbox.money.arithmetic import EXACT, rounded


class Terms(NamedTuple):
    """Fees and rate of a payment method between two currencies."""

    input_currency: str
    output_currency: str
    flat_fee: Decimal
    percent_fee: Decimal
    rate: Decimal = Decimal(1)


class Quote(NamedTuple):
    """An amount paid, the fee included in it (both in the input currency), and the amount received."""

    input_amount: Decimal
    fee_amount: Decimal
    output_amount: Decimal


def quote_paying(terms: Terms, amount: Decimal) -> Quote:
    """Quote for a customer who pays exactly `amount`. The fee is at most the amount; then nothing is received."""
    fee = min(_fee_of(terms, amount), rounded(amount, terms.input_currency))
    received = EXACT.multiply(EXACT.subtract(amount, fee), terms.rate)
    return Quote(
        rounded(amount, terms.input_currency), fee, rounded(received, terms.output_currency, rounding=ROUND_DOWN)
    )


def quote_receiving(terms: Terms, amount: Decimal) -> Quote:
    """Quote for receiving exactly `amount`."""
    net = rounded(EXACT.divide(amount, terms.rate), terms.input_currency)
    share_left = EXACT.subtract(Decimal(1), _percentage(terms))
    paid = rounded(EXACT.divide(EXACT.add(net, terms.flat_fee), share_left), terms.input_currency)
    return Quote(paid, EXACT.subtract(paid, net), rounded(amount, terms.output_currency))


def _fee_of(terms: Terms, amount: Decimal) -> Decimal:
    exact = EXACT.add(terms.flat_fee, EXACT.multiply(amount, _percentage(terms)))
    return rounded(exact, terms.input_currency)


def _percentage(terms: Terms) -> Decimal:
    return terms.percent_fee.scaleb(-2, EXACT)
