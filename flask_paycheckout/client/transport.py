"""Limits of time and size around the transports that carry requests for `httpx.Client`.

One deadline covers connecting, sending, waiting and every chunk of the response, so that a server that drips one byte
at a time cannot stretch a call. Bodies are capped while they stream, redirects and compressed responses refused.

What the deadline does not cover: the operating system's name lookup, and a `transport` of the caller's own while it
blocks inside one read.
"""

from __future__ import annotations

import time
from typing import NamedTuple

# The only place that names the HTTP library: whatever else works with it imports it from here.
try:
    import httpx as httpx
except ImportError:
    import httpx2 as httpx  # type: ignore[import-not-found,no-redef]

from collections.abc import Callable, Iterable
from datetime import datetime
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

LIMITS = "flask_paycheckout.limits"
"""The request extension with the request's `Limits`."""

CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete")
"""The events in a trace of httpx that give a new stream."""

# Seconds. Many servers drop an idle connection after five; ours must be the first to let go.
KEPT_FOR = 4.0


class Limits(NamedTuple):
    """Time and size that one request may take.

    :ivar until: the end of the call, as `time.monotonic` tells time.
    :ivar max_bytes: the largest body that is read.
    :ivar repeatable: whether the request may be sent again.
    """

    until: float
    max_bytes: int
    repeatable: bool = False

    def left(self) -> float:
        """Seconds until the end of the call; a little when it is over, since 0 would mean not to wait at all."""
        return max(self.until - time.monotonic(), 0.001)


def pool_limits(most_kept: int | None) -> httpx.Limits:
    """The limits of a pool of httpx, which keeps so many connections; a call never waits for a free one."""
    return httpx.Limits(max_connections=None, max_keepalive_connections=most_kept, keepalive_expiry=KEPT_FOR)


class ResponseHeaders(httpx.Headers):
    """Headers of a response by name, in any case; its `repr` shows the names only, since a value may be a secret."""

    def __repr__(self) -> str:
        return f"<headers {', '.join(self)}>"


class NoCookies(httpx.Cookies):
    """Keeps no cookies: no call depends on the one before."""

    def extract_cookies(self, response: httpx.Response) -> None:
        """Do nothing; even a cookie jar that refuses all cookies would make objects for each response."""


class RefusedResponse(httpx.RemoteProtocolError):
    """A response that is not read to its end; the text says why, and holds nothing of the response.

    :ivar response: the response without a body; its head is known.
    """

    def __init__(self, fault: str, response: httpx.Response) -> None:
        super().__init__(fault)
        self.response = response


def _fault_of(head: httpx.Response, max_bytes: int) -> str | None:
    """Why no body can make a response usable; None where one can."""
    if 300 <= head.status_code < 400:
        return "a redirect, which is not followed"
    if head.status_code == 204:
        # Bytes that follow all the same would be taken for the start of the next response.
        return "a response without a body"
    if head.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        return "the body is encoded although plain bytes were asked for"
    length = head.headers.get("content-length", "")
    too_large = length.isdecimal() and len(length) < 20 and int(length) > max_bytes
    return f"the body is larger than {max_bytes} bytes" if too_large else None


class Body:
    """A response's body that is read chunk by chunk, within its limits."""

    def __init__(self, response: httpx.Response, limits: Limits) -> None:
        self._response, self._limits, self._read = response, limits, bytearray()
        if fault := _fault_of(response, limits.max_bytes):
            raise RefusedResponse(fault, response)

    def add(self, chunk: bytes) -> None:
        """Take the next chunk.

        :raises RefusedResponse: it is too large, or comes too late.
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

    :ivar clock: the app's, for whoever has to tell its time.
    """

    def __init__(self, app: WSGIApplication, clock: Callable[[], datetime]) -> None:
        self._app = app
        self.clock = clock

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The app's response."""
        target = request.url.raw_path.decode("ascii")

        def called(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            # As servers give it: the path alone does not tell a slash from a quoted one, which the signature does.
            environ["REQUEST_URI"] = target
            return self._app(environ, start_response)

        response = httpx.WSGITransport(app=called).handle_request(request)
        # Read here, since an asynchronous client cannot read it.
        response.stream = httpx.ByteStream(response.read())
        return response

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The app's response, made in a thread of its own."""
        import asyncio

        return await asyncio.to_thread(self.handle_request, request)
