"""Limits of time and size for the transports of `httpx.Client`.

One deadline covers connecting, sending, waiting and every chunk of the response, so that a server that sends single
bytes slowly cannot prolong a call. The size of a body is limited while it is read; redirects and compressed responses
are refused.

The deadline covers neither the operating system's DNS lookup nor a single blocking read of the caller's own
`transport`.
"""

from __future__ import annotations

import time
from typing import NamedTuple, TypeVar

# The only module that names the HTTP library; all others import it from here.
try:
    import httpx as httpx
except ImportError:
    import httpx2 as httpx  # type: ignore[import-not-found,no-redef]

from collections.abc import Callable, Iterable
from datetime import datetime
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

T = TypeVar("T")

LIMITS = "flask_paycheckout.limits"
"""The request extension with the request's `Limits`."""

CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete")
"""The events in a trace of httpx with a new stream."""

# In seconds. Many servers close an idle connection after five, so the client must close it earlier.
KEPT_FOR = 4.0


class Limits(NamedTuple):
    """The deadline and the maximum size for one request.

    :ivar until: the deadline of the call, by `time.monotonic`.
    :ivar max_bytes: the maximum size of the body.
    :ivar repeatable: whether the request may be retried.
    """

    until: float
    max_bytes: int
    repeatable: bool = False

    def left(self) -> float:
        """The seconds until the deadline; at least 0.001, because 0 would mean not to wait at all."""
        return max(self.until - time.monotonic(), 0.001)


def given_transport(transport: T, method: str) -> T:
    """The transport that the caller gave, if any.

    :raises TypeError: it lacks the method, as an asynchronous transport does for the blocking client.
    """
    if transport is None or callable(getattr(transport, method, None)):
        return transport
    raise TypeError(f"transport must be an httpx transport with {method}(), not {type(transport).__name__}")


def pool_limits(most_kept: int | None) -> httpx.Limits:
    """The limits of a pool of httpx that keeps this many connections; a call never waits for a free connection."""
    return httpx.Limits(max_connections=None, max_keepalive_connections=most_kept, keepalive_expiry=KEPT_FOR)


class ResponseHeaders(httpx.Headers):
    """Headers of a response by case-insensitive name; `repr` shows only the names, because a value may be a secret."""

    def __repr__(self) -> str:
        return f"<headers {', '.join(self)}>"


class NoCookies(httpx.Cookies):
    """Keeps no cookies, so that no call depends on an earlier call."""

    def extract_cookies(self, response: httpx.Response) -> None:
        """Do nothing; even a cookie jar that refuses all cookies would make objects for each response."""


class RefusedResponse(httpx.RemoteProtocolError):
    """A response that is not read to its end; the text says why, and quotes nothing of the response.

    :ivar response: the response's status and headers, without the body.
    """

    def __init__(self, fault: str, response: httpx.Response) -> None:
        super().__init__(fault)
        self.response = response


def _fault_of(head: httpx.Response, max_bytes: int) -> str | None:
    """The reason why a response is unusable with any body; None if it may be usable."""
    if 300 <= head.status_code < 400:
        return "a redirect, which is not followed"
    if head.status_code == 204:
        # If bytes followed nevertheless, they would be mistaken for the start of the next response.
        return "a response without a body"
    if head.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        return "the body is encoded although plain bytes were asked for"
    length = head.headers.get("content-length", "")
    too_large = length.isdecimal() and len(length) < 20 and int(length) > max_bytes
    return f"the body is larger than {max_bytes} bytes" if too_large else None


class Body:
    """A response's body, read chunk by chunk within the limits."""

    def __init__(self, response: httpx.Response, limits: Limits) -> None:
        self._response, self._limits, self._read = response, limits, bytearray()
        if fault := _fault_of(response, limits.max_bytes):
            raise RefusedResponse(fault, response)

    def add(self, chunk: bytes) -> None:
        """Add the next chunk.

        :raises RefusedResponse: the body is too large, or the deadline has passed.
        """
        self._read += chunk
        if len(self._read) > self._limits.max_bytes:
            raise RefusedResponse(f"the body is larger than {self._limits.max_bytes} bytes", self._response)
        if time.monotonic() > self._limits.until:
            raise RefusedResponse("no whole answer in time", self._response)

    def whole(self) -> httpx.Response:
        """The response with its body in memory."""
        self._response.stream = httpx.ByteStream(bytes(self._read))
        return self._response


class InProcess(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport to a WSGI app in this process, for both kinds of client.

    :ivar clock: the app's clock, which clients and extensions use with this transport.
    """

    def __init__(self, app: WSGIApplication, clock: Callable[[], datetime]) -> None:
        self._app = app
        self.clock = clock

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The app's response."""
        target = request.url.raw_path.decode("ascii")

        def called(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            # Servers set this too: the decoded path does not distinguish a slash from a quoted one; the signature does.
            environ["REQUEST_URI"] = target
            # httpx decodes the path as UTF-8; WSGI wants each byte as one character.
            environ["PATH_INFO"] = environ["PATH_INFO"].encode().decode("latin-1")
            return self._app(environ, start_response)

        response = httpx.WSGITransport(app=called).handle_request(request)
        # Read here, because an asynchronous client cannot read a synchronous stream.
        response.stream = httpx.ByteStream(response.read())
        return response

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The app's response, made in a separate thread."""
        import asyncio

        return await asyncio.to_thread(self.handle_request, request)
