"""Sandboxes in separate processes on one database, called over sockets, and a shop's endpoint that they call."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from flask import Flask

from tests.sandbox.actors import CONTROL_TOKEN
from tests.socket_service import Call, SocketService

ROOT = Path(__file__).parents[2]
SEED = "7"
#: The timeout of a call, in seconds.
PATIENCE = 60


@dataclass
class Reply:
    """An answer with the attributes of Flask's test client that the actors use."""

    status_code: int
    data: bytes
    headers: Mapping[str, str]


class Station:
    """A sandbox in another process, with the part of an application that actors need. Each call is a new connection."""

    def __init__(self, port: int) -> None:
        self.port = port

    def test_client(self) -> Station:
        return self

    def open(
        self,
        target: str,
        *,
        method: str,
        data: Any = None,
        headers: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        environ_overrides: object = None,
    ) -> Reply:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            line.request(method, target, data, {"Content-Type": content_type} | dict(headers or {}))
            answer = line.getresponse()
            return Reply(answer.status, answer.read(), dict(answer.headers))
        finally:
            line.close()


def station(port: int) -> Flask:
    """A station that actors use like an application."""
    return cast("Flask", Station(port))


class Shop(SocketService):
    """Receives webhooks on a real socket."""

    def __init__(self) -> None:
        super().__init__()
        self.order_ids: list[str] = []

    def creates(self, call: Call) -> bytes:
        self.order_ids.append(call.sent["orderId"])
        return b""


def port_of(facts: dict[str, str]) -> int:
    return int(facts["baseUrl"].rpartition(":")[2])


@contextmanager
def gunicorn(workers: int, database: str, webhook_url: str, *, options: Sequence[str] = ()) -> Iterator[list[Flask]]:
    """A pre-forking server, each of whose workers makes the application; one address for all of them."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as door:
        port = door.getsockname()[1]
        arguments = {
            **{"database": database, "webhook_url": webhook_url, "control_token": CONTROL_TOKEN, "seed": SEED},
            "base_url": f"http://127.0.0.1:{port}",
        }
        arguments_text = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        command = ("-m", "gunicorn", "--bind", f"fd://{door.fileno()}", "--workers", str(workers), *options)
        quiet = ("--log-level", "critical")
        factory = f"flask_paycheckout.sandbox:create_sandbox({arguments_text})"
        process = subprocess.Popen([sys.executable, "-W", "error", *command, *quiet, factory], pass_fds=[door.fileno()])
        try:
            # The socket listens already, so the first call waits until a worker accepts it.
            yield [station(port)] * workers
        finally:
            process.terminate()
            assert process.wait(PATIENCE) == 0
