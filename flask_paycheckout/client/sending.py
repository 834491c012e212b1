"""The signed requests for the attempts of a call, below one base URL."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic
from urllib.parse import quote

import msgspec

from flask_paycheckout.client.bodies import text
from flask_paycheckout.client.envelope import JsonObject
from flask_paycheckout.client.errors import OutcomeUnknown, PaymentsError, TransportFailed, Unauthorized
from flask_paycheckout.client.hidden import Hidden, Sealed, hidden_in
from flask_paycheckout.client.records import R
from flask_paycheckout.client.signing import Signer, UnusableHeaders, header_value, signed_headers
from flask_paycheckout.client.transport import LIMITS, Limits, httpx

SECRETS = "flask_paycheckout.secrets"
"""The request extension with the secrets of the request: in the body, and in the headers that a signer added."""

PATH = r"(/(?!\.{0,2}(/|$))[A-Za-z0-9._~!$&'()*+,;=:@%-]+)"
"""A segment of a path in the form in which it is sent."""

_ADDRESS = re.compile(rf"(?i:https?)://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?{PATH}*")

# The headers of a signature that contain no secret: the client id and the time.
_HARMLESS = {"x-client-id", "x-timestamp"}

MEBIBYTE = 1024 * 1024

_MAX_ID = 500


class Access(Enum):
    """The kind of a call's credentials.

    The interface lists three kinds, but does not show the form of two: the formula of a signature, and the value of the
    `Authorization` header. Both assumptions are only in `signing` (`HmacSigner`, and `BearerToken` for `Authorization:
    Bearer <token>`), so that the right forms, once known, replace them there.
    """

    SIGNED = "client_id and client_secret, or a signer"
    BEARER = "an access_token"
    OPEN = "none"


class Operation(msgspec.Struct, Generic[R], frozen=True):
    """One call of the service.

    :ivar method: the HTTP verb.
    :ivar path: the path below the base URL, with `{id}` for an id.
    :ivar answer: the type of the record, or records, in a success's `data`.
    :ivar again: whether the call is idempotent, so that it may be retried; by default only a GET is.
    :ivar may_move_money: whether the caller gets `OutcomeUnknown` if the answer is lost.
    :ivar access: the credentials of the call.
    :ivar max_bytes: the maximum size of its answer.
    :ivar status_key: the key of the status code in a successful body; login and verify-login have `status`.
    :ivar accept: the media types that its answer may have.
    :ivar sample: the path in the interface's sample request, if it differs; tried if the service does not know `path`.
    :ivar lookup: the advice for a lost answer of a call that may move money; follows "before sending it again," in the
        error's text.
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
        """Whether failed attempts are retried."""
        return self.method == "GET" if self.again is None else self.again

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def segment(value: str) -> str:
    """An id, quoted as exactly one path segment.

    :raises TypeError: the id is not a string.
    :raises ValueError: the id cannot be a segment, is longer than 500 characters, or not encodable.
    """
    text("an id", value)
    # Clients and servers remove these segments even if they are quoted, and would address another resource.
    if value in ("", ".", ".."):
        raise ValueError(f"{value!r} cannot be an id: it has no path of its own")
    if len(value) > _MAX_ID:
        raise ValueError(f"an id of {len(value)} characters is longer than any of the service's")
    return quote(value, safe="")


def _plain(value: object) -> str:
    """A string of a subclass, such as a hidden string, as a plain string."""
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is no JSON")
    return str.__str__(value)


_encode = msgspec.json.Encoder(enc_hook=_plain, decimal_format="number").encode


@dataclass(frozen=True, repr=False)
class Call:
    """One call of an operation, which each of its attempts sends.

    :ivar requested_id: the id in the path.
    :ivar query: the query string with its question mark, from `bodies.Fields.query`.
    :ivar body: the JSON object to send; its amounts are from `bodies.as_number`.
    :ivar references: the references by which a lost call can be looked up.
    """

    operation: Operation[Any]
    requested_id: str | None = None
    query: str = ""
    body: JsonObject | None = None
    references: tuple[str, ...] = ()

    @cached_property
    def name(self) -> str:
        """The operation's name in results and errors."""
        return str(self.operation)

    @cached_property
    def path(self) -> str:
        """The path below the base URL, without the query.

        :raises TypeError: the id is not a string.
        :raises ValueError: the id cannot be a path segment.
        """
        path = self.operation.path
        return path if self.requested_id is None else path.replace("{id}", segment(self.requested_id))

    def in_other_form(self) -> Call:
        """The call in the form of the interface's sample request."""
        operation = self.operation
        return replace(self, operation=msgspec.structs.replace(operation, path=operation.sample, sample=None))

    def failed(self, why: str, request_sent: bool = True) -> TransportFailed:
        """The error of an attempt without a usable answer."""
        kind = OutcomeUnknown if self.operation.may_move_money and request_sent else TransportFailed
        return kind(self.name, why, request_sent=request_sent)

    def complete(self, failure: PaymentsError) -> None:
        """Add the facts of the call to an attempt's error."""
        operation = self.operation
        failure.requested_id = self.requested_id
        if failure.carried_out == "unknown":
            failure.retryable |= operation.repeatable
            if operation.may_move_money:
                failure.references, failure.lookup = self.references, operation.lookup
        if operation.access is Access.OPEN and isinstance(failure, Unauthorized):
            # The call itself contained the credentials, so a retry cannot succeed.
            failure.retryable = False


@dataclass(frozen=True, repr=False)
class Sender:
    """An account of the service at one base URL, which signs the requests that it sends.

    :ivar base_url: the service's checked address; its path, if any, precedes every call's path and is signed with it.
    :ivar client_id: the client id of signed calls.
    :ivar signers: the signer for each kind of access.
    :ivar user_agent: the header of every request.
    """

    base_url: str
    client_id: str | None
    signers: Mapping[Access, Signer]
    user_agent: str

    def request(self, call: Call, left: float, wall: float) -> httpx.Request:
        """The request of one attempt.

        :param left: the seconds until the attempt's deadline.
        :param wall: Unix time in seconds, for the signature.
        :raises ValueError: the client has no credentials for this call.
        :raises TransportFailed: the signer failed.
        """
        operation, secrets, content = call.operation, set[Hidden](), Sealed()
        if call.body is not None:
            secrets, content = set(hidden_in(call.body)), Sealed(_encode(call.body))
        try:
            url = _url(self.base_url + call.path + call.query)
        except httpx.InvalidURL:
            raise ValueError(f"{operation}: its address becomes too long; shorten the id or the filters") from None
        headers = {"Accept": operation.accept, "Accept-Encoding": "identity", "User-Agent": self.user_agent}
        if content:
            headers["Content-Type"] = "application/json"
        if operation.access is not Access.OPEN:
            if (signer := self.signers.get(operation.access)) is None:
                raise ValueError(f"{operation} needs {operation.access.value}: give them to the PaymentsClient")
            # Sign the target in the form in which it is sent.
            signed = self._signed(call, signer, url.raw_path.decode("ascii"), content, int(wall))
            headers |= signed
            for name, value in signed.items():
                if name.lower() not in _HARMLESS:
                    # In `Bearer <token>`, the token alone is a secret too.
                    secrets.update((Hidden(value), Hidden(value.rpartition(" ")[2])))
        limits = Limits(time.monotonic() + left, operation.max_bytes, operation.repeatable)
        extensions = {LIMITS: limits, SECRETS: secrets, "timeout": httpx.Timeout(left).as_dict()}
        return httpx.Request(operation.method, url, headers=headers, content=content or None, extensions=extensions)

    def _signed(self, call: Call, signer: Signer, target: str, body: bytes, timestamp: int) -> Mapping[str, str]:
        try:
            return signed_headers(signer, call.operation.method, target, body, timestamp)
        except UnusableHeaders as error:
            fault = str(error)
        except Exception as error:
            # Leave out the message, which may quote the key.
            place = traceback.extract_tb(error.__traceback__)[-1]
            fault = f"the signer raised {type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
        # Raised outside of the handlers, so that the signer's error does not become its context.
        failure = call.failed(fault, request_sent=False)
        call.complete(failure)
        raise failure


@lru_cache
def _url(text: str) -> httpx.URL:
    # Cached, because most calls use the same few URLs.
    return httpx.URL(text)


def checked_base_url(base_url: str) -> str:
    """The base URL without a trailing slash.

    :raises TypeError: the URL is no string.
    :raises ValueError: the URL cannot be used; the text never quotes the URL, which may contain a password.
    """
    address = text("base_url", base_url).rstrip("/")
    try:
        url = httpx.URL(address)
        usable = _ADDRESS.fullmatch(address) and (url.port is None or 0 < url.port < 65536)
        url.host.encode("idna")
    except (httpx.InvalidURL, UnicodeError):
        usable = False
    if not usable:
        raise ValueError(
            "base_url must be http:// or https:// with a host, and at most a port and a path: no user name, no query,"
            " no fragment and no dotted segment; it should look like https://api.example.com"
        )
    return address


def user_agent(app: str | None) -> str:
    """The value of the `User-Agent` header.

    :param app: the name and version of the program, such as `my-shop/2.3`.
    :raises TypeError: `app` is no string.
    :raises ValueError: `app` contains characters that the header must not contain.
    """
    own = f"flask-paycheckout/{version('flask-paycheckout')}"
    return own if app is None else f"{own} {header_value('app', app)}"
