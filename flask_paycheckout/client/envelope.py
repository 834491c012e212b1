"""The service's envelope: what an answer's body says, without trusting any of it.

Success: `{statusCode: 2xx, message, data}`. Refusal: `{statusCode: 4xx or 5xx, error, message}`. The HTTP status has
no say. Parsing is strict JSON in UTF-8 with two mercies, so that one odd field cannot hide a payment: a number too
long to be money and the literals NaN and Infinity read as null.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from flask_paycheckout.client.amounts import exact_number
from flask_paycheckout.client.errors import refusal_for
from flask_paycheckout.client.hidden import hide

__all__ = ["Ambiguous", "JsonObject", "Unreadable", "checked", "data_of"]

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


def data_of(
    operation: str,
    body: bytes,
    retry_after: float | None = None,
    *,
    status_key: str = "statusCode",
    secrets: Iterable[str] = (),
) -> JsonObject | list[Any]:
    """The `data` of a successful answer.

    :param status_key: where success carries its code; see `checked`.
    :param secrets: what is masked in the words of a refusal.
    :raises RequestRefused: the body is the error envelope.
    :raises Unreadable: the body is neither envelope.
    """
    return _unambiguous_data(checked(operation, body, retry_after, status_key=status_key, secrets=secrets))


def checked(
    operation: str,
    body: bytes,
    retry_after: float | None = None,
    *,
    status_key: str = "statusCode",
    secrets: Iterable[str] = (),
) -> JsonObject:
    """The envelope of an answer that says success, with or without `data`.

    Success must be said under `status_key`. A refusal always says `statusCode`, and counts under `status_key` too.

    :raises RequestRefused: the body is the error envelope.
    :raises Unreadable: the body is neither envelope.
    """
    envelope = _envelope(body)
    codes = [envelope.get(key) for key in dict.fromkeys(("statusCode", status_key))]
    refused = next((code for code in codes if _is_code(code, 400, 600)), None)
    if refused is not None:
        error, message = (_words(envelope.get(key), secrets) for key in ("error", "message"))
        raise refusal_for(refused)(operation, refused, error, message, retry_after)
    if not _is_code(codes[-1], 200, 300):
        raise Unreadable(f"the body has no usable {status_key}")
    return envelope


def _is_code(value: object, least: int, below: int) -> bool:
    # A bool is an int in Python, but 0 or 1: no status code either.
    return isinstance(value, int) and least <= value < below


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


def _words(value: object, secrets: Iterable[str]) -> str | None:
    """An error's text, with a mask over what was secret in the request; some validators send a list of sentences."""
    if isinstance(value, list):
        value = "; ".join(item for item in value[:20] if isinstance(item, str))
    return hide(value, secrets) if isinstance(value, str) and value else None
