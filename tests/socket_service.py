"""A payments service on a socket, for tests whose shops are processes of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

__all__ = ["Call", "SocketService"]


@dataclass(frozen=True)
class Call:
    """A call that the service receives.

    :ivar name: the last part of the path, the id of a deposit.
    :ivar sent: the body of a POST.
    :ivar client: the id of the calling client.
    :ivar port: the client's port of the connection.
    """

    name: str
    sent: Any
    client: str
    port: int


class SocketService(ThreadingHTTPServer):
    """Listens on the loopback interface; each test defines the answers.

    :cvar keeps_connections: whether a connection can have more than one call.
    """

    keeps_connections = False
    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def creates(self, call: Call) -> bytes:
        """The envelope that answers a POST."""
        raise NotImplementedError

    def reads(self, call: Call) -> bytes:
        """The envelope that answers a GET."""
        raise NotImplementedError

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        with self:
            thread.start()
            yield
            self.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: SocketService

    def setup(self) -> None:
        super().setup()
        self.protocol_version = "HTTP/1.1" if self.server.keeps_connections else "HTTP/1.0"

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(self.server.creates(self._call(sent)))

    def do_GET(self) -> None:
        self._answer(self.server.reads(self._call(None)))

    def _call(self, sent: Any) -> Call:
        return Call(self.path.rsplit("/", 1)[1], sent, self.headers["X-Client-ID"], self.client_address[1])

    def _answer(self, body: bytes) -> None:
        try:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            # The calling process was killed in the meantime.
            self.close_connection = True

    def log_message(self, *args: object) -> None:
        """Print nothing."""
