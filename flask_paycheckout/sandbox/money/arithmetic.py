"""Exact arithmetic with amounts."""

from __future__ import annotations

from decimal import ROUND_UP, Context, Decimal

from flask_paycheckout.sandbox.money.currencies import unit_of

EXACT = Context(prec=120, rounding=ROUND_UP)
"""Decimal context in which sums and products are exact, because amounts in requests have at most 60 digits, and rates
and percentages far fewer. Only divisions are rounded, up, in the 120th digit.
"""


def rounded(amount: Decimal, currency: str, rounding: str = ROUND_UP) -> Decimal:
    """Round an amount to the smallest unit of its currency, with all of the currency's decimals."""
    return amount.quantize(unit_of(currency), rounding=rounding, context=EXACT)
