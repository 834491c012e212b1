"""A small JSON parser that keeps numbers as they are written, and shares nothing with the product.

It reads what RFC 8259 allows and the literals NaN, Infinity and -Infinity. A number stays text: sign, digits and
exponent as whole numbers, so that nothing is ever rounded and no exponent costs memory.
"""

from __future__ import annotations

from dataclasses import dataclass


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

    @property
    def ambiguous(self) -> bool:
        """Whether a name stands there twice."""
        return len({name for name, _ in self.members}) < len(self.members)

    def get(self, wanted: str) -> Value:
        """The first member of this name; None without one."""
        return next((value for name, value in self.members if name == wanted), None)


Value = Object | list["Value"] | str | Number | bool | None

_LITERALS: dict[str, bool | None] = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": None,
    "Infinity": None,
    "-Infinity": None,
}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_DIGITS = frozenset("0123456789")


def parse(body: bytes) -> Value:
    """The one value that stands in `body`.

    :raises NotJson: it is no UTF-8, or no JSON.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise NotJson("not UTF-8") from None
    value, end = _value(text, _space(text, 0))
    if _space(text, end) != len(text):
        raise NotJson("more behind the value")
    return value


def units(number: Number, places: int) -> int | None:
    """The number in whole smallest units of a currency with so many decimals; None when it is finer, or vast."""
    zeros = number.exponent + places
    if not number.digits:
        return 0
    return number.sign * int(number.digits + "0" * zeros) if 0 <= zeros <= 200 else None


def _space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\n\r":
        at += 1
    return at


def _value(text: str, at: int) -> tuple[Value, int]:
    for literal, meaning in _LITERALS.items():
        if text.startswith(literal, at):
            return meaning, at + len(literal)
    match text[at : at + 1]:
        case "{":
            return _object(text, at + 1)
        case "[":
            return _array(text, at + 1)
        case '"':
            return _string(text, at + 1)
        case _:
            return _number(text, at)


def _object(text: str, at: int) -> tuple[Object, int]:
    members: list[tuple[str, Value]] = []
    at = _space(text, at)
    if text[at : at + 1] == "}":
        return Object(()), at + 1
    while True:
        name, at = _string(text, _after(text, at, '"'))
        value, at = _value(text, _space(text, _after(text, _space(text, at), ":")))
        members.append((name, value))
        at = _space(text, at)
        if text[at : at + 1] == "}":
            return Object(tuple(members)), at + 1
        at = _space(text, _after(text, at, ","))


def _array(text: str, at: int) -> tuple[list[Value], int]:
    items: list[Value] = []
    at = _space(text, at)
    if text[at : at + 1] == "]":
        return items, at + 1
    while True:
        item, at = _value(text, _space(text, at))
        items.append(item)
        at = _space(text, at)
        if text[at : at + 1] == "]":
            return items, at + 1
        at = _after(text, at, ",")


def _after(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise NotJson(f"no {sign} at {at}")
    return at + 1


def _string(text: str, at: int) -> tuple[str, int]:
    """A string's UTF-16 code units, put together at its end, so that an escaped pair becomes one character."""
    found: list[str] = []
    while (sign := text[at : at + 1]) != '"':
        if not sign or sign < " ":
            raise NotJson(f"a string ends, or holds a control character, at {at}")
        if sign == "\\":
            piece, at = _escape(text, at + 1)
            found.append(piece)
        else:
            found.append(sign)
            at += 1
    return "".join(found).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass"), at + 1


def _escape(text: str, at: int) -> tuple[str, int]:
    sign = text[at : at + 1]
    if sign in _ESCAPES:
        return _ESCAPES[sign], at + 1
    digits = text[at + 1 : at + 5]
    if sign != "u" or len(digits) != 4 or not set(digits) <= set("0123456789abcdefABCDEF"):
        raise NotJson(f"no escape at {at}")
    return chr(int(digits, 16)), at + 5


def _number(text: str, at: int) -> tuple[Number, int]:
    sign, at = (-1, at + 1) if text[at : at + 1] == "-" else (1, at)
    whole, at = _digits(text, at)
    if len(whole) > 1 and whole[0] == "0":
        raise NotJson(f"a number begins with zero before {at}")
    fraction, exponent, plain = "", 0, True
    if text[at : at + 1] == ".":
        fraction, at = _digits(text, at + 1)
        plain = False
    if text[at : at + 1] in ("e", "E"):
        down = text[at + 1 : at + 2] == "-"
        scale, at = _digits(text, at + 2 if text[at + 1 : at + 2] in ("+", "-") else at + 1)
        exponent = -int(scale) if down else int(scale)
        plain = False
    return _canonical(sign, whole + fraction, exponent - len(fraction), plain), at


def _digits(text: str, at: int) -> tuple[str, int]:
    end = at
    while text[end : end + 1] in _DIGITS:
        end += 1
    if end == at:
        raise NotJson(f"no digit at {at}")
    return text[at:end], end


def _canonical(sign: int, digits: str, exponent: int, whole: bool) -> Number:
    significant = digits.lstrip("0").rstrip("0")
    if not significant:
        return Number(1, "", 0, whole)
    return Number(sign, significant, exponent + len(digits) - len(digits.rstrip("0")), whole)
