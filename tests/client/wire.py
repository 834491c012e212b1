"""The server side in the client's tests: canned answers without a socket, and a raw socket server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import settings

from flask_paycheckout.client import AsyncPaymentsClient, PaymentsClient
from flask_paycheckout.client.resource import Resource
from flask_paycheckout.client.waiting import Pace, Retries

BASE_URL = "https://api.example.com"
CLIENT_ID = "shop-1"
CLIENT_SECRET = "canary-secret-5f1d"
ACCESS_TOKEN = "canary-token-77aa"
# Self-signed, with its key; for these tests only.
CERTIFICATE = Path(__file__).with_name("localhost.pem")

Handler = Callable[[httpx.Request], httpx.Response]
Answer = Callable[[socket.socket, bytes, "RawServer"], None]

# No deadline for generated examples, because the machine may be busy with other tests.
steady = settings(deadline=None)


def success(data: object, status_code: int = 200) -> bytes:
    """The envelope of a successful call."""
    return json.dumps({"statusCode": status_code, "message": "ok", "data": data}).encode()


def paged(*docs: object, page: int = 1, total_pages: int = 1, limit: int = 10, **changed: Any) -> dict[str, Any]:
    """The pagination envelope."""
    return {
        "docs": list(docs),
        "totalDocs": total_pages * limit,
        "offset": (page - 1) * limit,
        "limit": limit,
        "totalPages": total_pages,
        "page": page,
        "pagingCounter": (page - 1) * limit + 1,
        "hasPrevPage": page > 1,
        "hasNextPage": page < total_pages,
        "prevPage": page - 1 if page > 1 else None,
        "nextPage": page + 1 if page < total_pages else None,
        **changed,
    }


def refusal(status_code: int, error: object = "Bad", message: object = "No") -> bytes:
    """The envelope of a refused call."""
    return json.dumps({"statusCode": status_code, "error": error, "message": message}).encode()


def http(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """A whole HTTP answer as bytes."""
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def client_of(server: RawServer | str, **options: Any) -> PaymentsClient:
    """A client of a server, or of an address; by default without retries."""
    return PaymentsClient(**_given(server, options))


def _given(server: RawServer | str, options: dict[str, Any]) -> dict[str, Any]:
    address = server if isinstance(server, str) else server.base_url
    keys = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    return {"base_url": address, **keys, "timeout": 60.0, "retries": 0} | options


class Waited:
    """A part of an `AsyncPaymentsClient` whose calls block until their results are there."""

    def __init__(self, part: Any, runner: asyncio.Runner) -> None:
        self._part, self._runner = part, runner

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._part, name)
        if isinstance(attribute, Resource):
            return Waited(attribute, self._runner)
        return lambda *arguments, **named: self._runner.run(attribute(*arguments, **named))


@contextlib.contextmanager
def awaited_client_of(server: RawServer | str, **options: Any) -> Iterator[Any]:
    """A client for `asyncio` that is used like the one of `client_of`, so that one test serves both."""
    with asyncio.Runner() as runner:
        client = Waited(AsyncPaymentsClient(**_given(server, options)), runner)
        yield client
        client.close()


of_either_client = pytest.mark.parametrize("client_of", [client_of, awaited_client_of], ids=["blocking", "awaited"])


# Ways in which a server treats the connection after a request.


def says(*parts: bytes) -> Answer:
    """Send these bytes, and keep the connection."""

    def answer(connection: socket.socket, request: bytes, server: RawServer) -> None:
        for part in parts:
            connection.sendall(part)

    return answer


def hangs_up_after(part: bytes) -> Answer:
    def answer(connection: socket.socket, request: bytes, server: RawServer) -> None:
        connection.sendall(part)
        connection.shutdown(socket.SHUT_RDWR)

    return answer


def drips(start: bytes, drop: bytes) -> Answer:
    """Send drops of data for ever, so that no single read times out."""

    def answer(connection: socket.socket, request: bytes, server: RawServer) -> None:
        connection.sendall(start)
        while not server.closing.wait(0.02):
            connection.sendall(drop)

    return answer


class Script:
    """Answers calls one after the other with its answers, then always with the last one; records the requests."""

    def __init__(self, *answers: bytes | httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(200, content=answer) if isinstance(answer, bytes) else answer


class Watch:
    """A clock that only sleeping advances, and a constant random draw."""

    def __init__(self, chance: float = 1.0) -> None:
        self.passed = 0.0
        self.sleeps: list[float] = []
        self.pace = Pace(
            wall=lambda: 1767225600.0 + self.passed,
            elapsed=lambda: self.passed,
            sleep=self.sleep,
            chance=lambda: chance,
        )

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.passed += seconds


class Shop(PaymentsClient):
    """A client over a script, with a watch in place of real time."""

    def __init__(
        self, handler: Handler, *, watch: Watch | None = None, count: int = 2, budget: float = 15.0, **options: Any
    ) -> None:
        defaults = {"access_token": ACCESS_TOKEN, "transport": httpx.MockTransport(handler)}
        super().__init__(**_given(BASE_URL, defaults | options))
        self.watch = watch or Watch()
        self._caller.retries = Retries(count, budget, self.watch.pace)


class RawServer(socketserver.ThreadingTCPServer):
    """A server on a real socket that reads whole requests and answers with any bytes.

    :ivar requests: the number of the connection with the raw request, in order of arrival.
    """

    def __init__(self, answer: Answer, *, secure: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), socketserver.BaseRequestHandler)
        self.answer, self.tls = answer, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if secure else None
        if self.tls:
            self.tls.load_cert_chain(CERTIFICATE)
        self.requests: list[tuple[int, bytes]] = []
        self.closing = threading.Event()
        self.opened: list[socket.socket] = []
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def base_url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.server_address[1]}"

    @property
    def connections(self) -> int:
        return len(self.opened)

    def close(self) -> None:
        self.closing.set()
        self.shutdown()
        self._thread.join()
        for connection in self.opened:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self.opened.append(connection)
        return connection, address

    def finish_request(self, request: Any, client_address: Any) -> None:
        number = self.opened.index(request) + 1
        stream = self.tls.wrap_socket(request, server_side=True, do_handshake_on_connect=False) if self.tls else request
        with contextlib.suppress(OSError), stream:
            while (request_bytes := _whole_request(stream)) and not self.closing.is_set():
                self.requests.append((number, request_bytes))
                self.answer(stream, request_bytes, self)


def _whole_request(connection: socket.socket) -> bytes:
    """One request with its body; empty if the peer has closed the connection."""
    read = b""
    while b"\r\n\r\n" not in read:
        part = connection.recv(65536)
        if not part:
            return b""
        read += part
    head, _, body = read.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    while len(body) < int(lengths[0] if lengths else 0):
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def parts_of(client: PaymentsClient) -> dict[str, Resource[Any]]:
    """The parts of the service that a client has, by their names."""
    every = {name: getattr(client, name) for name in dir(client)}
    return {name: part for name, part in every.items() if isinstance(part, Resource)}
