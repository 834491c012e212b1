"""Records of the service, and the reader that makes them: lenient about all fields but the required ones.

The annotation of a field says what it may hold. A value of another kind counts as missing, so that one malformed field
never hides the others. A missing field gets its default: None, an empty tuple for lists, or `GIVEN`. Without a default
the record is `Unreadable`, as after a `ValueError` of its own `__post_init__`. A list without a default is read whole
or not at all: none of its records may silently go missing.
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

# The words that the interface names for a field; a record's field may hold another one all the same.
DepositStatus = Literal["pending", "completed"]
DisbursementStatus = Literal["pending", "failed", "completed"]
PaymentStatus = Literal["pending", "processed", "completed", "failed"]
RecipientType = Literal["Individual", "Business"]
BlockchainType = Literal["EVM", "STELLAR"]
UsNetwork = Literal["ach", "wire"]

Sort = Literal["createdAt", "-createdAt", "updatedAt", "-updatedAt"]
"""Oldest first, and with a `-` newest first; the service's default is `createdAt`."""

R = TypeVar("R", bound="Record")

# The names under which a record keeps its response, and the fields that the client does not know.
RESPONSE, EXTRA = "_response", "_extra"


GIVEN: Any = msgspec.UNSET
"""The default of a field that the interface always gives, and that is therefore never None.

A record without it counts all the same: it may be the only evidence that money moved. Reading the field then raises a
`TransportFailed`.
"""


def given_as(wire_name: str) -> Any:
    """`GIVEN` for a field whose name on the wire is not the attribute's in camelCase."""
    return msgspec.field(default=GIVEN, name=wire_name)


@dataclass(frozen=True, slots=True)
class ResponseInfo:
    """The HTTP response that a record came in.

    :ivar operation: the call, as `"GET /v1/deposit/{id}"`.
    :ivar http_status: of the response; the body's `statusCode` decides about success.
    :ivar headers: its headers.
    :ivar requested_id: the id or reference that the call asked for; None where it names none.
    """

    operation: str
    http_status: int
    headers: ResponseHeaders = field(repr=False)
    requested_id: str | None


class Record(msgspec.Struct, frozen=True, dict=True, rename="camel"):
    """A record of the service. Records with equal fields are equal, whatever their `response` and `extra`."""

    if not TYPE_CHECKING:
        # A type checker would take every attribute to exist.
        def __getattribute__(self, name: str) -> Any:
            value = object.__getattribute__(self, name)
            if value is msgspec.UNSET:
                operation = self.response.operation if self.response else type(self).__name__
                raise TransportFailed(operation, f"the answer has no usable {name}")
            return value

    @property
    def response(self) -> ResponseInfo | None:
        """The call that it came from, HTTP status and headers of the response, and the id that was asked for.

        None for a record that is part of another one, that was unpickled, or that the service did not send.
        """
        return self.__dict__.get(RESPONSE)

    @property
    def extra(self) -> dict[str, Any]:
        """The fields that this client does not know, under the service's names; empty for a record that was unpickled.

        A number with a fraction is a `Decimal`. An object or array of more than 16 levels is left out.
        """
        extra: dict[str, Any] = self.__dict__.get(EXTRA, {})
        return extra

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data, under the names of its attributes.

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
    """Keep with a record what is none of its fields."""
    record.__dict__[name] = value
    return record


def if_sent(record: Record, *names: str) -> Any:
    """A field of a record, or of a record in it, by its names; None where the service left it or that record out."""
    value: Any = record
    for name in names:
        # Its own reader refuses a missing field.
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
    """Makes records of one type; built once, used for every answer."""

    def __init__(self, record: type[R]) -> None:
        self._record = record
        self._fields = {
            each.encode_name: (each.name, each.required, each.default, _reader_of(each.type, each.required))
            for each in msgspec.structs.fields(record)
        }

    def read(self, data: object) -> R:
        """The record that `data` holds.

        :raises Unreadable: `data` is not an object, or a field that the record needs is missing or of another kind.
        """
        if not isinstance(data, dict):
            raise Unreadable("the data is not an object")
        values = {}
        for wire_name, (name, required, default, read) in self._fields.items():
            sent = data.get(wire_name)
            value = None if sent is None else read(sent)
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


@cache
def _reader_of(annotation: Any, required: bool) -> _Read:
    """The function that reads values of a field.

    :param annotation: its type, such as `Decimal | None` or `tuple[Activity, ...]`.
    """
    if get_origin(annotation) in (Union, types.UnionType):
        (annotation,) = {*get_args(annotation)} - {type(None)}
    if get_origin(annotation) is tuple:
        item = get_args(annotation)[0]
        return _whole_list(reader_of(item)) if required else _usable_items(_reader_of(item, False))
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return reader_of(annotation).read_or_none
    # A test that stops time may have put a class of its own in the place of datetime.
    known = filter(_READERS.__contains__, (get_origin(annotation) or annotation).__mro__)
    return _READERS[next(known)]


def _whole_list(reader: RecordReader[Any]) -> _Read:
    return lambda value: reader.read_each(value) if isinstance(value, list) else None


def _usable_items(read: _Read) -> _Read:
    def read_usable(value: object) -> tuple[Any, ...]:
        items = value if isinstance(value, list) else ()
        return tuple(found for one in items if (found := read(one)) is not None)

    return read_usable
