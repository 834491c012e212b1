"""A second JSON parser, which keeps numbers as text, and all members of the same name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


class NotJson(Exception):
    """The text is no JSON document."""


@dataclass(frozen=True)
class Number:
    """`sign * digits * 10**exponent`, without zeros at either end of the digits; zero has none."""

    sign: int
    digits: str
    exponent: int
    #: Written without a fraction and without an exponent.
    whole: bool


@dataclass(frozen=True)
class Object:
    """An object's members in their order, including members with the same name."""

    members: tuple[tuple[str, Value], ...]

    def get(self, name: str) -> Value:
        return next((value for key, value in self.members if key == name), None)

    @property
    def ambiguous(self) -> bool:
        return len({key for key, _ in self.members}) < len(self.members)


Value = str | bool | Number | Object | list["Value"] | None


def _number(text: str) -> Number:
    """The number from its digits alone, so that nothing is rounded and no exponent needs memory."""
    mantissa, _, scale = text.lower().partition("e")
    before, _, fraction = mantissa.lstrip("-").partition(".")
    digits, exponent = before + fraction, int(scale or 0) - len(fraction)
    significant, whole = digits.strip("0"), text.lstrip("-").isdigit()
    if not significant:
        return Number(1, "", 0, whole)
    sign = -1 if text.startswith("-") else 1
    return Number(sign, significant, exponent + len(digits) - len(digits.rstrip("0")), whole)


_decoder = json.JSONDecoder(
    object_pairs_hook=lambda members: Object(tuple(members)),
    parse_float=_number,
    parse_int=_number,
    parse_constant=lambda _: None,
)


def parse(body: bytes) -> Value:
    """The one value in `body`.

    :raises NotJson: it is no UTF-8, or no JSON.
    """
    try:
        result: Any = _decoder.decode(body.decode())
    except ValueError:
        raise NotJson from None
    value: Value = result
    return value


def units(number: Number, places: int) -> int | None:
    """The number in whole smallest units of a currency with `places` decimals; None if it has more, or is huge."""
    zeros = number.exponent + places
    if not number.digits:
        return 0
    return number.sign * int(number.digits + "0" * zeros) if 0 <= zeros <= 200 else None
