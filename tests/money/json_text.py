"""JSON text as a second reader has it: numbers stay text, and members of the same name are all kept."""

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
    """An object's members in their order, those with the same name too."""

    members: tuple[tuple[str, Value], ...]

    def get(self, name: str) -> Value:
        return next((value for key, value in self.members if key == name), None)

    @property
    def ambiguous(self) -> bool:
        return len({key for key, _ in self.members}) < len(self.members)


Value = str | bool | Number | Object | list["Value"] | None


def _number(text: str) -> Number:
    """The number by its digits alone, so that nothing is rounded and no exponent costs memory."""
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
    """The one value that stands in `body`.

    :raises NotJson: it is no UTF-8, or no JSON.
    """
    try:
        found: Any = _decoder.decode(body.decode())
    except ValueError:
        raise NotJson from None
    value: Value = found
    return value


def units(number: Number, places: int) -> int | None:
    """The number in whole smallest units of a currency with so many decimals; None when it is finer, or vast."""
    zeros = number.exponent + places
    if not number.digits:
        return 0
    return number.sign * int(number.digits + "0" * zeros) if 0 <= zeros <= 200 else None
