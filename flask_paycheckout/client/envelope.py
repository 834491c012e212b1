"""The service's envelope: what an answer's body says, without trusting any of it.

Success: `{statusCode: 2xx, message, data}`. Refusal: `{statusCode: 4xx or 5xx, error, message}`. The HTTP status has
no say. Parsing is strict JSON in UTF-8 with three exceptions, so that one odd field cannot hide a payment: a number too
long to be money, the literals NaN and Infinity, and an object that names a key twice read as null.
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any, TypeGuard

JsonObject = dict[str, Any]

# More digits than any sum of money; beyond, a few bytes such as 1E999999999 could become megabytes when printed.
_MAX_DIGITS = 100


class Unreadable(Exception):
    """The body is not what the service would send; the text says why."""


def _object(pairs: list[tuple[str, Any]]) -> JsonObject | None:
    read = dict(pairs)
    return read if len(read) == len(pairs) else None


def _whole_number(text: str) -> int | None:
    return int(text) if len(text) <= 100 else None


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
    """The status code that the body itself gives: 200 to 299 of a success, 400 to 599 of a refusal.

    Success must be said under `status_key`. A refusal always says `statusCode`, and counts under `status_key` too.

    :raises Unreadable: the body is neither envelope.
    """
    said, success = envelope.get("statusCode"), envelope.get(status_key)
    for code in (said, success):
        if _is_code(code, 400, 600):
            return code
    if not _is_code(success, 200, 300):
        raise Unreadable(f"the body has no usable {status_key}")
    return success


def _is_code(value: object, least: int, below: int) -> TypeGuard[int]:
    # A bool is an int in Python, but 0 or 1: no status code either.
    return isinstance(value, int) and least <= value < below


def data_of(envelope: JsonObject) -> JsonObject | list[Any]:
    """The `data` of a success.

    :raises Unreadable: there is none.
    """
    data = envelope.get("data")
    if not isinstance(data, (dict, list)):
        raise Unreadable("a successful answer came without its data")
    return data


def error_text(envelope: JsonObject, key: str) -> str | None:
    """The text of a refusal under `key`; some validators send a list of sentences."""
    value = envelope.get(key)
    if isinstance(value, list):
        value = "; ".join(item for item in value[:20] if isinstance(item, str))
    return value if isinstance(value, str) and value else None
