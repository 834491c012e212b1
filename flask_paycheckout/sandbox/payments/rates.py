"""Rates of tokens: a small fixed table, so that quotes can be checked by hand.

    rate of a token in a currency = price of the token in USD * units of the currency per USD

Nothing here is rounded.
"""

from __future__ import annotations

from decimal import Decimal

from flask_paycheckout.sandbox.money.arithmetic import EXACT
from flask_paycheckout.sandbox.money.tokens import Token

PRICES = {
    "usd-coin": Decimal("0.9979"),
    "tether": Decimal("0.9985"),
    "dai": Decimal("0.9992"),
    "euro-coin": Decimal("1.0815"),
    "ethereum": Decimal("2695.42"),
    "polygon-ecosystem-token": Decimal("0.4118"),
    "avalanche-2": Decimal("27.15"),
    "binancecoin": Decimal("597.3"),
    "stellar": Decimal("0.0942"),
}
"""USD per token, by its name in price lists."""

PER_DOLLAR = {
    "USD": Decimal(1),
    "EUR": Decimal("0.9217"),
    "GBP": Decimal("0.7872"),
    "IDR": Decimal(16310),
    "INR": Decimal("84.42"),
    "SGD": Decimal("1.3431"),
}
"""Units of the currency per USD."""


def rate_of(token: Token, currency: str) -> Decimal | None:
    """Units of a currency per token; None when the token cannot be exchanged for it."""
    if currency not in token.currencies:
        return None
    return EXACT.multiply(PRICES[token.price_id], PER_DOLLAR[currency])


def worth_in_dollars(token: Token, amount: Decimal) -> Decimal:
    return EXACT.multiply(amount, PRICES[token.price_id])
