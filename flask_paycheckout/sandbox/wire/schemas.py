"""The base of records, which are the structs that answers consist of.

Answers are encoded from records, and the OpenAPI document describes them. Names are snake_case in code and camelCase on
the wire, unless `msgspec.field(name=...)` gives another. A field with the default None is optional: without a value it
is left out, or null, as the unknown `absent_fields` says. A field without a default is always present.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Self, TypeVar

import msgspec
from msgspec.structs import FieldInfo, fields

from flask_paycheckout.sandbox.world.context import assumption

Item = TypeVar("Item")
# Most values of an answer; found here, they need none of the slower checks.
_PLAIN = frozenset({str, int, bool, Decimal, type(None)})
Timestamp = Annotated[datetime, msgspec.Meta(tz=True)]
"""The type of times in records, which the OpenAPI document describes as `date-time`."""


class Record(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Base of all records, which repeat `frozen=True`. Amounts are `Decimal`, times `Timestamp`."""

    @classmethod
    def of(cls, *sources: object, **given: Any) -> Self:
        """The record of some objects: each field is the attribute of that name of the first one that has it.

        :param given: fields that have another value.
        """
        names = cls.__struct_fields__
        return cls(**{name: given[name] if name in given else _attribute(sources, name) for name in names})


def _attribute(sources: tuple[object, ...], name: str) -> Any:
    return getattr(next((one for one in sources[:-1] if hasattr(one, name)), sources[-1]), name)


def iso(moment: datetime) -> str:
    """Format a time as on the wire: `2026-01-01T00:00:00.000Z`."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_wire(value: Any) -> Any:
    """Convert records within a value to JSON objects."""
    if type(value) in _PLAIN:
        return value
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
    """Cached for each record, because a large batch encodes thousands."""
    return fields(record)


def _is_left_out(field: FieldInfo, value: Any) -> bool:
    return value is None and field.default is None and assumption("absent_fields") == "omitted"
