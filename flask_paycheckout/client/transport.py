"""Bytes out, bytes in: the only module that knows the HTTP library.

Everything here is bounded. One deadline covers connecting, sending, waiting and every chunk of the answer, so that a
server that drips one byte at a time cannot stretch a call. Bodies are capped while they stream. Redirects are not
followed, cookies not kept, proxies and credentials of the environment not used, and compressed answers refused.

What the deadline does not cover: the operating system's name lookup, and a `transport` of the caller's own while it
blocks inside one read.
"""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit
from weakref import WeakSet

import httpcore
import httpx

from flask_paycheckout.client.errors import TransportFailed
from flask_paycheckout.client.hidden import Hidden, Sealed, hide
from flask_paycheckout.client.operations import Access, Operation
from flask_paycheckout.client.retries import moment_of, seconds_to_wait
from flask_paycheckout.client.signing import Signer, signed_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

__all__ = ["Answer", "Transport", "in_process"]

_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "flask-paycheckout"}
# What a request carries besides its credentials; every other header may be one.
_HARMLESS = {
    "accept",
    "accept-encoding",
    "user-agent",
    "host",
    "content-type",
    "content-length",
    "transfer-encoding",
} | {
    "x-client-id",
    "x-timestamp",
}

_UNSENT = (
    httpcore.ConnectError,
    httpcore.ConnectTimeout,
    httpcore.PoolTimeout,
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
)
_TIMEOUTS = (httpcore.TimeoutException, httpx.TimeoutException)
_FAILURES = (
    *_TIMEOUTS,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
    httpx.TransportError,
    OSError,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    :ivar body: whole.
    :ivar retry_after: the seconds of a `Retry-After`.
    :ivar date: the `Date`, in Unix seconds.
    :ivar media_type: the `Content-Type` in lower case, without its parameters.
    :ivar credentials: what the request proved itself with, to be masked wherever the answer repeats it.
    """

    http_status: int
    body: Sealed
    retry_after: float | None
    date: float | None
    media_type: str
    credentials: tuple[Hidden, ...] = field(repr=False)


class _Refused(Exception):
    """An answer that will not be read, and why."""


class Transport:
    """Sends one request and reads one answer, within a deadline.

    :param base_url: where the service is; a path in it is put before every call's path and is part of what is signed.
    :param signers: who signs calls of each kind of access.
    :param transport: an httpx transport to use instead of the own connection pool; its maker closes it.
    :raises ValueError: the base URL cannot be used; the text names the fault.
    """

    def __init__(
        self, base_url: str, signers: Mapping[Access, Signer], transport: httpx.BaseTransport | None = None
    ) -> None:
        self.base_url = _checked(base_url)
        self._signers = signers
        self._given = transport
        self._pools: dict[int, _Pool] = {}
        self._closed = False

    def send(self, operation: Operation, path: str, body: bytes, left: float, wall: float) -> Answer:
        """The answer to one attempt.

        :param path: below the base URL, with its query, already quoted.
        :param body: JSON, or empty for none.
        :param left: seconds until the attempt must have ended.
        :param wall: Unix time in seconds, for the signature.
        :raises TransportFailed: nothing usable came back.
        :raises ValueError: the client has no credentials for this call.
        """
        until = time.monotonic() + left
        request = self._request(operation, path, body, left, wall)
        # The failure is raised outside of the handlers: the library's own exceptions may quote headers.
        try:
            return self._exchange(operation, request, until, wall)
        except _Refused as refused:
            failure = TransportFailed(str(operation), str(refused))
        except _FAILURES as error:
            # A transport of the caller's own may quote what it could not send.
            words = hide(_words(error), _credentials(request))
            failure = TransportFailed(str(operation), words, None, not isinstance(error, _UNSENT))
        raise failure

    def close(self) -> None:
        """Closes the connections; a transport that was given stays open."""
        self._closed = True
        self._forget_other_processes()
        pool = self._pools.pop(os.getpid(), None)
        if pool is not None:
            pool.close()

    def _request(self, operation: Operation, path: str, body: bytes, left: float, wall: float) -> httpx.Request:
        """The request with its signature over the target that goes on the wire."""
        request = httpx.Request(
            operation.method,
            self.base_url + path,
            headers={"Accept": operation.accept, **_HEADERS},
            content=body or None,
            extensions={"timeout": {"connect": left, "read": left, "write": left, "pool": left}},
        )
        if body:
            request.headers["Content-Type"] = "application/json"
        if operation.access is not Access.OPEN:
            target = request.url.raw_path.decode("ascii")
            signer = self._signer(operation)
            request.headers.update(signed_headers(signer, operation.method, target, body, int(wall)))
        return request

    def _signer(self, operation: Operation) -> Signer:
        signer = self._signers.get(operation.access)
        if signer is None:
            raise ValueError(f"{operation} needs {operation.access.value}: give them to the PaymentsClient")
        return signer

    def _exchange(self, operation: Operation, request: httpx.Request, until: float, wall: float) -> Answer:
        response = self._transport().handle_request(request)
        try:
            retry_after = seconds_to_wait(response.headers.get("retry-after"), wall)
            _check_head(response, operation.max_bytes)
            return Answer(
                response.status_code,
                Sealed(_read(response, operation.max_bytes, until)),
                retry_after,
                moment_of(response.headers.get("date")),
                response.headers.get("content-type", "").partition(";")[0].strip().lower(),
                _credentials(request),
            )
        finally:
            response.close()

    def _transport(self) -> httpx.BaseTransport:
        """The given transport, or this process's own pool: sockets must not be shared across a fork."""
        if self._closed:
            raise RuntimeError("this PaymentsClient is closed")
        if self._given is not None:
            return self._given
        pid = os.getpid()
        pool = self._pools.get(pid)
        if pool is None:
            self._forget_other_processes()
            # setdefault and not a lock: a lock may be held by another thread at the moment of a fork.
            pool = self._pools.setdefault(pid, _Pool(secure=self.base_url.startswith("https:")))
        return pool

    def _forget_other_processes(self) -> None:
        """Drops what a fork copied here from its parent."""
        for pid in list(self._pools):
            if pid != os.getpid() and (pool := self._pools.pop(pid, None)) is not None:
                pool.forget()


def _credentials(request: httpx.Request) -> tuple[Hidden, ...]:
    """The values of the headers that a signer added; of `Bearer <token>` also the token alone."""
    values = [value for name, value in request.headers.items() if name not in _HARMLESS]
    return tuple(Hidden(secret) for value in values for secret in {value, value.rpartition(" ")[2]})


def _check_head(response: httpx.Response, max_bytes: int) -> None:
    """Refuses what no body can make usable."""
    if 300 <= response.status_code < 400:
        raise _Refused(f"a redirect (HTTP {response.status_code}), which is not followed")
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise _Refused("the body is encoded although plain bytes were asked for")
    length = response.headers.get("content-length", "")
    if length.isdecimal() and len(length) < 20 and int(length) > max_bytes:
        raise _Refused(f"the body is larger than {max_bytes} bytes")


def _read(response: httpx.Response, max_bytes: int, until: float) -> bytes:
    """The whole body, as long as it stays small and in time."""
    body = bytearray()
    for chunk in cast("Iterable[bytes]", response.stream):
        body += chunk
        if len(body) > max_bytes:
            raise _Refused(f"the body is larger than {max_bytes} bytes")
        if time.monotonic() > until:
            raise _Refused("no whole answer in time")
    return bytes(body)


def _words(error: Exception) -> str:
    """What failed, without the library's own text where that may quote what was sent."""
    if isinstance(error, _TIMEOUTS):
        return f"no whole answer in time ({type(error).__name__})"
    if isinstance(error, (*_UNSENT, OSError)):
        return f"no connection ({type(error).__name__}: {error})"
    return f"the exchange broke off ({type(error).__name__})"


class _Pool(httpx.BaseTransport):
    """Keep-alive connections of one process, whose reads and writes obey one deadline per request.

    httpx gives each read its own timeout, so that a dripping server could hold a call for ever. Here a request's
    timeouts become one point in time, which the network backend turns into what is left, read by read.
    """

    def __init__(self, *, secure: bool) -> None:
        self._backend = _Backend()
        self._core = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(trust_env=False) if secure else None,
            max_connections=100,
            max_keepalive_connections=100,
            # Many servers drop an idle connection after five seconds; ours must be the first to let go.
            keepalive_expiry=4.0,
            network_backend=self._backend,
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        left: float = request.extensions["timeout"]["read"]
        until = time.monotonic() + left
        answer = self._core.handle_request(
            httpcore.Request(
                request.method,
                httpcore.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions={"timeout": {"connect": until, "read": until, "write": until, "pool": left}},
            )
        )
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer))

    def close(self) -> None:
        self._core.close()

    def forget(self) -> None:
        """Lets go of another process's sockets without a word on them; its locks may be held for ever."""
        for stream in list(self._backend.streams):
            stream.close()


class _Body(httpx.SyncByteStream):
    """An answer's body, closed with its answer."""

    def __init__(self, answer: httpcore.Response) -> None:
        self._stream: Any = answer.stream
        self._connection: httpcore.NetworkStream = answer.extensions["network_stream"]

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._stream)

    def close(self) -> None:
        if _holds_more(self._stream):
            # The pool drops a connection whose socket is closed; kept, it would answer the next call with the rest.
            self._connection.close()
        self._stream.close()


def _holds_more(stream: Any) -> bool:
    """Whether bytes beyond the answer were received; httpcore keeps them for the next answer and tells nobody."""
    protocol = getattr(getattr(getattr(stream, "_stream", None), "_connection", None), "_h11_state", None)
    return protocol is None or bool(protocol.trailing_data[0])


class _Backend(httpcore.SyncBackend):
    """Opens connections whose timeouts are points in time."""

    def __init__(self) -> None:
        self.streams: WeakSet[_Stream] = WeakSet()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Tries every address of `host`; each gets an even share of the time that is left."""
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        addresses = _addresses(host, port)
        for position, address in enumerate(addresses):
            share = _left(timeout) / (len(addresses) - position)
            try:
                stream = _Stream(super().connect_tcp(address, port, share, local_address, socket_options))
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                self.streams.add(stream)
                return stream
        raise failure


def _addresses(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(str(error)) from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class _Stream(httpcore.NetworkStream):
    """A connection whose `timeout` arguments are points in time (`time.monotonic`)."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), 65536):
            self._stream.write(buffer[start : start + 65536], _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        self._stream = self._stream.start_tls(ssl_context, server_hostname, _left(timeout))
        return self

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(until: float | None, late: type[Exception] = httpcore.ConnectTimeout) -> float:
    """Seconds until then; too late is the same error that waiting in vain would be."""
    assert until is not None  # noqa: S101 - every request here has a deadline
    left = until - time.monotonic()
    if left <= 0:
        raise late("out of time")
    return left


def _checked(base_url: str) -> str:
    """The base URL without a slash at its end, when calls can be sent below it."""
    if not isinstance(base_url, str):
        raise TypeError(f"base_url must be a string, not {type(base_url).__name__}")
    fault = _fault_of(base_url)
    if fault:
        raise ValueError(f"base_url {fault}; it should look like https://api.example.com")
    return base_url.rstrip("/")


def _fault_of(base_url: str) -> str | None:
    """What is wrong with a base URL; never quotes it, since it may hold a password."""
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


class _InProcess(httpx.WSGITransport):
    """Calls a WSGI app in this process; `clock` is the app's, for whoever has to tell its time."""

    clock: Callable[[], datetime]


def in_process(app: Any, clock: Callable[[], datetime]) -> httpx.BaseTransport:
    """A transport to a WSGI app in this process, no socket between; `clock` goes along as its attribute."""
    transport = _InProcess(app=app)
    transport.clock = clock
    return transport
