"""Signs requests and sends them below one base URL."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Generic
from urllib.parse import urlsplit

from flask_paycheckout.client.errors import TransportFailed
from flask_paycheckout.client.hidden import Hidden, hide
from flask_paycheckout.client.operations import Access, Operation
from flask_paycheckout.client.signing import RenewedToken, Signer, header_value, signed_headers
from flask_paycheckout.client.transport import LIMITS, Limits, RefusedResponse, httpx
from flask_paycheckout.client.waiting import W

if TYPE_CHECKING:
    from collections.abc import Mapping

SECRETS = "flask_paycheckout.secrets"
"""The request extension with the values of the headers that a signer added, as far as they are secrets."""

# The signature's id and time are none.
_HARMLESS = {"x-client-id", "x-timestamp"}
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True, repr=False)
class Sender(Generic[W]):
    """Sends requests below one base URL, signed by who signs calls of their kind.

    :ivar base_url: where the service is, checked; a path in it goes before every call's path and is part of what is
        signed.
    :ivar signers: who signs calls of each kind of access.
    :ivar waiting: sends them.
    :ivar user_agent: the header of every request.
    :ivar owns_connections: whether closing the client closes them.
    """

    base_url: str
    signers: Mapping[Access, Signer]
    waiting: W
    user_agent: str
    owns_connections: bool = True

    @cached_property
    def _path(self) -> str:
        return httpx.URL(self.base_url).raw_path.decode("ascii").rstrip("/")

    def renewable(self, operation: Operation[Any]) -> RenewedToken | None:
        """The token of the operation's calls, when another one can be asked for."""
        signer = self.signers.get(operation.access)
        return signer if isinstance(signer, RenewedToken) else None

    async def send(self, operation: Operation[Any], path: str, body: bytes, left: float, wall: float) -> httpx.Response:
        """The response to one attempt, with its whole body.

        :param path: below the base URL, with its query, already quoted.
        :param body: JSON, or empty for none.
        :param left: seconds until the attempt must have ended.
        :param wall: Unix time in seconds, for the signature.
        :raises TransportFailed: nothing usable came back.
        :raises ValueError: the client has no credentials for this call.
        """
        request = self._request(operation, path, body, left, wall)
        if self.waiting.http.is_closed:
            raise RuntimeError("this PaymentsClient is closed; make another one")
        # The failure is raised outside of the handler: the library's own exceptions may quote headers.
        try:
            return await self.waiting.send(request)
        except (httpx.RequestError, OSError, ValueError, TypeError) as error:
            # When a transport or hook raises, the request may have been sent already.
            # A transport of the caller's own may quote what it could not send.
            text = hide(_error_text(error), request.extensions[SECRETS])
            failure = TransportFailed(str(operation), text, None, not isinstance(error, _UNSENT))
        raise failure

    def _request(self, operation: Operation[Any], path: str, body: bytes, left: float, wall: float) -> httpx.Request:
        """The request with its signature over the target that goes on the wire."""
        headers = httpx.Headers({"Accept-Encoding": "identity", "User-Agent": self.user_agent})
        headers["Accept"] = operation.accept
        if body:
            headers["Content-Type"] = "application/json"
        secrets: set[Hidden] = set()
        if operation.access is not Access.OPEN:
            if (signer := self.signers.get(operation.access)) is None:
                raise ValueError(f"{operation} needs {operation.access.value}: give them to the PaymentsClient")
            signed = signed_headers(signer, operation.method, self._path + path, body, int(wall))
            headers.update(signed)
            told = [value for name, value in signed.items() if name.lower() not in _HARMLESS]
            # Of `Bearer <token>` also the token alone.
            secrets = {Hidden(secret) for value in told for secret in (value, value.rpartition(" ")[2])}
        limits = Limits(time.monotonic() + left, operation.max_bytes, operation.repeatable)
        extensions = {LIMITS: limits, SECRETS: secrets, "timeout": httpx.Timeout(left).as_dict()}
        url = self.base_url + path
        return httpx.Request(operation.method, url, headers=headers, content=body or None, extensions=extensions)


def _error_text(error: Exception) -> str:
    """The failure in words, without the library's own text where that may quote the request."""
    kind = type(error).__name__
    if isinstance(error, RefusedResponse):
        return str(error)
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        return f"no whole answer in time ({kind})"
    if isinstance(error, (*_UNSENT, OSError)):
        return f"no connection ({kind}: {error})"
    return f"the exchange broke off ({kind})"


def checked_base_url(base_url: str) -> str:
    """The base URL without a slash at its end.

    :raises TypeError: it is no string.
    :raises ValueError: it cannot be used; the text names the fault and never quotes the URL, which may hold a password.
    """
    if not isinstance(base_url, str):
        raise TypeError(f"base_url must be a string, not {type(base_url).__name__}")
    fault = _fault_of(base_url)
    if fault:
        raise ValueError(f"base_url {fault}; it should look like https://api.example.com")
    return base_url.rstrip("/")


def _fault_of(base_url: str) -> str | None:
    if not base_url.isascii() or not base_url.isprintable() or set(base_url) & set(' \\"<>^`{|}'):
        return "holds a character that a URL cannot have"
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
        httpx.URL(base_url).host.encode("idna")
    except (ValueError, httpx.InvalidURL):
        return "is not a URL: its host or port cannot be read"
    if parts.scheme not in ("http", "https"):
        return "must begin with https:// or http://"
    if not host or port == 0:
        return "has no host, or port 0"
    if "@" in parts.netloc:
        return "must not hold a user name or password"
    if "?" in base_url or "#" in base_url:
        return "must not have a query or fragment"
    if any(segment in ("", ".", "..") for segment in parts.path.rstrip("/").split("/")[1:]):
        return "has an empty or dotted path segment"
    return None


def user_agent(app: str | None) -> str:
    """The header's value.

    :param app: name and version of the program, as in `my-shop/2.3`.
    :raises TypeError: it is no string.
    :raises ValueError: it cannot stand in the header.
    """
    return _own() if app is None else f"{_own()} {header_value('app', app)}"


@cache
def _own() -> str:
    try:
        return f"flask-paycheckout/{version('flask-paycheckout')}"
    except PackageNotFoundError:
        return "flask-paycheckout"
