"""Exact arithmetic with amounts."""

from __future__ import annotations

from decimal import ROUND_UP, Context, Decimal

from flask_paycheckout.sandbox.money.currencies import unit_of

#: Decimal context in which sums and products of amounts are exact: the amounts that requests may hold have at most
#: 60 digits, rates and percentages far fewer. Only a division can be rounded, in the last digit and upwards.
EXACT = Context(prec=120, rounding=ROUND_UP)


def rounded(amount: Decimal, currency: str, rounding: str = ROUND_UP) -> Decimal:
    """The amount in whole units of its currency, written with all of that currency's decimals."""
    return amount.quantize(unit_of(currency), rounding=rounding, context=EXACT)
