"""The service's envelope: the content of an answer's body, none of which is trusted.

Success: `{statusCode: 2xx, message, data}`. Refusal: `{statusCode: 4xx or 5xx, error, message}`. The HTTP status is
ignored. Parsing is strict JSON in UTF-8 with three exceptions, so that one odd field cannot hide a payment: a number
too long to be money, the literals NaN and Infinity, and an object with a duplicate key are read as null.
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any, TypeGuard

JsonObject = dict[str, Any]

# More digits than any sum of money has. Without a limit, a short number such as 1E999999999 could print as megabytes.
_MAX_DIGITS = 100


class Unreadable(Exception):
    """The body is not in the service's form; the text says why."""


def _object(pairs: list[tuple[str, Any]]) -> JsonObject | None:
    read = dict(pairs)
    return read if len(read) == len(pairs) else None


def _whole_number(text: str) -> int | None:
    return int(text) if len(text) <= 100 else None


def exact_number(text: str) -> Decimal | None:
    """The exact number in a JSON text; None for a number with more than 100 digits before or after the point."""
    # Checked before parsing, which would be slow for a megabyte of digits.
    if len(text) > _MAX_DIGITS + 20:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    exponent = number.as_tuple().exponent
    bounded = isinstance(exponent, int) and exponent >= -_MAX_DIGITS and number.adjusted() < _MAX_DIGITS
    return number if bounded else None


_parse = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_float=exact_number,
    parse_int=_whole_number,
    parse_constant=lambda _: None,
).decode


def envelope_of(body: bytes) -> JsonObject:
    """The body's outermost object.

    :raises Unreadable: the body is no JSON object.
    """
    try:
        envelope = _parse(body.decode())
    except (ValueError, RecursionError):
        envelope = None
    if not isinstance(envelope, dict):
        raise Unreadable("the body is not a JSON object")
    return envelope


def status_code_of(envelope: JsonObject, status_key: str = "statusCode") -> int:
    """The status code in the body: 200 to 299 for a success, 400 to 599 for a refusal.

    A success must have it under `status_key`. A refusal always has `statusCode`, and counts under `status_key` too.

    :raises Unreadable: the body is neither envelope.
    """
    code_of_refusal, success = envelope.get("statusCode"), envelope.get(status_key)
    for code in (code_of_refusal, success):
        if _is_code(code, 400, 600):
            return code
    if not _is_code(success, 200, 300):
        raise Unreadable(f"the body has no usable {status_key}")
    return success


def _is_code(value: object, least: int, below: int) -> TypeGuard[int]:
    # A bool is an int in Python, but only 0 or 1, which are no status codes.
    return isinstance(value, int) and least <= value < below


def data_of(envelope: JsonObject) -> JsonObject | list[Any]:
    """The `data` of a success.

    :raises Unreadable: the success has no data.
    """
    data = envelope.get("data")
    if not isinstance(data, (dict, list)):
        raise Unreadable("a successful answer came without its data")
    return data


def error_text(envelope: JsonObject, key: str) -> str | None:
    """The text of a refusal under `key`, or its list of sentences, which some validators send, as one text."""
    value = envelope.get(key)
    if isinstance(value, list):
        value = "; ".join(item for item in value[:20] if isinstance(item, str))
    return value if isinstance(value, str) and value else None
