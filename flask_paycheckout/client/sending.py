"""Signs requests and sends them through one `httpx.Client`."""

from __future__ import annotations

import time
from copy import copy
from typing import TYPE_CHECKING

import httpx

from flask_paycheckout.client.base_urls import checked_base_url
from flask_paycheckout.client.connections import Connections
from flask_paycheckout.client.errors import TransportFailed
from flask_paycheckout.client.hidden import Hidden, hide
from flask_paycheckout.client.operations import Access, Operation
from flask_paycheckout.client.renewing import RenewedToken
from flask_paycheckout.client.signing import Signer, signed_headers
from flask_paycheckout.client.transport import LIMITS, LimitedTransport, Limits, RefusedResponse
from flask_paycheckout.client.user_agents import user_agent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

__all__ = ["Sender", "credentials_of"]

# The signature's id and time are no secrets; every other header that a signer adds may be one.
_HARMLESS = {
    "accept",
    "accept-encoding",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
    "user-agent",
    "x-client-id",
    "x-timestamp",
}
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Sender:
    """Sends requests below one base URL, signed by who signs calls of their kind.

    :param base_url: where the service is; a path in it is put before every call's path and is part of what is signed.
    :param signers: who signs calls of each kind of access.
    :param transport: an httpx transport to use instead of own connections; its maker closes it.
    :param app: name and version of the program, for the `User-Agent`.
    :raises ValueError: the base URL cannot be used; the text names the fault.
    """

    def __init__(
        self,
        base_url: str,
        signers: Mapping[Access, Signer],
        transport: httpx.BaseTransport | None = None,
        app: str | None = None,
    ) -> None:
        self._user_agent = user_agent(app)
        self.base_url = checked_base_url(base_url)
        url = httpx.URL(self.base_url)
        self._path = url.raw_path.decode("ascii").rstrip("/")
        self._urls: dict[str, httpx.URL] = {}
        self._signers = signers
        self._owns_connections = True
        self._http = _WithoutCookies(
            transport=Connections(url) if transport is None else LimitedTransport(transport), trust_env=False
        )

    def signed_by(self, signers: Mapping[Access, Signer], *, only: bool = False) -> Self:
        """A sender through the same connections, with other signers for these kinds of access.

        :param only: whether it has no signers for the other kinds.
        """
        other = copy(self)
        other._signers = signers if only else {**self._signers, **signers}
        return other

    def renewable(self, operation: Operation) -> RenewedToken | None:
        """The token of the operation's calls, when another one can be asked for."""
        signer = self._signers.get(operation.access)
        return signer if isinstance(signer, RenewedToken) else None

    def borrowed(self) -> Self:
        """A sender through the same connections that leaves them open when it is closed."""
        other = copy(self)
        other._owns_connections = False
        return other

    def send(self, operation: Operation, path: str, body: bytes, left: float, wall: float) -> httpx.Response:
        """The response to one attempt, with its whole body.

        :param path: below the base URL, with its query, already quoted.
        :param body: JSON, or empty for none.
        :param left: seconds until the attempt must have ended.
        :param wall: Unix time in seconds, for the signature.
        :raises TransportFailed: nothing usable came back.
        :raises ValueError: the client has no credentials for this call.
        """
        request = self._request(operation, path, body, left, wall)
        if self._http.is_closed:
            raise RuntimeError("this PaymentsClient is closed; make another one")
        # The failure is raised outside of the handler: the library's own exceptions may quote headers.
        try:
            return self._http.send(request)
        except (httpx.RequestError, OSError, ValueError, TypeError) as error:
            # Whatever a transport or hook raises after the request was built may come after it was sent.
            # A transport of the caller's own may quote what it could not send.
            words = hide(_words(error), credentials_of(request))
            failure = TransportFailed(str(operation), words, None, not isinstance(error, _UNSENT))
        raise failure

    def close(self) -> None:
        """Close the connections, unless they are another sender's; a transport that was given stays open."""
        if self._owns_connections:
            self._http.close()

    def _request(self, operation: Operation, path: str, body: bytes, left: float, wall: float) -> httpx.Request:
        """The request with its signature over the target that goes on the wire."""
        headers = {"Accept": operation.accept, "Accept-Encoding": "identity", "User-Agent": self._user_agent}
        if body:
            headers["Content-Type"] = "application/json"
        if operation.access is not Access.OPEN:
            signer = self._signer(operation)
            signed = signed_headers(signer, operation.method, self._path + path, body, int(wall))
            replaced = {name.lower() for name in signed}
            headers = {name: value for name, value in headers.items() if name.lower() not in replaced}
            headers |= {name: Hidden(value) for name, value in signed.items()}
        limits = Limits(time.monotonic() + left, operation.max_bytes, operation.repeatable)
        extensions: dict[str, Any] = {
            LIMITS: limits,
            "timeout": {"connect": left, "read": left, "write": left, "pool": left},
        }
        url = self._url(operation, path)
        return httpx.Request(operation.method, url, headers=headers, content=body or None, extensions=extensions)

    def _url(self, operation: Operation, path: str) -> httpx.URL:
        """The URL of a call; that of an operation without ids and query is made once."""
        if path != operation.path:
            return httpx.URL(self.base_url + path)
        if (url := self._urls.get(path)) is None:
            url = self._urls[path] = httpx.URL(self.base_url + path)
        return url

    def _signer(self, operation: Operation) -> Signer:
        signer = self._signers.get(operation.access)
        if signer is None:
            raise ValueError(f"{operation} needs {operation.access.value}: give them to the PaymentsClient")
        return signer


class _NoCookies(httpx.Cookies):
    """Keeps no cookies of a response."""

    def extract_cookies(self, response: httpx.Response) -> None:
        """Leave them alone; the standard library's cookie jar would first make objects of its own for each response."""


class _WithoutCookies(httpx.Client):
    """Keeps no cookies: no call depends on the one before."""

    _none = _NoCookies()

    @property
    def cookies(self) -> httpx.Cookies:
        """No cookies, whatever the responses set."""
        return self._none

    @cookies.setter
    def cookies(self, cookies: object) -> None:
        raise AttributeError("cookies are neither kept nor sent")


def credentials_of(request: httpx.Request) -> tuple[Hidden, ...]:
    """The values of the headers that a signer added; of `Bearer <token>` also the token alone."""
    values = [value for name, value in request.headers.items() if name.lower() not in _HARMLESS]
    return tuple(Hidden(secret) for value in values for secret in {value, value.rpartition(" ")[2]})


def _words(error: Exception) -> str:
    """The failure in words, without the library's own text where that may quote the request."""
    kind = type(error).__name__
    if isinstance(error, RefusedResponse):
        return str(error)
    if isinstance(error, httpx.TimeoutException):
        return f"no whole answer in time ({kind})"
    if isinstance(error, (*_UNSENT, OSError)):
        return f"no connection ({kind}: {error})"
    return f"the exchange broke off ({kind})"
