"""Quotes of payments: fees, and the amount that arrives in a bank account. All amounts of payments are computed here.

With the amount A in the token, and the rate r in units of the currency per token (see `rate_of`):

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
from decimal import ROUND_CEILING, ROUND_DOWN, Decimal
from typing import ClassVar

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.payments.tables import OFFRAMP, ONRAMP, Payment
from flask_paycheckout.sandbox.references.data import CURRENCIES
from flask_paycheckout.sandbox.wire.envelope import Unusable, unspecified_refusal
from flask_paycheckout.sandbox.wire.field_types import in_units
from flask_paycheckout.sandbox.world.context import assumption, current_time
from flask_paycheckout.sandbox.world.money import EXACT, TOKENS_BY_ID, Token, rounded, rows_of, share_of

PER_DOLLAR = {
    currency: Decimal(units)
    for currency, units in rows_of("""
USD | 1
EUR | 0.9217
GBP | 0.7872
IDR | 16310
INR | 84.42
SGD | 1.3431
""")
}
"""Units of the currency per USD."""


def rate_of(token: Token, currency: str) -> Decimal | None:
    """Units of a currency per token; None when the token cannot be exchanged for it."""
    if currency not in token.currencies:
        return None
    return EXACT.multiply(token.price, PER_DOLLAR[currency])


# More than any token has, and so few that the largest amount can still be stored.
_EXACT_PLACES = 27
# Ten billion dollars: above every limit, and sums of many still fit into an integer of every database.
_MAX_CENTS = 10**12


DAILY_LIMIT = 100_000
"""The most that the payments of one day (UTC) may be worth, in USD."""
EXCHANGE_PERCENTAGE = Decimal("0.5")
PLATFORM_PERCENTAGE = Decimal("0.3")
TOTAL_PERCENTAGE = EXCHANGE_PERCENTAGE + PLATFORM_PERCENTAGE


@dataclass(frozen=True)
class Exchange:
    """An amount of a token with its fees and its value in a currency. Its properties are columns of a payment."""

    token: Token
    currency: str
    rate_amount: Decimal
    amount: Decimal
    exchange_fee: Decimal
    platform_fee: Decimal

    payment_type: ClassVar = OFFRAMP

    @property
    def input_currency(self) -> str:
        return self.token.id

    @property
    def output_currency(self) -> str:
        return self.currency

    @property
    def total_fee_amount(self) -> Decimal:
        return EXACT.add(self.exchange_fee, self.platform_fee)

    @property
    def total_received_amount(self) -> Decimal:
        """The rest of the amount."""
        return EXACT.subtract(self.amount, self.total_fee_amount)

    @property
    def output_amount_exact(self) -> Decimal:
        return EXACT.multiply(self.total_received_amount, self.rate_amount)

    @property
    def output_amount(self) -> Decimal:
        return rounded(self.output_amount_exact, self.output_currency, ROUND_DOWN)

    @property
    def amount_in_currency(self) -> Decimal:
        return rounded(EXACT.multiply(self.amount, self.rate_amount), self.currency, ROUND_DOWN)

    @property
    def total_fee_amount_in_currency(self) -> Decimal:
        return EXACT.subtract(self.amount_in_currency, self.output_amount)

    @property
    def dollars(self) -> Decimal:
        return EXACT.multiply(self.amount, self.token.price)

    @property
    def cents(self) -> int:
        """Its value in US cents, rounded up, at most ten billion dollars."""
        if self.dollars >= _MAX_CENTS // 100:
            return _MAX_CENTS
        return int((self.dollars * 100).to_integral_value(rounding=ROUND_CEILING))


class Purchase(Exchange):
    """An amount of a currency with its fees, and what it buys of a token."""

    payment_type = ONRAMP

    @property
    def input_currency(self) -> str:
        return self.currency

    @property
    def output_currency(self) -> str:
        return self.token.id

    @property
    def output_amount_exact(self) -> Decimal:
        places = Decimal(1).scaleb(-_EXACT_PLACES)
        return EXACT.divide(self.total_received_amount, self.rate_amount).quantize(
            places, rounding=ROUND_DOWN, context=EXACT
        )

    @property
    def dollars(self) -> Decimal:
        return EXACT.divide(self.amount, PER_DOLLAR[self.currency])


def is_within_daily_limit(session: Session, user_id: str, made: Exchange) -> bool:
    """Whether a payment of that amount would stay within today's limit."""
    midnight = current_time().replace(hour=0, minute=0, second=0, microsecond=0)
    today = select(func.sum(Payment.cents)).where(Payment.user_id == user_id, Payment.created_at >= midnight)
    return int(session.scalar(today) or 0) + made.cents <= DAILY_LIMIT * 100


def exchange(
    amount_field: str, amount: Decimal, input_currency: str, output_currency: str, *, buys: bool = False
) -> Exchange:
    """Compute the exchange of an amount of a token for a currency.

    :param amount_field: the amount's name in the request, for error messages.
    :param buys: whether it may be the other way round, and a currency buy a token.
    :raises FieldError: a code is in no reference list, or the amount has more decimals than the token.
    :raises Refusal: the token is not exchanged for that currency, or the amount is so small that nothing would arrive.
    """
    kind, token_id, currency = Exchange, input_currency, output_currency
    is_purchase = input_currency in CURRENCIES and output_currency in TOKENS_BY_ID
    if buys and is_purchase and assumption("onramp_payments") == "accepted":
        kind, token_id, currency = Purchase, output_currency, input_currency
    token = TOKENS_BY_ID.get(token_id)
    if token is None or currency not in CURRENCIES:
        raise Unusable("inputCurrency must be a token here, and outputCurrency a currency.")
    rate = rate_of(token, currency)
    if rate is None:
        only = ", ".join(token.currencies)
        raise unspecified_refusal("conversion_refused", f"{token.id} is exchanged for {only} only.")
    exact = in_units(amount_field, amount, input_currency)
    made = kind(token, currency, rate, exact, *fees_of(input_currency, exact))
    if made.total_received_amount <= 0 or made.output_amount <= 0:
        raise Unusable(f"{amount_field} is so small that nothing of it would arrive; send more.")
    return made


def fees_of(code: str, amount: Decimal) -> tuple[Decimal, Decimal]:
    """The exchange fee and the platform fee of an amount, in its token or currency."""
    exact = (share_of(amount, percentage) for percentage in (EXCHANGE_PERCENTAGE, PLATFORM_PERCENTAGE))
    exchange_fee, platform_fee = (rounded(fee, code) for fee in exact)
    return exchange_fee, platform_fee
