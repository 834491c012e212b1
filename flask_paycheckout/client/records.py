"""The base of all records, the response that brought them, and the words that several of them hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from flask_paycheckout.client.errors import TransportFailed
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
        fields = msgspec.structs.asdict(self).items()
        # Most values are plain already.
        return {name: plain(value) if isinstance(value, _NOT_PLAIN) else value for name, value in fields}


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
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if value is msgspec.UNSET else value
