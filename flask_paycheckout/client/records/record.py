"""The base of all records: their plain data, and the response that they came in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from flask_paycheckout.client.hidden import Hidden

if TYPE_CHECKING:
    from flask_paycheckout.client.responses import ResponseInfo

__all__ = ["Record", "plain"]

_RESPONSE = "_response"


class Record(msgspec.Struct, frozen=True, dict=True):
    """A record of the service. It has no field for the response, so that records of equal fields are equal."""

    @property
    def response(self) -> ResponseInfo | None:
        """HTTP status and headers of the response that it came in, and the id that was asked for.

        None for a record that is part of another one, that was unpickled, or that the service did not send.
        """
        return self.__dict__.get(_RESPONSE)

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data, under the names of its attributes.

        Amounts are exact `Decimal`s, times aware `datetime`s in UTC, records dictionaries, and tuples lists. Secrets
        are strings as well, whose `repr` still shows a mask; JSON shows them.
        `json.dumps(record.to_dict(), default=str)` writes amounts and times as exact text.
        """
        return {name: plain(getattr(self, name)) for name in self.__struct_fields__}


def came_in(record: Record, response: ResponseInfo) -> None:
    """Keep the response that a record came in."""
    record.__dict__[_RESPONSE] = response


def plain(value: Any) -> Any:
    """A field's value as plain data."""
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def hidden(value: Any) -> Any:
    """Plain data in which `repr` shows no string and no number."""
    if isinstance(value, dict):
        return {name: hidden(item) for name, item in value.items()}
    if isinstance(value, list):
        return [hidden(item) for item in value]
    return Hidden(value) if value is not None and not isinstance(value, bool) else value
