"""Parsing of request bodies and their fields; errors name the field.

Numbers are parsed exactly, never as floats.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NoReturn

from flask import request

MAX_DIGITS = 30
"""The most digits that a number may have before and after the decimal point, since long ones cost time."""
_MAX_TEXT = 200
UNSEEN_SIGNS = "\u200c\u200d\u200e\u200f\u061c"
"""Invisible characters that names may contain: joiners, which Persian, Sinhala and Malayalam need, and direction marks.
Characters that reorder whole passages (U+202A to U+202E, U+2066 to U+2069) are not among them, because they can make
one text look like another.
"""
_UNSEEN = str.maketrans(dict.fromkeys(UNSEEN_SIGNS))
_LINES = str.maketrans(dict.fromkeys("\n\r\t"))


class FieldError(ValueError):
    """A body or one of its fields is invalid; the message begins with the field's name."""


class _NotAFiniteNumber:
    """Stands for NaN and Infinity, which every field refuses."""


def read_object(empty: dict[str, Any] | None = None) -> dict[str, Any]:
    """Parse the request's body as a JSON object; `empty` is returned for a missing body, where that is allowed."""
    if empty is not None and not request.get_data():
        return empty
    try:
        # Integers become decimals too: one type for all numbers, and no error of int() for long ones.
        body = json.loads(
            request.get_data(), parse_float=Decimal, parse_int=Decimal, parse_constant=lambda _: _NotAFiniteNumber()
        )
    except (ValueError, RecursionError):
        raise FieldError("The body must be JSON.") from None
    if not isinstance(body, dict):
        raise FieldError("The body must be a JSON object.")
    return body


def read_text(body: dict[str, Any], name: str, maximum: int = _MAX_TEXT) -> str:
    """A required, non-empty string."""
    value = optional_text(body, name, maximum)
    return _refuse(name, "is required") if value is None else value


def optional_text(
    body: dict[str, Any], name: str, maximum: int = _MAX_TEXT, *, unseen: bool = False, lines: bool = False
) -> str | None:
    """A non-empty string; None when the field is absent or null.

    :param unseen: allows `UNSEEN_SIGNS` within it.
    :param lines: allows line breaks and tabs.
    """
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > maximum or not _is_printable(value, unseen, lines):
        _refuse(name, f"must be a non-empty string of at most {maximum} printable characters")
    return value


def _is_printable(text: str, unseen: bool, lines: bool) -> bool:
    seen = text.translate(_UNSEEN) if unseen else text
    seen = seen.translate(_LINES) if lines else seen
    return bool(seen.strip()) and seen.isprintable()


def optional_amount(body: dict[str, Any], name: str) -> Decimal | None:
    """A positive number; None when the field is absent or null."""
    number = optional_number(body, name)
    if number is not None and number <= 0:
        _refuse(name, "must be a positive number")
    return number


def optional_number(body: dict[str, Any], name: str) -> Decimal | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, Decimal):
        _refuse(name, "must be a number")
    if not _is_reasonable(value):
        _refuse(name, f"must have at most {MAX_DIGITS} digits before and after the decimal point")
    return value


def optional_boolean(body: dict[str, Any], name: str) -> bool | None:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        _refuse(name, "must be true or false")
    return value


def _is_reasonable(value: Decimal) -> bool:
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -MAX_DIGITS and value.adjusted() < MAX_DIGITS


def _refuse(name: str, fault: str) -> NoReturn:
    raise FieldError(f"{name} {fault}.")
