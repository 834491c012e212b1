"""Sandboxes in processes of their own on one database, called over sockets, and a shop's endpoint that they call."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any, cast

from flask import Flask

from tests.sandbox.actors import CONTROL_TOKEN

ROOT = Path(__file__).parents[2]
SEED = "7"
#: Seconds after which a call is given up.
PATIENCE = 60


@dataclass
class Reply:
    """An answer with the names that the actors know from Flask's test client."""

    status_code: int
    data: bytes
    headers: Mapping[str, str]


class Station:
    """A sandbox somewhere else, as far as the actors need an application: every call is a connection of its own."""

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

    def post(self, target: str, **sent: Any) -> Reply:
        return self.open(target, method="POST", **sent)

    def get(self, target: str, **sent: Any) -> Reply:
        return self.open(target, method="GET", **sent)


def station(port: int) -> Flask:
    """In the place of an application, for actors."""
    return cast("Flask", Station(port))


class Shop:
    """Takes webhooks on a real socket."""

    def __init__(self) -> None:
        self._received: list[str] = []
        self._lock = Lock()
        shop = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                shop.note(str(body["orderId"]))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/webhook"

    def note(self, order_id: str) -> None:
        with self._lock:
            self._received.append(order_id)

    def forgets(self) -> None:
        with self._lock:
            self._received.clear()

    @property
    def order_ids(self) -> list[str]:
        with self._lock:
            return list(self._received)

    @contextmanager
    def listening(self) -> Iterator[Shop]:
        thread = Thread(target=self._server.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()


def _start(*command: str, pass_fds: tuple[int, ...] = (), **streams: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, "-W", "error", *command], cwd=ROOT, text=True, env=environment, pass_fds=pass_fds, **streams
    )


def _stop(process: subprocess.Popen[str], by: signal.Signals) -> None:
    process.send_signal(by)
    assert process.wait(PATIENCE) == 0


@contextmanager
def commands(count: int, database: str, webhook_url: str) -> Iterator[list[Flask]]:
    """`python -m flask_paycheckout.sandbox`, several times at once."""
    options = ("--control-token", CONTROL_TOKEN, "--seed", SEED, "--webhook-url", webhook_url, "--port", "0", "--json")
    command = ("-m", "flask_paycheckout.sandbox", "--database", database, *options)
    processes = [_start(*command, stdout=subprocess.PIPE) for _ in range(count)]
    try:
        told = [json.loads(process.stdout.readline()) for process in processes if process.stdout]
        yield [station(int(facts["baseUrl"].rpartition(":")[2])) for facts in told]
    finally:
        for process in processes:
            _stop(process, signal.SIGINT)
            assert process.stdout is not None
            process.stdout.close()


@contextmanager
def gunicorn(workers: int, database: str, webhook_url: str, *options: str) -> Iterator[list[Flask]]:
    """A pre-forking server, each of whose workers makes the application; one address for all of them."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as door:
        port = door.getsockname()[1]
        arguments = {
            **{"database": database, "webhook_url": webhook_url, "control_token": CONTROL_TOKEN, "seed": SEED},
            "base_url": f"http://127.0.0.1:{port}",
        }
        given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        command = ("-m", "gunicorn", "--bind", f"fd://{door.fileno()}", "--workers", str(workers), *options)
        quiet = ("--log-level", "critical")
        factory = f"flask_paycheckout.sandbox:create_sandbox({given})"
        process = _start(*command, *quiet, factory, pass_fds=(door.fileno(),))
        try:
            # The socket listens already: the first call waits until a worker takes it.
            yield [station(port)] * workers
        finally:
            _stop(process, signal.SIGTERM)
