"""Money on the wire: exact JSON numbers out, exact `Decimal`s in, no float in between."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import msgspec

from flask_paycheckout.totals import decimals_of, exact_decimal

Amount = Decimal | int | str
"""Types that callers may give as money; never a float."""

# More digits than any sum of money; beyond, a few bytes such as 1E999999999 could become megabytes when printed.
_MAX_DIGITS = 100


def as_number(amount: Decimal) -> msgspec.Raw:
    """`amount` as a plain JSON number, every digit kept: Decimal('1E+2') is sent as 100."""
    return msgspec.Raw(f"{amount:f}".encode())


def exact_number(text: str) -> Decimal | None:
    """The number that stands in a JSON text, exactly; None for one with more than 100 digits on either side."""
    # Before parsing: a megabyte of digits is not worth the work.
    if len(text) > _MAX_DIGITS + 20:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    exponent = number.as_tuple().exponent
    bounded = isinstance(exponent, int) and exponent >= -_MAX_DIGITS and number.adjusted() < _MAX_DIGITS
    return number if bounded else None


def exact_amount(name: str, amount: Amount, currency: str | None = None, *, zero: bool = False) -> Decimal:
    """The amount of the argument `name`, exactly as given.

    The decimals of a currency that ISO 4217 knows are held; of another one only the service knows them.

    :param zero: whether zero will do.
    :raises TypeError: the amount is a float or another type.
    :raises ValueError: not a number, not finite, not positive, or more decimals than the currency has.
    """
    exact = exact_decimal(name, amount, currency, None if currency is None else _places(currency))
    if exact == 0 and not zero:
        raise ValueError(f"{name} {str(amount)[:40]} is not positive")
    return exact


def whole_amount(name: str, amount: Amount) -> Decimal:
    """The amount of the argument `name` where the service takes an integer only; see `exact_amount`.

    :raises ValueError: also when there is a fraction.
    """
    exact = exact_amount(name, amount)
    if exact != exact.to_integral_value():
        raise ValueError(f"{name} must be a whole number, not {exact}: the service takes an integer here")
    return exact.to_integral_value()


def _places(currency: str) -> int | None:
    """The decimals of an ISO 4217 currency; None for every other code, which the service judges."""
    try:
        return decimals_of(currency)
    except ValueError:
        return None
