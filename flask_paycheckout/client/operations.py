"""Operations of the service: verb, path, credentials, limits and answer of each."""

from __future__ import annotations

from enum import Enum
from typing import Generic
from urllib.parse import quote

import msgspec

from flask_paycheckout.client.bodies import text
from flask_paycheckout.client.records import R

MEBIBYTE = 1024 * 1024

_MAX_ID = 500


class Access(Enum):
    """Which credentials a call carries.

    The interface lists three kinds. What it does not show is the form of two of them: how a signature is computed and
    what stands in the `Authorization` header. Both assumptions live in `signing` (`HmacSigner`, and `BearerToken` for
    `Authorization: Bearer <token>`) and nowhere else, so that the right forms, once known, replace them there.
    """

    SIGNED = "client_id and client_secret, or a signer"
    BEARER = "an access_token"
    OPEN = "none"


class Operation(msgspec.Struct, Generic[R], frozen=True):
    """One call of the service.

    :ivar method: the HTTP verb.
    :ivar path: the path below the base URL; an id's place is written as `{id}`.
    :ivar answer: the record, or kind of records, in a success's `data`.
    :ivar again: whether sending it twice does no more harm than once; by default a GET does none.
    :ivar may_move_money: when its answer is lost, the caller gets `OutcomeUnknown`.
    :ivar access: the credentials it carries.
    :ivar max_bytes: the largest answer that is read.
    :ivar status_key: where a successful body carries its status code; login and verify-login say `status`.
    :ivar accept: the media types that its answer may have.
    :ivar sample: the path in the interface's sample request, where it differs; tried where `path` is not there.
    :ivar lookup: for a call that may move money, what to do when its answer was lost; follows "before sending it
        again," in the error's text.
    """

    method: str
    path: str
    answer: type[R]
    again: bool | None = None
    may_move_money: bool = False
    access: Access = Access.SIGNED
    max_bytes: int = MEBIBYTE
    status_key: str = "statusCode"
    accept: str = "application/json"
    sample: str | None = None
    lookup: str = "look it up"

    @property
    def repeatable(self) -> bool:
        """Whether failed attempts are repeated."""
        return self.method == "GET" if self.again is None else self.again

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def segment(value: str) -> str:
    """An id as exactly one path segment, whatever it holds.

    :raises TypeError: it is not a string.
    :raises ValueError: it cannot be one segment, is longer than 500 characters, or not encodable.
    """
    text("an id", value)
    # Clients and servers drop these even when they are quoted, and would address another resource.
    if value in ("", ".", ".."):
        raise ValueError(f"{value!r} cannot be an id: it has no path of its own")
    if len(value) > _MAX_ID:
        raise ValueError(f"an id of {len(value)} characters is longer than any of the service's")
    return quote(value, safe="")
