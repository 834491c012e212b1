"""Kept connections, each of them an `httpx.HTTPTransport`, whose exchanges end with their call's deadline."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from flask_paycheckout.client.per_process import PerProcess
from flask_paycheckout.client.transport import LIMITS, Limits, httpx, read_whole

if TYPE_CHECKING:
    import httpcore

_MOST_IDLE = 100
# Many servers drop an idle connection after five seconds; ours must be the first to let go.
_KEPT_FOR = 4.0
_PART = 65536
_ONE_CONNECTION = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=None)
_CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete")


class Connections(httpx.BaseTransport):
    """Kept connections to one service, for any number of threads, on both sides of a fork.

    Each connection is an `httpx.HTTPTransport` of its own: httpx's pool looks at all of its connections for each
    request, which many requests at once make slow. Proxies, credentials and certificates of the environment are not
    used.
    """

    def __init__(self, url: httpx.URL) -> None:
        # Sockets must not be shared across a fork.
        self._process = PerProcess(lambda: _Process(url))
        self._closed = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send over a kept connection or a new one, and give the response with its whole body."""
        limits, process = request.extensions[LIMITS], self._process()
        # A request that may not be repeated gets a new connection: on a kept one, bytes left over from the response
        # before could pass for its own.
        connection = process.take() if limits.repeatable else process.connect()
        try:
            response = connection.send(request, limits)
        except _Unasked:
            connection = process.connect()
            response = connection.send(request, limits)
        process.keep(connection)
        if self._closed:
            process.close()
        return response

    def close(self) -> None:
        """Close what is idle now, and what is in use when its call ends."""
        self._closed = True
        self._process().close()


class _Process:
    """The connections that one process opened."""

    def __init__(self, url: httpx.URL) -> None:
        self._host, self._port = url.host, url.port or url.scheme
        # Loading the certificates takes long, and plain HTTP needs none.
        secure = url.scheme == "https"
        self._handshakes = int(secure)
        self._context = httpx.create_ssl_context(trust_env=False) if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._idle: deque[_Connection] = deque()

    def take(self) -> _Connection:
        """The connection that was used last and that the service still holds open, or a new one."""
        with contextlib.suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if connection.is_open():
                    return connection
                connection.close()
        return self.connect()

    def connect(self) -> _Connection:
        """A new connection, opened with its first request."""
        return _Connection(self._context, self._addresses() + self._handshakes)

    def keep(self, connection: _Connection) -> None:
        """Keep a connection for the next request, and let go of those that a busy moment left behind."""
        self._idle.append(connection)
        long_ago = time.monotonic() - _KEPT_FOR
        # Other threads take from it meanwhile.
        with contextlib.suppress(IndexError):
            while len(self._idle) > _MOST_IDLE or self._idle[0].used_at < long_ago:
                self._idle.popleft().close()

    def close(self) -> None:
        """Close the idle connections."""
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _addresses(self) -> int:
        """The number of addresses of the service's host; each gets its share of the time for connecting."""
        try:
            return len(socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError):
            return 1


class _Unasked(httpx.RemoteProtocolError):
    """A response that had arrived before its request was sent: left over from the previous one."""


class _Connection:
    """One connection.

    :ivar used_at: when its last response ended, as `time.monotonic` tells time.
    """

    def __init__(self, context: ssl.SSLContext, shares: int) -> None:
        self._http = httpx.HTTPTransport(verify=context, trust_env=False, limits=_ONE_CONNECTION)
        # The addresses, tried one after the other, and the TLS handshake.
        self._shares = shares
        self._stream: httpcore.NetworkStream | None = None
        self._limits = Limits(0.0, 0)
        self._has_read = False
        self.used_at = 0.0

    def is_open(self) -> bool:
        """Whether it can take another request: used lately, neither closed by the service nor holding more from it."""
        lately = time.monotonic() - self.used_at < _KEPT_FOR
        return lately and self._stream is not None and not self._stream.get_extra_info("is_readable")

    def send(self, request: httpx.Request, limits: Limits) -> httpx.Response:
        """The response to this very request, with its whole body; a connection that fails is closed."""
        self._limits, self._has_read = limits, False
        left = limits.left()
        timeout = {"connect": left / self._shares, "read": left, "write": left, "pool": left}
        request.extensions = {**request.extensions, "timeout": timeout, "trace": self._trace}
        try:
            response = read_whole(self._http.handle_request(request), limits)
            # A mock of httpx answers without a connection.
            if self._stream is not None and not self._has_read:
                raise _Unasked("a response came before its request", request=request)
        except BaseException:
            self.close()
            raise
        self.used_at = time.monotonic()
        return response

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        """Bind each wait on a new stream to the time that its call has left.

        httpx limits each wait alone, so that a server which sends a byte now and then could stretch a call for ever.
        """
        if event not in _CONNECTED:
            return
        self._stream = stream = info["return_value"]
        read, write = stream.read, stream.write

        def read_in_time(max_bytes: int, timeout: float | None = None) -> bytes:
            self._has_read = True
            return bytes(read(max_bytes, self._limits.left()))

        def write_in_time(buffer: bytes, timeout: float | None = None) -> None:
            # In parts: a service that reads slowly lets each of them wait, and none for longer than is left.
            for start in range(0, len(buffer), _PART):
                write(buffer[start : start + _PART], self._limits.left())

        stream.read, stream.write = read_in_time, write_in_time
