"""Parsing of request bodies and their fields; errors name the field.

Numbers are parsed exactly, never as floats.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from flask import request

MAX_DIGITS = 30
"""The most digits that a number may have before and after the decimal point, since long ones cost time."""
UNSEEN_SIGNS = "\u200c\u200d\u200e\u200f\u061c"
"""Invisible characters that names may contain: joiners, which Persian, Sinhala and Malayalam need, and direction marks.
Characters that reorder whole passages (U+202A to U+202E, U+2066 to U+2069) are not among them, because they can make
one text look like another.
"""


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
