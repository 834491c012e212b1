"""Reads records out of parsed JSON: lenient about each field, strict about those that a record cannot be without.

What a field may hold follows from its annotation. A value of another kind reads as None, or as an empty tuple for
lists, so that one malformed field never hides the others. A required field of another kind makes the whole record
`Unreadable`, and so does a `ValueError` of the record's own `__post_init__`. A required list is read whole or not at
all: none of its records may silently go missing.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any, Generic, TypeVar, Union, get_args, get_origin

import msgspec

from flask_paycheckout.client.envelope import JsonObject, Unreadable
from flask_paycheckout.client.hidden import AccountNumber, Credentials, Hidden

R = TypeVar("R", bound=msgspec.Struct)
_Read = Callable[[Any], Any]

_MAX_DEPTH = 16


class RecordReader(Generic[R]):
    """Makes records of one type; built once, used for every answer."""

    def __init__(self, record: type[R]) -> None:
        self._record = record
        self._fields = tuple(
            (field.encode_name, field.name, read, read(None), field.required)
            for field in msgspec.structs.fields(record)
            for read in (_reader_of(field.type, field.required),)
        )

    def read(self, data: object) -> R:
        """The record that `data` holds.

        :raises Unreadable: `data` is not an object, or a required field is missing or of another kind.
        """
        if not isinstance(data, dict):
            raise Unreadable("the data is not an object")
        values = {}
        for wire_name, name, read, absent, required in self._fields:
            sent = data.get(wire_name)
            value = absent if sent is None else read(sent)
            if required and value is None:
                raise Unreadable(f"the data has no usable {wire_name}")
            values[name] = value
        try:
            return self._record(**values)
        except ValueError as fault:
            raise Unreadable(str(fault)) from None

    def read_or_none(self, data: object) -> R | None:
        """The record, or None where `read` would raise."""
        try:
            return self.read(data)
        except Unreadable:
            return None

    def read_each(self, data: object) -> tuple[R, ...]:
        """The records of a list in which each one counts.

        :raises Unreadable: `data` is no list, or an item is none of these records; the text names its place.
        """
        if not isinstance(data, list):
            raise Unreadable("the data has no list where one belongs")
        records = []
        for index, item in enumerate(data):
            try:
                records.append(self.read(item))
            except Unreadable as unreadable:
                raise Unreadable(f"item {index} of the list: {unreadable}") from None
        return tuple(records)


reader_of = cache(RecordReader)


def _text(value: object) -> str | None:
    """A string that any database stores: no NUL, no half of a surrogate pair."""
    if not isinstance(value, str) or "\0" in value:
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value


def _amount(value: object) -> Decimal | None:
    """A JSON number, exactly; never a string, a boolean or anything else that looks like money."""
    if type(value) is int:
        return Decimal(value)
    return value if isinstance(value, Decimal) else None


def _only(kind: type[Any]) -> _Read:
    """Reads values of exactly this type."""
    return lambda value: value if type(value) is kind else None


def _text_or_number(value: object) -> str | None:
    """A string, or the number that the service sends in its place."""
    return str(value) if type(value) is int else _text(value)


def _as(kind: type[Any], read: _Read) -> _Read:
    """Reads values, and makes them of a kind whose `repr` shows nothing."""

    def read_hidden(value: object) -> Any:
        found = read(value)
        return None if found is None else kind(found)

    return read_hidden


def _moment(value: object) -> datetime | None:
    """An ISO 8601 time as an aware datetime in UTC; the service's times are UTC when they do not say."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _object(value: object) -> JsonObject | None:
    """An object whose content the interface leaves open; None when it is too deep to be printed or stored."""
    return value if isinstance(value, dict) and _shallow(value, _MAX_DEPTH) else None


def _shallow(value: object, depth: int) -> bool:
    if not isinstance(value, (dict, list)):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return depth > 0 and all(_shallow(item, depth - 1) for item in inner)


_READERS: dict[Any, _Read] = {
    str: _text,
    int: _only(int),
    bool: _only(bool),
    Decimal: _amount,
    datetime: _moment,
    dict: _object,
    Hidden: _as(Hidden, _text),
    AccountNumber: _as(AccountNumber, _text_or_number),
    Credentials: _as(Credentials, _object),
}


def _reader_of(annotation: Any, required: bool) -> _Read:
    """The function that reads values for an annotation such as `Decimal | None` or `tuple[Activity, ...]`."""
    if get_origin(annotation) in (Union, types.UnionType):
        (annotation,) = [kind for kind in get_args(annotation) if kind is not type(None)]
    if get_origin(annotation) is tuple:
        return _list_reader_of(get_args(annotation)[0], required)
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return reader_of(annotation).read_or_none
    # A test that stops time may have put a class of its own in the place of datetime.
    return next(_READERS[base] for base in (get_origin(annotation) or annotation).__mro__ if base in _READERS)


def _list_reader_of(item: Any, required: bool) -> _Read:
    if required:
        read_each = reader_of(item).read_each
        return lambda value: read_each(value) if isinstance(value, list) else None
    read = _reader_of(item, required)

    def read_usable(value: object) -> tuple[Any, ...]:
        items = value if isinstance(value, list) else ()
        return tuple(found for one in items if (found := read(one)) is not None)

    return read_usable
