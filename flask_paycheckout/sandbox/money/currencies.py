"""Currency and token codes, and how many decimals each has."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_UP, Context, Decimal
from functools import cache

from flask_paycheckout.sandbox.money.tokens import TOKENS

EXACT = Context(prec=120, rounding=ROUND_UP)
"""Decimal context in which sums and products are exact, because amounts in requests have at most 60 digits, and rates
and percentages far fewer. Only divisions are rounded, up, in the 120th digit.
"""


def rows_of(table: str) -> Iterator[list[str]]:
    """The rows of a table that is written as text: a line each, with a bar between the cells."""
    for line in table.strip().splitlines():
        yield [cell.strip() for cell in line.split("|")]


def rounded(amount: Decimal, currency: str, rounding: str = ROUND_UP) -> Decimal:
    """Round an amount to the smallest unit of its currency, with all of the currency's decimals."""
    return amount.quantize(unit_of(currency), rounding=rounding, context=EXACT)


TOKEN_DECIMALS = {token.id: token.decimal for token in TOKENS} | {"usdt-tron": 6}
"""Decimals by token id (`<symbol>-<network>`). Tron is neither EVM nor STELLAR: its token can pay deposits, but is not
used elsewhere in the service.
"""


def decimals_of(code: str) -> int | None:
    """Decimals of a fiat or token code; None when no such code exists.

    Codes without decimals in ISO 4217, such as gold and test codes, do not exist here: nobody pays in them.
    """
    return TOKEN_DECIMALS[code] if code in TOKEN_DECIMALS else _iso_decimals().get(code)


@cache
def _iso_decimals() -> dict[str, int | None]:
    # Imported here because it parses the whole ISO table, which starting a sandbox does not need.
    from iso4217 import Currency

    return {currency.code: currency.exponent for currency in Currency}


def is_token(code: str) -> bool:
    return code in TOKEN_DECIMALS


@cache
def unit_of(code: str) -> Decimal:
    """The smallest amount of a known currency: 0.01 for USD, 1 for JPY."""
    decimals = decimals_of(code)
    if decimals is None:
        raise LookupError(f"{code!r} is no currency the sandbox knows")
    return Decimal(1).scaleb(-decimals)


def is_divisible(amount: Decimal, decimals: int) -> bool:
    """Whether an amount is a whole number of units with that many decimals."""
    # Integers, because a decimal context would round long amounts first.
    numerator, denominator = amount.as_integer_ratio()
    return bool(numerator * 10**decimals % denominator == 0)
