"""Signatures and tokens: headers that prove which account sends a request.

The service's interface shows neither its formula for `X-Signature` nor its form of the `Authorization` header. This
module has a documented placeholder; an object with the same `sign` method replaces it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Literal, Protocol

from flask_paycheckout.client.bodies import text
from flask_paycheckout.client.hidden import Hidden, concealed, given_type
from flask_paycheckout.per_process import PerProcess

_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_LONGEST_WAIT = 60.0
_TIMESTAMP = re.compile("[0-9]{1,12}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,100}")


class Signer(Protocol):
    """Makes the headers that authenticate one request."""

    def sign(self, method: str, target: str, body: bytes, timestamp: int) -> Mapping[str, str]:
        """Headers for this request.

        :param method: the HTTP method in capitals, such as `"POST"`.
        :param target: the path and `?query`, exactly as sent, beginning with the base URL's own path.
        :param body: the raw body; empty if there is none.
        :param timestamp: Unix time in whole seconds.
        """
        ...


class HmacSigner:
    """Signs with HMAC-SHA256 under the client secret; keeps the keyed state, not the secret.

    Headers: `X-Client-ID`, `X-Timestamp` (Unix seconds) and `X-Signature`, the lowercase hex HMAC of
    `METHOD \\n TARGET \\n TIMESTAMP \\n lowercase hex SHA-256 of the raw body`.

    :raises TypeError: the id or the secret is not a string.
    :raises ValueError: either is empty, or the id contains characters that a header must not contain.
    """

    def __init__(self, client_id: str, client_secret: str) -> None:
        client_secret = concealed(client_secret)
        self._client_id = header_value("client_id", client_id)
        self._keyed = _keyed(client_secret)

    def sign(self, method: str, target: str, body: bytes, timestamp: int) -> dict[str, str]:
        """The three headers; see the class."""
        keyed = self._keyed.copy()
        keyed.update(f"{method}\n{target}\n{timestamp}\n{hashlib.sha256(body).hexdigest()}".encode())
        return {
            "X-Client-ID": self._client_id,
            "X-Timestamp": str(timestamp),
            "X-Signature": keyed.hexdigest(),
        }


class BearerToken:
    """Sends the access token of a login as `Authorization: Bearer <token>`.

    The interface shows only a masked value of the header. If the service expects another word before the token, or the
    token alone, pass `PaymentsClient(access_token=BearerToken(token, scheme=""))`.

    :param access_token: the token; `RenewedToken` takes a function that returns one.
    :param scheme: the word before the token; empty for the token alone.
    :raises TypeError: the token is not a string.
    :raises ValueError: the token is empty, or contains characters that a header must not contain.
    """

    def __init__(self, access_token: str, scheme: str = "Bearer") -> None:
        access_token = concealed(access_token)
        token = header_value("access_token", access_token)
        self._header = header_value("scheme", Hidden(f"{scheme} {token}".lstrip()))

    def sign(self, method: str, target: str, body: bytes, timestamp: int) -> dict[str, str]:
        """The one header."""
        return {"Authorization": self._header}


class RenewedToken:
    """Sends the access token that a function returns, and calls it again if the service refuses the token.

    The function is called when the first token is needed, and after a 401 or 403, at most once in a call. If several
    threads are refused together, one calls the function, and the others use its token.
    `PaymentsClient(access_token=function)` makes this object; an `AsyncPaymentsClient` calls the function in a separate
    thread.

    :param ask: returns the token, for example a stored token, or the token of a new login.
    :param scheme: the word before the token; empty for the token alone.
    """

    def __init__(self, ask: Callable[[], str], scheme: str = "Bearer") -> None:
        if not callable(ask):
            raise TypeError(f"ask must be a function that returns an access token, not {given_type(ask)}")
        self._ask, self._scheme = ask, scheme
        # The token in use. A new token is another object, even if its text is equal.
        self.held: BearerToken | None = None
        # One lock for each process: after a fork, nobody would release a lock that another thread held.
        self._lock = PerProcess(Lock)

    def sign(self, method: str, target: str, body: bytes, timestamp: int) -> dict[str, str]:
        """The one header.

        :raises Exception: the function's error; `TypeError` or `ValueError` if it returned no usable token.
        """
        return (self.held or self.renew(None)).sign(method, target, body, timestamp)

    def renew(self, refused: object) -> BearerToken:
        """Get another token, unless another thread has got one meanwhile.

        :param refused: the value of `held` before the refused call.
        :raises TimeoutError: another thread has been asking for a minute.
        """
        lock = self._lock()
        if not lock.acquire(timeout=_LONGEST_WAIT):
            raise TimeoutError("another thread has been asking for an access token for a minute")
        try:
            if self.held is None or self.held is refused:
                self.held = BearerToken(self._ask(), self._scheme)
            return self.held
        finally:
            lock.release()


class WebhookRefused(ValueError):
    """A webhook whose signature is missing, wrong or too old; the text says which, and never quotes the webhook."""


def verify_webhook(
    headers: Mapping[str, str],
    body: bytes,
    client_secret: str,
    *,
    signed: Literal["body", "timestamp_and_body"] = "timestamp_and_body",
    tolerance: float = 300.0,
    clock: Callable[[], float] = time.time,
) -> None:
    """Checks the signature of a webhook. The service's interface does not show whether it signs webhooks.

    `X-Signature` is the lowercase hex HMAC-SHA256, under the client secret, of the raw body; or of `X-Timestamp` (Unix
    seconds), a dot and the raw body. These are the forms of the sandbox's switch `webhook_signature`.

    :param headers: the request's headers, with case-insensitive names.
    :param body: the raw body, before it is parsed as JSON.
    :param signed: the part of the request that the signature covers.
    :param tolerance: the seconds by which the timestamp may be older or newer than now.
    :param clock: returns the Unix time.
    :raises WebhookRefused: the signature is missing, wrong or too old.
    :raises TypeError: the secret is not a string.
    :raises ValueError: the secret is empty.
    """
    client_secret = concealed(client_secret)
    expected = _keyed(client_secret)
    fields = {name.lower(): value for name, value in headers.items()}
    # A misspelt value must not select the weaker form.
    if signed != "body":
        timestamp = fields.get("x-timestamp", "")
        if not _TIMESTAMP.fullmatch(timestamp):
            raise WebhookRefused("the webhook has no usable X-Timestamp")
        if abs(clock() - int(timestamp)) > tolerance:
            raise WebhookRefused("the webhook's X-Timestamp is not of now")
        expected.update(f"{timestamp}.".encode())
    expected.update(body)
    if not hmac.compare_digest(expected.hexdigest().encode(), fields.get("x-signature", "").encode(errors="replace")):
        raise WebhookRefused("the webhook's X-Signature is missing or wrong")


def _keyed(client_secret: str) -> hmac.HMAC:
    """The keyed state of a signature; an empty secret is refused, because everybody could sign with it."""
    if not text("client_secret", client_secret):
        raise ValueError("client_secret is empty")
    return hmac.new(client_secret.encode(), digestmod=hashlib.sha256)


def header_value(name: str, value: Any) -> str:
    """Return `value` if a header may contain it; the error message names `name` and never shows the value."""
    if isinstance(value, str) and _HEADER_VALUE.fullmatch(value):
        return value
    if not text(name, value):
        raise ValueError(f"{name} is empty")
    raise ValueError(f"{name} may hold printable ASCII only, without spaces or line breaks at its ends")


class UnusableHeaders(ValueError):
    """A signer returned no headers that can be sent; the message says why, and quotes no value."""


def signed_headers(signer: Signer, method: str, target: str, body: bytes, timestamp: int) -> Mapping[str, str]:
    """The headers that `signer` makes, checked to contain no line breaks.

    :raises UnusableHeaders: the result is no mapping of strings, or a header's name or value is not plain ASCII.
    """
    headers: object = signer.sign(method, target, body, timestamp)
    if not isinstance(headers, Mapping):
        raise UnusableHeaders(f"the signer gave a {type(headers).__name__} and no headers")
    for name, value in headers.items():
        if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name):
            raise UnusableHeaders(f"the signer gave {repr(name)[:40]}, which is no header name")
        try:
            header_value(f"the signer's header {name}", value)
        except (TypeError, ValueError) as error:
            raise UnusableHeaders(str(error)) from None
    return headers
