"""The one answer to codes of currencies and tokens that do not exist, or that an operation does not take."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from flask_paycheckout.sandbox.money.arithmetic import rounded
from flask_paycheckout.sandbox.money.currencies import decimals_of, is_divisible, is_token
from flask_paycheckout.sandbox.wire.field_types import Text
from flask_paycheckout.sandbox.wire.parsing import FieldError, optional_text
from flask_paycheckout.sandbox.world.context import assumption


class UnknownCode(FieldError):
    """A field has a code that is not one of those it takes."""

    def __init__(self, field: str) -> None:
        super().__init__(f"{field} is no currency or token code that is known here.")


def check_fiat(field: str, code: str) -> None:
    """Refuse a code that is not of a fiat currency. :raises UnknownCode: naming the field."""
    if decimals_of(code) is None or is_token(code):
        raise UnknownCode(field)


def decimals_in(field: str, code: str) -> int:
    """The decimals of a currency or token. :raises UnknownCode: naming the field."""
    decimals = decimals_of(code)
    if decimals is None:
        raise UnknownCode(field)
    return decimals


def in_units(field: str, amount: Decimal, code: str) -> Decimal:
    """An amount with its currency's decimals. One with more is refused or rounded, as `surplus_decimals` says.

    :raises FieldError: it has more, or nothing is left of it.
    """
    decimals = decimals_in(field, code)
    if assumption("surplus_decimals") == "refused" and not is_divisible(amount, decimals):
        raise FieldError(f"{field} has more than the {decimals} decimals of {code}; round it before sending it.")
    whole = rounded(amount, code, ROUND_HALF_UP)
    if whole <= 0:
        raise FieldError(f"{field} is less than half of the smallest unit of {code}.")
    return whole


@dataclass(frozen=True)
class FiatCode(Text):
    """The code of a fiat currency, in a body or as a filter."""

    maximum: int = 3

    def read(self, name: str, value: object) -> str | None:
        code = optional_text({name: value}, name)
        if code is not None:
            check_fiat(name, code)
        return code
