"""Money on the wire: exact JSON numbers out, exact `Decimal`s in, no float in between."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import msgspec

__all__ = ["as_number", "exact_number"]

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
