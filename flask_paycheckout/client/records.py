"""The base of all records, the response that brought them, and the words that several of them hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeVar

import msgspec

from flask_paycheckout.client.transport import httpx

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

# The default of a field with the service's own id, where that is not the id by which the record is known.
OWN_ID: Any = msgspec.field(default=None, name="_id")

# The name under which a record keeps its response.
RESPONSE = "_response"


class ResponseHeaders(httpx.Headers):
    """Headers of a response by name, in any case; its `repr` shows the names only, since a value may be a secret."""

    def __repr__(self) -> str:
        return f"<headers {', '.join(self)}>"


@dataclass(frozen=True, slots=True)
class ResponseInfo:
    """The HTTP response that a record came in.

    :ivar http_status: of the response; the body's `statusCode` decides about success.
    :ivar headers: its headers.
    :ivar requested_id: the id or reference that the call asked for; None where it names none.
    """

    http_status: int
    headers: ResponseHeaders = field(repr=False)
    requested_id: str | None


class Record(msgspec.Struct, frozen=True, dict=True, rename="camel"):
    """A record of the service. It has no field for the response, so that records of equal fields are equal."""

    @property
    def response(self) -> ResponseInfo | None:
        """HTTP status and headers of the response that it came in, and the id that was asked for.

        None for a record that is part of another one, that was unpickled, or that the service did not send.
        """
        return self.__dict__.get(RESPONSE)

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data, under the names of its attributes.

        Amounts are exact `Decimal`s, times aware `datetime`s in UTC, records dictionaries, and tuples lists. Secrets
        are strings as well, whose `repr` still shows a mask; JSON shows them.
        `json.dumps(record.to_dict(), default=str)` writes amounts and times as exact text.
        """
        return {name: plain(getattr(self, name)) for name in self.__struct_fields__}


class Activity(Record, frozen=True):
    """One step in the history of a deposit or disbursement; seen for `status`: `pending`, `completed`."""

    activity: str | None = None
    description: str | None = None
    status: str | None = None
    updated_at: datetime | None = None


def attach(record: R, name: str, value: object) -> R:
    """Keep with a record what is none of its fields."""
    record.__dict__[name] = value
    return record


def plain(value: Any) -> Any:
    """A field's value as plain data."""
    if isinstance(value, Record):
        return value.to_dict()
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value
