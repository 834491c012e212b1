"""The envelope of answers, of success and of error, their records, and the parsing of bodies; all numbers are exact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from http.client import responses
from typing import Annotated, Any, Self

import msgspec
from flask import Response, request
from msgspec.structs import FieldInfo, fields

from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.exact_json import read_json

# The types of most values of an answer, which need none of the slower checks.
_PLAIN = frozenset({str, int, bool, Decimal, type(None)})
Timestamp = Annotated[datetime, msgspec.Meta(tz=True)]
"""The type of times in records, which the OpenAPI document describes as `date-time`."""


Url = Annotated[str, msgspec.Meta(extra_json_schema={"format": "uri"})]


def when(switch: str, value: str) -> msgspec.Meta:
    """An alternative that the OpenAPI document has if a switch has this value."""
    return msgspec.Meta(extra_json_schema={"x-when": [switch, value]})


def instead(switch: str, value: str, **schema: Any) -> dict[str, Any]:
    """A part of a JSON Schema: the schema that replaces it in the OpenAPI document if a switch has this value."""
    return {"x-instead": [switch, value, schema]}


def words_unless(switch: str, value: str, *words: str) -> msgspec.Meta:
    """A text that is one of these words, unless a switch has this value."""
    return msgspec.Meta(extra_json_schema={"enum": list(words)} | instead(switch, value, type="string"))


class Record(msgspec.Struct, rename="camel"):
    """Base of all records. Amounts are `Decimal`, times `Timestamp`."""

    @classmethod
    def of(cls, *sources: object, **values: Any) -> Self:
        """Make a record from some objects: each field is the attribute of that name of the first object that has it.

        :param values: the fields with another value.
        """
        names = cls.__struct_fields__
        return cls(**{name: values[name] if name in values else _attribute(sources, name) for name in names})

    @classmethod
    def of_all(cls, sources: Iterable[object]) -> list[Self]:
        """The record of each object."""
        return [cls.of(source) for source in sources]


def _attribute(sources: tuple[object, ...], name: str) -> Any:
    return getattr(next((source for source in sources[:-1] if hasattr(source, name)), sources[-1]), name)


def iso(moment: datetime) -> str:
    """Format a time as on the wire: `2026-01-01T00:00:00.000Z`."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_wire(value: Any) -> Any:
    """Convert records within a value to JSON objects."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, msgspec.Struct):
        values = ((field, getattr(value, field.name)) for field in _fields_of(type(value)))
        return {field.encode_name: to_wire(inner) for field, inner in values if not _is_left_out(field, inner)}
    if isinstance(value, Mapping):
        return {name: to_wire(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_wire(inner) for inner in value]
    return iso(value) if isinstance(value, datetime) else value


@cache
def _fields_of(record: type[msgspec.Struct]) -> tuple[FieldInfo, ...]:
    """Cached for each record, because a large batch encodes thousands."""
    return fields(record)


def _is_left_out(field: FieldInfo, value: Any) -> bool:
    return value is None and field.default is None and assumption("absent_fields") == "omitted"


MAX_DIGITS = 30
"""The most digits that a number may have before the decimal point, since long ones cost time."""
MAX_DECIMALS = 400
"""The most digits after the decimal point: more than any number has in common formats."""


class FieldError(ValueError):
    """A body or one of its fields is invalid; the message begins with the field's name."""

    switch = "field_error"
    """The unknown that says how it is refused."""


class Unusable(FieldError):
    """A field has a valid value, which cannot be used in the present state or together with another field."""

    switch = "unusable_error"


def read_object(empty: dict[str, Any] | None = None) -> dict[str, Any]:
    """Parse the request's body as a JSON object; `empty` is returned for a missing body, where that is allowed."""
    if empty is not None and not request.get_data():
        return empty
    try:
        body = read_json(request.get_data())
    except ValueError:
        raise FieldError("body must be JSON.") from None
    if not isinstance(body, dict):
        raise FieldError("body must be a JSON object.")
    return body


# Decimals become JSON numbers with all of their digits; floats would round them.
_encoder = msgspec.json.Encoder(decimal_format="number")


class Refusal(Exception):
    """A refusal of the service, which becomes the error envelope."""

    def __init__(self, status_code: int, message: str, error: str | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.message = message
        self.error = error or responses.get(status_code, "Error")


def unspecified_refusal(status_code: int | str, message: str) -> Refusal:
    """A refusal whose message the interface does not show; the unknown `unspecified_messages` can empty ours.

    :param status_code: the code, or the unknown whose value it is.
    """
    code = int(assumption(status_code)) if isinstance(status_code, str) else status_code
    return Refusal(code, message if assumption("unspecified_messages") == "worded" else "")


def encode(value: Any) -> bytes:
    return _encoder.encode(to_wire(value))


def success(data: Any, message: str, code: int = 200, code_field: str = "statusCode") -> Response:
    """The success envelope; without data when it is None."""
    return _answer({code_field: code, "message": message} | ({} if data is None else {"data": data}), code)


def failure(refusal: Refusal) -> Response:
    body = {"statusCode": refusal.status_code, "error": refusal.error, "message": refusal.message}
    return _answer(body, refusal.status_code)


def _answer(body: dict[str, Any], status_code: int) -> Response:
    return answer(body, 200 if assumption("http_status") == "always_200" else status_code)


def answer(body: dict[str, Any] | list[dict[str, Any]], status: int = 200) -> Response:
    return Response(encode(body), status, content_type="application/json")
