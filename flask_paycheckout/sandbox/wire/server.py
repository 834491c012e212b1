"""The sandbox's own server: connections are kept, and no caller can hold what the others need.

It is waitress, which reads each request as a whole before a thread works on it. Callers that send slowly, or nothing,
therefore occupy a connection only. All sizes, times and counts have limits.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.receiver import ChunkedReceiver
from waitress.server import BaseWSGIServer, create_server
from waitress.utilities import BadRequest

from flask_paycheckout.sandbox.wire.connection import HOLDING, TooManyHeld

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

THREADS = 8
"""How many calls are worked on at the same time, beside those that are held."""
MAX_HELD = 64
"""The most calls that are held at the same time, each by a thread of its own, while their faults let them wait."""
MAX_CONNECTIONS = 200
"""The most connections at the same time. When all are taken, the longest idle one goes; if none is idle, further ones
wait in the system's queue."""
MAX_HEADER_BYTES = 64 * 1024
REQUEST_SECONDS = 30.0
"""The most seconds between the first and the last byte of a request."""
IDLE_SECONDS = 60
"""Seconds of silence after which a connection is closed."""
ANSWER_SECONDS = 120.0
"""Seconds that a caller may take to receive an answer."""
STOP_SECONDS = 5
"""Seconds that calls under way may take when the server stops."""
_BACKLOG = 256
_CLEANUP_SECONDS = 5
# A body of up to so many times its limit is read to its end.
_DISCARDED = 16
# The largest answer, a snapshot, has half of it. A thread never waits for the one who receives an answer.
_MAX_WAITING_BYTES = 64 * 1024 * 1024
_LOOP_SECONDS = 1

BodyLimit = Callable[[str, Mapping[str, str]], int]
"""The bytes that a body may have, by path and headers; their names are in capitals with underscores."""


class _Request(HTTPRequestParser):
    """A request while it arrives, with limits of its time and of its body.

    A body that is too large is read, within limits, but not kept, so that its sender gets to read the answer. The
    application sees its length, and refuses it in its own words.
    """

    def __init__(self, limit_of: BodyLimit, adj: Any) -> None:
        super().__init__(adj)
        self.deadline = monotonic() + REQUEST_SECONDS
        self._limit_of = limit_of
        self._limit: int | None = None
        self._unread = 0
        """Bytes of a body that is too large which were not received yet."""

    @property
    def is_late(self) -> bool:
        return monotonic() > self.deadline

    def received(self, data: bytes) -> int:
        if self.is_late:
            self.error, self.completed = BadRequest("The request took too long to arrive."), True
            return len(data)
        if self._unread:
            taken = min(len(data), self._unread)
            self._unread -= taken
            self.completed = self._unread == 0
            return taken
        taken = super().received(data)
        if self.completed:
            # A request without a body waits for none.
            self.expect_continue = False
        if self.headers_finished and not self.empty and self.error is None:
            self._check_size()
        return taken

    def _check_size(self) -> None:
        if self._limit is None:
            path: str = vars(self)["path"]
            self._limit = self._limit_of(path, self.headers)
            if self.content_length > self._limit:
                self._refuse(self.content_length)
                return
        if isinstance(self.body_rcv, ChunkedReceiver):
            stored = len(self.body_rcv)
            # Lengths of chunks and further headers are not stored; they may be a fifth of what arrives.
            if max(stored, 0.8 * self.body_bytes_received) > self._limit:
                self._refuse(max(stored, self._limit + 1))

    def _refuse(self, length: int) -> None:
        """Let the application refuse a body of this length, which is not kept."""
        self.close()
        self.body_rcv = None
        can_be_read = not (self.chunked or self.expect_continue) and length <= _DISCARDED * (self._limit or 0)
        self.expect_continue = False
        self._unread = length if can_be_read else 0
        self.completed = not can_be_read
        headers = cast("dict[str, str]", self.headers)
        headers["CONTENT_LENGTH"] = str(length)
        if not can_be_read:
            headers["CONNECTION"] = "close"


class _Channel(HTTPChannel):
    """One connection."""

    def __init__(self, limit_of: BodyLimit, *waiting: Any, **more: Any) -> None:
        # Named as waitress does: it calls it with its settings.
        self.parser_class = cast("type[HTTPRequestParser]", partial(_Request, limit_of))
        self._answered_since: float | None = None
        super().__init__(*waiting, **more)

    def readable(self) -> bool:
        """Asked at least once a second for each connection."""
        arriving = cast("_Request | None", self.request)
        if arriving is not None and self.requests:
            # Not read on while an earlier request of this connection is worked on.
            arriving.deadline = monotonic() + REQUEST_SECONDS
        elif arriving is not None and arriving.is_late:
            # Its parser finds that it is late.
            self.received(b"\n")
        self._limit_answer()
        return self.connected and super().readable()

    def _limit_answer(self) -> None:
        if self.requests or not self.total_outbufs_len:
            self._answered_since = None
        elif self._answered_since is None:
            self._answered_since = monotonic()
        elif monotonic() > self._answered_since + ANSWER_SECONDS:
            # At once: `will_close` takes effect only when the caller receives more.
            self.will_close = False
            self.handle_close()


def _make_room(connections: Mapping[int, Any]) -> None:
    """Close the connection that has been idle for the longest time, when all are taken."""
    if len(connections) >= MAX_CONNECTIONS:
        channels = [one for one in connections.values() if isinstance(one, _Channel)]
        idle = [one for one in channels if not (one.requests or one.request or one.total_outbufs_len)]
        if idle:
            min(idle, key=lambda one: one.last_activity).handle_close()


class Server:
    """Listens from the beginning, so that the port is known, and answers once it runs.

    :param host: a name or an address; an empty one listens on all addresses.
    :param port: 0 takes a free one.
    :raises OSError: the address cannot be used.
    """

    def __init__(self, host: str, port: int) -> None:
        is_ipv6 = ":" in host
        self._door = socket.create_server(
            (host, port),
            family=socket.AF_INET6 if is_ipv6 else socket.AF_INET,
            backlog=_BACKLOG,
            dualstack_ipv6=is_ipv6 and host == "::" and socket.has_dualstack_ipv6(),
        )
        self.port: int = self._door.getsockname()[1]
        self._server: BaseWSGIServer | None = None
        self._is_stopping = False
        self._lock = Lock()
        self._held = 0

    def run(self, app: WSGIApplication, limit_of: BodyLimit) -> None:
        """Serve until `stop` is called or the main thread is interrupted; then finish the calls under way."""
        connections: dict[int, Any] = {}
        server = create_server(
            self._with_holding(app),
            map=connections,
            sockets=[self._door],
            threads=THREADS,
            ident="",
            backlog=_BACKLOG,
            connection_limit=MAX_CONNECTIONS,
            channel_timeout=IDLE_SECONDS,
            cleanup_interval=_CLEANUP_SECONDS,
            max_request_header_size=MAX_HEADER_BYTES,
            outbuf_high_watermark=_MAX_WAITING_BYTES,
            # Keep bodies in memory, which the limits bound: a read-only container has no place for temporary files.
            inbuf_overflow=_MAX_WAITING_BYTES,
            outbuf_overflow=2 * _MAX_WAITING_BYTES,
            # A connection that is dropped on purpose is an OSError, too.
            log_socket_errors=False,
            # The sandbox decides on its own which proxies it believes.
            clear_untrusted_proxy_headers=False,
        )
        assert isinstance(server, BaseWSGIServer)  # noqa: S101 - of one socket
        server.channel_class = cast("type[HTTPChannel]", partial(_Channel, limit_of))
        # Waiting for a thread is nothing to be told of.
        server.task_dispatcher.queue_logger = logging.Logger("waitress.queue", logging.ERROR)
        self._server = server
        try:
            while not self._is_stopping:
                _make_room(connections)
                wasyncore.loop(timeout=_LOOP_SECONDS, use_poll=True, map=connections, count=1)
        except KeyboardInterrupt:
            # It is how the main thread is told to stop.
            pass
        finally:
            with self._lock:
                self._is_stopping, self._server = True, None
            server.task_dispatcher.shutdown(timeout=STOP_SECONDS)
            wasyncore.close_all(connections)

    def stop(self) -> None:
        """Let `run` return; may be called in any thread."""
        with self._lock:
            self._is_stopping = True
            if self._server is not None:
                self._server.pull_trigger()

    def close(self) -> None:
        """Give the port back."""
        self._door.close()

    def _with_holding(self, app: WSGIApplication) -> WSGIApplication:
        def call(environ: WSGIEnvironment, start_response: StartResponse) -> Any:
            environ[HOLDING] = self._hold
            return app(environ, start_response)

        return call

    @contextmanager
    def _hold(self) -> Iterator[None]:
        """Another thread takes the place of the current one as long as it does nothing but wait."""
        self._change_held(1)
        try:
            yield
        finally:
            self._change_held(-1)

    def _change_held(self, by: int) -> None:
        with self._lock:
            if self._held + by > MAX_HELD:
                raise TooManyHeld
            self._held += by
            if self._server is not None:
                self._server.task_dispatcher.set_thread_count(THREADS + self._held)
