"""Quotes of payments: fees, and the amount that arrives in a bank account. All amounts of payments are computed here.

With the amount A in the token, and the rate r in units of the currency per token (see `payments/rates.py`):

    exchange fee   E = A * 0.5 %, rounded up;   platform fee  P = A * 0.3 %, rounded up;   total fee  F = E + P
    received in the token       N = A - F
    received in the currency    n = N * r, rounded down;       exactly: N * r, with every digit
    amount in the currency      a = A * r, rounded down
    fee in the currency         f = a - n

all in whole smallest units of the token (capitals) or the currency. So A == N + F and a == n + f, exactly; rounding is
below one unit and in favour of the service.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal

from flask_paycheckout.sandbox.money.arithmetic import EXACT, rounded
from flask_paycheckout.sandbox.money.tokens import Token, find_token
from flask_paycheckout.sandbox.payments.rates import rate_of
from flask_paycheckout.sandbox.references.countries import CURRENCIES
from flask_paycheckout.sandbox.wire.codes import UnknownCode, in_units
from flask_paycheckout.sandbox.wire.envelope import unspecified_refusal
from flask_paycheckout.sandbox.world.context import assumption

EXCHANGE_PERCENTAGE = Decimal("0.5")
PLATFORM_PERCENTAGE = Decimal("0.3")
TOTAL_PERCENTAGE = EXCHANGE_PERCENTAGE + PLATFORM_PERCENTAGE


@dataclass(frozen=True)
class Exchange:
    """An amount of a token with its fees and its value in a currency."""

    token: Token
    currency: str
    rate: Decimal
    amount: Decimal
    exchange_fee: Decimal
    platform_fee: Decimal

    @property
    def fee(self) -> Decimal:
        return EXACT.add(self.exchange_fee, self.platform_fee)

    @property
    def received(self) -> Decimal:
        return EXACT.subtract(self.amount, self.fee)

    @property
    def received_in_currency_exactly(self) -> Decimal:
        return EXACT.multiply(self.received, self.rate)

    @property
    def received_in_currency(self) -> Decimal:
        return rounded(self.received_in_currency_exactly, self.currency, ROUND_DOWN)

    @property
    def amount_in_currency(self) -> Decimal:
        return rounded(EXACT.multiply(self.amount, self.rate), self.currency, ROUND_DOWN)

    @property
    def fee_in_currency(self) -> Decimal:
        return EXACT.subtract(self.amount_in_currency, self.received_in_currency)


def exchange(amount_field: str, amount: Decimal, token_id: str, currency: str) -> Exchange:
    """Compute the exchange of an amount of a token for a currency.

    :param amount_field: the amount's name in the request, for error messages.
    :raises FieldError: a code is in no reference list, or the amount has more decimals than the token.
    :raises Refusal: the token is not exchanged for that currency, or the amount is so small that nothing would arrive.
    """
    token = find_token(token_id)
    if token is None:
        raise UnknownCode("inputCurrency")
    if currency not in CURRENCIES:
        raise UnknownCode("outputCurrency")
    rate = check_exchangeable(token, currency)
    exact = in_units(amount_field, amount, token.id)
    made = Exchange(token, currency, rate, exact, *fees_of(token.id, exact))
    if made.received <= 0 or made.received_in_currency <= 0:
        raise unspecified_refusal(400, f"{amount_field} is so small that nothing of it would arrive; send more.")
    return made


def check_exchangeable(token: Token, currency: str) -> Decimal:
    """The rate of a token in a currency. :raises Refusal: it is not exchanged for that currency."""
    rate = rate_of(token, currency)
    if rate is None:
        raise unspecified_refusal(
            int(assumption("conversion_refused")), f"{token.id} is exchanged for {_list(token)} only."
        )
    return rate


def fees_of(code: str, amount: Decimal) -> tuple[Decimal, Decimal]:
    """The exchange fee and the platform fee of an amount, in its token or currency."""
    exact = (EXACT.multiply(amount, share.scaleb(-2)) for share in (EXCHANGE_PERCENTAGE, PLATFORM_PERCENTAGE))
    exchange_fee, platform_fee = (rounded(fee, code) for fee in exact)
    return exchange_fee, platform_fee


def _list(token: Token) -> str:
    return ", ".join(token.currencies)
