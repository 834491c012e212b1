"""Keep-alive connections of one process, whose reads and writes obey one deadline per request.

The HTTP library gives each read a timeout of its own, so that a dripping server could hold a call for ever. Here a
request's timeouts are one point in time, which the network backend turns into what is left, read by read.
"""

from __future__ import annotations

import socket
import time
from collections import deque
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from flask_paycheckout.client.exchange import Fault, Received, Request, fault_of
from flask_paycheckout.client.http_library import httpcore

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable

__all__ = ["Pool"]

_FAILURES = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
    OSError,
)
_UNSENT = (httpcore.ConnectError, httpcore.ConnectTimeout)
_MOST_IDLE = 100


class Pool:
    """The connections of one process to one service.

    Any number of calls may be under way, each on a connection of its own; what they leave idle is taken again, the one
    used last first. The HTTP library's own pool looks at all of its connections for each call, which many calls at
    once make dear.

    :param origin: scheme, host and port of the service.
    :param authority: host and port as the `Host` header wants them.
    :param secure: the TLS context of an https service, made once.
    """

    def __init__(
        self, origin: tuple[bytes, bytes, int | None], authority: bytes, secure: ssl.SSLContext | None
    ) -> None:
        scheme, host, port = origin
        self._url = partial(httpcore.URL, scheme=scheme, host=host, port=port)
        self._origin = self._url(target=b"/").origin
        self._authority = (b"Host", authority)
        self._secure = secure
        self._backend = _Backend()
        self._idle: deque[httpcore.HTTPConnection] = deque()
        # For what is idle. A child process has a pool of its own, and takes no lock of its parent's.
        self._lock = Lock()
        self._closed = False

    def send(self, request: Request, left: float) -> Received:
        until = time.monotonic() + left
        headers = [self._authority, *((name.encode(), value.encode()) for name, value in request.headers.items())]
        if request.body:
            headers.append((b"Content-Length", b"%d" % len(request.body)))
        connection = self._take()
        answer = connection.handle_request(
            httpcore.Request(
                request.method,
                self._url(target=request.target),
                headers=headers,
                content=request.body,
                extensions={"timeout": {"connect": until, "read": until, "write": until}},
            )
        )
        return Received(
            answer.status, _read(answer.headers), answer.iter_stream(), lambda: self._end(connection, answer)
        )

    def fault(self, error: Exception) -> Fault | None:
        if not isinstance(error, _FAILURES):
            return None
        late = isinstance(error, httpcore.TimeoutException)
        return fault_of(error, late=late, unsent=isinstance(error, _UNSENT))

    def close(self) -> None:
        """Closes every idle connection now, and those in use when their calls end."""
        with self._lock:
            self._closed = True
            left = list(self._idle)
            self._idle.clear()
        for connection in left:
            connection.close()

    def forget(self) -> None:
        """Lets go of another process's sockets without a word on them; its locks may be held for ever."""
        for stream in list(self._backend.streams):
            stream.close()

    def _take(self) -> httpcore.HTTPConnection:
        """A connection for one call: the one used last, when the service still holds it open, or else a new one."""
        while True:
            with self._lock:
                if not self._idle:
                    break
                connection = self._idle.pop()
            if not connection.has_expired():
                return connection
            connection.close()
        return httpcore.HTTPConnection(
            self._origin,
            ssl_context=self._secure,
            # Many servers drop an idle connection after five seconds; ours must be the first to let go.
            keepalive_expiry=4.0,
            network_backend=self._backend,
        )

    def _end(self, connection: httpcore.HTTPConnection, answer: httpcore.Response) -> None:
        """Keeps the connection of an answer that is done with, or ends it when it is not at the end of that answer."""
        if _holds_more(answer.stream):
            # Kept, it would answer the next call with the rest.
            connection.close()
        answer.close()
        over = []
        with self._lock:
            if connection.is_idle() and not self._closed:
                self._idle.append(connection)
            else:
                over.append(connection)
            # Those that a busy moment left behind.
            while self._idle and (len(self._idle) > _MOST_IDLE or self._idle[0].has_expired()):
                over.append(self._idle.popleft())
        for old in over:
            old.close()


def _read(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """An answer's headers, by their name in lower case."""
    read: dict[str, str] = {}
    for name, value in headers:
        known, text = name.decode("latin-1").lower(), value.decode("latin-1")
        read[known] = f"{read[known]}, {text}" if known in read else text
    return read


def _holds_more(stream: Any) -> bool:
    """Whether bytes beyond the answer were received; httpcore keeps them for the next answer and tells nobody."""
    protocol = getattr(getattr(stream, "_connection", None), "_h11_state", None)
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
