"""Records of the service, and the reader that makes them, which is strict only about required fields.

The annotation of a field decides which values it accepts. A value of another kind counts as missing, so that one
malformed field never hides the others. A missing field gets its default: None, an empty tuple for lists, or `GIVEN`.
Without a default the record is `Unreadable`, as after a `ValueError` in its `__post_init__`. A list without a
default is read completely or not at all, because none of its records may silently be missing.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from flask_paycheckout.client.envelope import JsonObject, Unreadable
from flask_paycheckout.client.errors import TransportFailed
from flask_paycheckout.client.hidden import AccountNumber, Credentials, Hidden
from flask_paycheckout.client.transport import ResponseHeaders

# The values that the interface names for a field; a record's field may also have another value.
DepositStatus = Literal["pending", "completed"]
DisbursementStatus = Literal["pending", "failed", "completed"]
PaymentStatus = Literal["pending", "processed", "completed", "failed"]
RecipientType = Literal["Individual", "Business"]
BlockchainType = Literal["EVM", "STELLAR"]
UsNetwork = Literal["ach", "wire"]

Sort = Literal["createdAt", "-createdAt", "updatedAt", "-updatedAt"]
"""The order of a list: oldest first, or with a `-` newest first; the service's default is `createdAt`."""

R = TypeVar("R", bound="Record")

# The names under which a record keeps its response, and the fields that the client does not know.
RESPONSE, EXTRA = "_response", "_extra"


GIVEN: Any = msgspec.UNSET
"""The default of a field that the interface always has, and that is therefore never None.

A record without the field is still accepted, because it may be the only evidence that money moved. Reading the field
then raises `TransportFailed`.
"""


def given_as(wire_name: str) -> Any:
    """`GIVEN` for a field whose wire name is not the attribute's name in camelCase."""
    return msgspec.field(default=GIVEN, name=wire_name)


@dataclass(frozen=True, slots=True)
class ResponseInfo:
    """The HTTP response that contained a record.

    :ivar operation: the call, such as `"GET /v1/deposit/{id}"`.
    :ivar http_status: the HTTP status; the body's `statusCode` decides about success.
    :ivar headers: the response's headers.
    :ivar requested_id: the id or reference in the call's path; None if it has none.
    """

    operation: str
    http_status: int
    headers: ResponseHeaders = field(repr=False)
    requested_id: str | None


class Record(msgspec.Struct, frozen=True, dict=True, rename="camel"):
    """A record of the service. Records with equal fields are equal; `response` and `extra` are not compared."""

    if not TYPE_CHECKING:
        # Hidden from type checkers, which would assume that every attribute exists.
        def __getattribute__(self, name: str) -> Any:
            value = object.__getattribute__(self, name)
            if value is msgspec.UNSET:
                operation = self.response.operation if self.response else type(self).__name__
                raise TransportFailed(operation, f"the answer has no usable {name}")
            return value

    @property
    def response(self) -> ResponseInfo | None:
        """The call that returned the record, the HTTP status and headers of the response, and the requested id.

        None for a record inside another record, a record that was unpickled, or one that the service did not send.
        """
        return self.__dict__.get(RESPONSE)

    @property
    def extra(self) -> dict[str, Any]:
        """The fields that this client does not know, by the service's names; empty for a record that was unpickled.

        A number with a fraction is a `Decimal`. An object or array with more than 16 levels is left out.
        """
        extra: dict[str, Any] = self.__dict__.get(EXTRA, {})
        return extra

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data, by the names of its attributes.

        Amounts are exact `Decimal`s, times aware `datetime`s in UTC, records dictionaries, and tuples lists. Secrets
        are strings as well, whose `repr` still shows a mask; JSON shows them. A missing field is None.
        `json.dumps(record.to_dict(), default=str)` writes amounts and times as exact text.
        """
        fields: dict[str, Any] = plain(self)
        return fields


class Activity(Record, frozen=True):
    """One step in the history of a deposit or disbursement; seen for `status`: `pending`, `completed`."""

    activity: str = GIVEN
    description: str = GIVEN
    status: str = GIVEN
    updated_at: datetime = GIVEN


def attach(record: R, name: str, value: object) -> R:
    """Attach a value to a record that is none of its fields."""
    record.__dict__[name] = value
    return record


def if_sent(record: Record, *names: str) -> Any:
    """The value of a field, or of a field of an inner record, by the path of names; None if a part is missing."""
    value: Any = record
    for name in names:
        # The record's own attribute access would raise an error for a missing field.
        value = None if value in (None, msgspec.UNSET) else object.__getattribute__(value, name)
    return None if value is msgspec.UNSET else value


_NOT_PLAIN = (Record, list, tuple, msgspec.UnsetType)


def plain(value: Any) -> Any:
    """A field's value as plain data."""
    if isinstance(value, Record):
        fields = msgspec.structs.asdict(value).items()
        # Most values are plain already.
        return {name: plain(field) if isinstance(field, _NOT_PLAIN) else field for name, field in fields}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if value is msgspec.UNSET else value


_Read = Callable[[Any], Any]

_MAX_DEPTH = 16


class RecordReader(Generic[R]):
    """Makes records of one type; built once and used for every answer."""

    def __init__(self, record: type[R]) -> None:
        self._record = record
        self._fields = {
            each.encode_name: (each.name, each.required, each.default, _reader_of(each.type, each.required))
            for each in msgspec.structs.fields(record)
        }

    def read(self, data: object) -> R:
        """The record in `data`.

        :raises Unreadable: `data` is not an object, or a required field is missing or of another kind.
        """
        if not isinstance(data, dict):
            raise Unreadable("the data is not an object")
        values = {}
        for wire_name, (name, required, default, read) in self._fields.items():
            raw = data.get(wire_name)
            value = None if raw is None else read(raw)
            if value is None:
                if required:
                    raise Unreadable(f"the data has no usable {wire_name}")
                value = default
            values[name] = value
        try:
            record = self._record(**values)
        except ValueError as fault:
            raise Unreadable(str(fault)) from None
        unknown = data.keys() - self._fields.keys()
        if not unknown:
            return record
        return attach(record, EXTRA, {name: data[name] for name in unknown if _shallow(data[name], _MAX_DEPTH)})

    def read_or_none(self, data: object) -> R | None:
        """The record; None if `read` would raise an error."""
        try:
            return self.read(data)
        except Unreadable:
            return None

    def read_each(self, data: object) -> tuple[R, ...]:
        """The records of a list in which every record is required.

        :raises Unreadable: `data` is no list, or an item cannot be read; the text has its index.
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
    """A string that every database can store: without NUL and unpaired surrogates."""
    if not isinstance(value, str) or "\0" in value:
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value


def _amount(value: object) -> Decimal | None:
    """The exact value of a JSON number; None for a string, a boolean or any other value."""
    if type(value) is int:
        return Decimal(value)
    return value if isinstance(value, Decimal) else None


def _only(kind: type[Any]) -> _Read:
    """Reads values of exactly this type."""
    return lambda value: value if type(value) is kind else None


def _text_or_number(value: object) -> str | None:
    """A string, or a number that the service sends instead of a string."""
    return str(value) if type(value) is int else _text(value)


def _as(kind: type[Any], read: _Read) -> _Read:
    """Reads values, and converts them to a type whose `repr` is a mask."""

    def read_hidden(value: object) -> Any:
        content = read(value)
        return None if content is None else kind(content)

    return read_hidden


def _moment(value: object) -> datetime | None:
    """An ISO 8601 time as an aware datetime in UTC; a time without a zone is UTC."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _object(value: object) -> JsonObject | None:
    """An object whose content the interface leaves open; None if it is nested too deeply to be printed or stored."""
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


@cache
def _reader_of(annotation: Any, required: bool) -> _Read:
    """The function that reads values of a field.

    :param annotation: the field's type, such as `Decimal | None` or `tuple[Activity, ...]`.
    """
    if get_origin(annotation) in (Union, types.UnionType):
        (annotation,) = {*get_args(annotation)} - {type(None)}
    if get_origin(annotation) is tuple:
        item = get_args(annotation)[0]
        return _whole_list(reader_of(item)) if required else _usable_items(_reader_of(item, False))
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return reader_of(annotation).read_or_none
    # Search the base classes too, because a test that stops time may replace datetime by its own class.
    kinds = filter(_READERS.__contains__, (get_origin(annotation) or annotation).__mro__)
    return _READERS[next(kinds)]


def _whole_list(reader: RecordReader[Any]) -> _Read:
    return lambda value: reader.read_each(value) if isinstance(value, list) else None


def _usable_items(read: _Read) -> _Read:
    def read_usable(value: object) -> tuple[Any, ...]:
        items = value if isinstance(value, list) else ()
        return tuple(usable for item in items if (usable := read(item)) is not None)

    return read_usable
