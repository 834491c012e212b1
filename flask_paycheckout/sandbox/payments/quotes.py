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


# More decimals than any token has, and few enough that the largest amount can still be stored.
_EXACT_PLACES = 27
# Above every limit; sums of many such amounts in cents still fit into an integer of every database.
_MAX_DOLLARS = Decimal(10**10)


DAILY_LIMIT = 100_000
"""The most that the payments of one day (UTC) may be worth, in USD."""
EXCHANGE_PERCENTAGE = Decimal("0.5")
PLATFORM_PERCENTAGE = Decimal("0.3")
TOTAL_PERCENTAGE = EXCHANGE_PERCENTAGE + PLATFORM_PERCENTAGE


@dataclass(frozen=True)
class Exchange:
    """An amount of a token or a currency with its fees, and what it is exchanged for."""

    token: Token
    currency: str
    rate_amount: Decimal
    payment_type: str
    input_currency: str
    output_currency: str
    amount: Decimal
    exchange_fees: Decimal
    platform_fees: Decimal
    total_fee_amount: Decimal
    total_received_amount: Decimal
    """The amount less the total fee."""
    output_amount_exact: Decimal
    output_amount: Decimal
    cents: int
    """The value of the amount in US cents, rounded up, at most ten billion dollars."""


def exchanged(token: Token, currency: str, rate: Decimal, amount: Decimal, *, buys: bool = False) -> Exchange:
    """Convert an amount of a token to a currency or, if it `buys`, an amount of the currency to the token."""
    kind, paid, received = (ONRAMP, currency, token.id) if buys else (OFFRAMP, token.id, currency)
    exchange_fee, platform_fee = (
        rounded(share_of(amount, percentage), paid) for percentage in (EXCHANGE_PERCENTAGE, PLATFORM_PERCENTAGE)
    )
    fee = EXACT.add(exchange_fee, platform_fee)
    rest = EXACT.subtract(amount, fee)
    if buys:
        places = Decimal(1).scaleb(-_EXACT_PLACES)
        exact = EXACT.divide(rest, rate).quantize(places, rounding=ROUND_DOWN, context=EXACT)
        dollars = EXACT.divide(amount, PER_DOLLAR[currency])
    else:
        exact, dollars = EXACT.multiply(rest, rate), EXACT.multiply(amount, token.price)
    output = rounded(exact, received, ROUND_DOWN)
    cents = int((min(dollars, _MAX_DOLLARS) * 100).to_integral_value(rounding=ROUND_CEILING))
    of_fees = exchange_fee, platform_fee, fee, rest
    return Exchange(token, currency, rate, kind, paid, received, amount, *of_fees, exact, output, cents)


def in_currency(conversion: Exchange) -> dict[str, Decimal]:
    """The amount of a token and its fee in the currency, as fields of a quote."""
    amount = rounded(EXACT.multiply(conversion.amount, conversion.rate_amount), conversion.currency, ROUND_DOWN)
    fee = EXACT.subtract(amount, conversion.output_amount)
    return {"amount_in_currency": amount, "total_fee_amount_in_currency": fee}


def is_within_daily_limit(session: Session, user_id: str, conversion: Exchange) -> bool:
    """Whether a payment of that amount would stay within today's limit."""
    midnight = current_time().replace(hour=0, minute=0, second=0, microsecond=0)
    today = select(func.sum(Payment.cents)).where(Payment.user_id == user_id, Payment.created_at >= midnight)
    return int(session.scalar(today) or 0) + conversion.cents <= DAILY_LIMIT * 100


def exchange(
    amount_field: str, amount: Decimal, input_currency: str, output_currency: str, *, buys: bool = False
) -> Exchange:
    """Compute the exchange of an amount of a token for a currency.

    :param amount_field: the amount's name in the request, for error messages.
    :param buys: whether a currency may also buy a token.
    :raises FieldError: a code is not in the reference lists, or the amount has more decimals than the token.
    :raises Refusal: the token is not exchanged for that currency, or the amount is so small that nothing would arrive.
    """
    token_id, currency = input_currency, output_currency
    is_purchase = buys and input_currency in CURRENCIES and output_currency in TOKENS_BY_ID
    is_purchase = is_purchase and assumption("onramp_payments") == "accepted"
    if is_purchase:
        token_id, currency = output_currency, input_currency
    token = TOKENS_BY_ID.get(token_id)
    if token is None or currency not in CURRENCIES:
        raise Unusable("inputCurrency must be a token here, and outputCurrency a currency.")
    rate = rate_of(token, currency)
    if rate is None:
        only = ", ".join(token.currencies)
        raise unspecified_refusal("conversion_refused", f"{token.id} is exchanged for {only} only.")
    conversion = exchanged(token, currency, rate, in_units(amount_field, amount, input_currency), buys=is_purchase)
    if conversion.total_received_amount <= 0 or conversion.output_amount <= 0:
        raise Unusable(f"{amount_field} is so small that nothing of it would arrive; send more.")
    return conversion
