"""Records: what the service answers with, each declared once as a struct.

Answers are encoded from them, and the OpenAPI document is read off them. Names are snake_case here and camelCase on
the wire, unless `msgspec.field(name=...)` gives the wire's own. A field that defaults to None need not have a value:
the unknown `absent_fields` says whether it is then left out or null. One without a default is always there, even when
it is null.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec.structs import FieldInfo, fields

from flask_paycheckout.sandbox.world.context import assumption

Item = TypeVar("Item")
#: What a record's times are declared as, so that the document says that they are times.
Timestamp = Annotated[datetime, msgspec.Meta(tz=True)]


class Record(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Base of every record, each of which repeats `frozen=True`. Amounts are `Decimal`, times `Moment`."""


def iso(moment: datetime) -> str:
    """`2026-01-01T00:00:00.000Z`, the form timestamps have on the wire."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_wire(value: Any) -> Any:
    """A value with every record in it as the JSON object it is on the wire."""
    if isinstance(value, msgspec.Struct):
        shown = ((field, getattr(value, field.name)) for field in _fields_of(type(value)))
        return {field.encode_name: to_wire(held) for field, held in shown if not _is_left_out(field, held)}
    if isinstance(value, Mapping):
        return {name: to_wire(held) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [to_wire(held) for held in value]
    return iso(value) if isinstance(value, datetime) else value


@cache
def _fields_of(record: type[msgspec.Struct]) -> tuple[FieldInfo, ...]:
    """Found out once for each record; a large batch writes thousands."""
    return fields(record)


def _is_left_out(field: FieldInfo, value: Any) -> bool:
    return value is None and field.default is None and assumption("absent_fields") == "omitted"
