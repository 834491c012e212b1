"""Onramp payments: a currency buys a token, which arrives in the wallet; `payments/quotes.py` has the other direction.

With the amount A in the currency, and the rate r in units of the currency per token:

    exchange fee   E = A * 0.5 %, rounded up;   platform fee  P = A * 0.3 %, rounded up
    received       (A - E - P) / r, rounded down to the token's unit;   exactly: with `_EXACT_PLACES` decimals
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal

from flask_paycheckout.sandbox.money.arithmetic import EXACT, rounded
from flask_paycheckout.sandbox.money.tokens import Token, find_token
from flask_paycheckout.sandbox.payments.quotes import check_exchangeable, fees_of
from flask_paycheckout.sandbox.payments.rates import PER_DOLLAR
from flask_paycheckout.sandbox.references.countries import CURRENCIES
from flask_paycheckout.sandbox.wire.codes import UnknownCode, in_units
from flask_paycheckout.sandbox.wire.envelope import unspecified_refusal
from flask_paycheckout.sandbox.world.context import assumption

# More than any token has, and so few that the largest amount can still be stored.
_EXACT_PLACES = 27


@dataclass(frozen=True)
class Purchase:
    """An amount of a currency with its fees, and what it buys of a token."""

    token: Token
    currency: str
    rate: Decimal
    amount: Decimal
    exchange_fee: Decimal
    platform_fee: Decimal

    @property
    def received_exactly(self) -> Decimal:
        net = EXACT.subtract(self.amount, EXACT.add(self.exchange_fee, self.platform_fee))
        places = Decimal(1).scaleb(-_EXACT_PLACES)
        return EXACT.divide(net, self.rate).quantize(places, rounding=ROUND_DOWN, context=EXACT)

    @property
    def received(self) -> Decimal:
        return rounded(self.received_exactly, self.token.id, ROUND_DOWN)

    @property
    def dollars(self) -> Decimal:
        return EXACT.divide(self.amount, PER_DOLLAR[self.currency])


def is_purchase(input_currency: str, output_currency: str) -> bool:
    """Whether a payment with these codes is an onramp payment, where there can be any."""
    is_onramp = input_currency in CURRENCIES and find_token(output_currency) is not None
    return is_onramp and assumption("onramp_payments") == "accepted"


def purchase(amount_field: str, amount: Decimal, currency: str, token_id: str) -> Purchase:
    """Compute what an amount of a currency buys.

    :param amount_field: the amount's name in the request, for error messages.
    :raises FieldError: the token is unknown, or the amount has more decimals than the currency.
    :raises Refusal: the currency does not buy that token, or the amount is so small that nothing would arrive.
    """
    token = find_token(token_id)
    if token is None:
        raise UnknownCode("outputCurrency")
    rate = check_exchangeable(token, currency)
    exact = in_units(amount_field, amount, currency)
    made = Purchase(token, currency, rate, exact, *fees_of(currency, exact))
    if made.received <= 0:
        raise unspecified_refusal(400, f"{amount_field} is so small that nothing of it would arrive; send more.")
    return made
