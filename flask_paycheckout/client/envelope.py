"""The service's envelope: what an answer's body says, without trusting any of it.

Success: `{statusCode: 2xx, message, data}`. Refusal: `{statusCode: 4xx or 5xx, error, message}`. The HTTP status has
no say. Parsing is strict JSON in UTF-8 with two mercies, so that one odd field cannot hide a payment: a number too
long to be money and the literals NaN and Infinity read as null.
"""

from __future__ import annotations

import json
from typing import Any

from flask_paycheckout.client.amounts import exact_number
from flask_paycheckout.client.errors import refusal_for

__all__ = ["Ambiguous", "JsonObject", "Unreadable", "data_of"]

JsonObject = dict[str, Any]


class Unreadable(Exception):
    """The body is not what the service would send; the text says why."""


class Ambiguous(JsonObject):
    """A JSON object that names a key twice: which value holds is anyone's guess."""


def _object(pairs: list[tuple[str, Any]]) -> JsonObject:
    read = dict(pairs)
    return read if len(read) == len(pairs) else Ambiguous(read)


def _whole_number(text: str) -> int | None:
    return int(text) if len(text) <= 100 else None


_parse = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_float=exact_number,
    parse_int=_whole_number,
    parse_constant=lambda _: None,
).decode


def data_of(operation: str, body: bytes, retry_after: float | None = None) -> JsonObject | list[Any]:
    """The `data` of a successful answer.

    :raises RequestRefused: the body is the error envelope.
    :raises Unreadable: the body is neither envelope.
    """
    envelope = _envelope(body)
    status_code = envelope.get("statusCode")
    # A bool is an int here, but 0 or 1: no status code either.
    if not isinstance(status_code, int) or not (200 <= status_code < 300 or 400 <= status_code < 600):
        raise Unreadable("the body has no usable statusCode")
    if status_code >= 400:
        error, message = _words(envelope.get("error")), _words(envelope.get("message"))
        raise refusal_for(status_code)(operation, status_code, error, message, retry_after)
    return _unambiguous_data(envelope)


def _envelope(body: bytes) -> JsonObject:
    """The body's outermost object."""
    try:
        envelope = _parse(body.decode())
    except (ValueError, RecursionError):
        envelope = None
    if not isinstance(envelope, dict):
        raise Unreadable("the body is not a JSON object")
    if isinstance(envelope, Ambiguous):
        raise Unreadable("the body names a key twice")
    return envelope


def _unambiguous_data(envelope: JsonObject) -> JsonObject | list[Any]:
    data = envelope.get("data")
    if not isinstance(data, (dict, list)):
        raise Unreadable("a successful answer came without its data")
    if isinstance(data, Ambiguous):
        raise Unreadable("the data names a key twice")
    return data


def _words(value: object) -> str | None:
    """An error's text; some validators send a list of sentences."""
    if isinstance(value, list):
        value = "; ".join(item for item in value[:20] if isinstance(item, str))
    return value if isinstance(value, str) and value else None
