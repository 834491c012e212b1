"""Behaviour that needs a real connection: broken answers, threads, and the process itself."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from flask import Flask
from werkzeug.serving import make_server

from flask_paycheckout.sandbox.command import QuietHandler
from tests.sandbox.actors import CONTROL_TOKEN, Merchant, Tester, machine_seconds, signature

ROOT = Path(__file__).parents[3]


@contextmanager
def served(app: Flask) -> Iterator[int]:
    """The app on a free port; gives the port."""
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=QuietHandler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def post_checkout(port: int, timeout: float = 60) -> dict[str, Any]:
    body = b'{"inputCurrency":"USD","inputAmount":12.5}'
    now = machine_seconds()
    headers = {
        "X-Client-ID": "sandbox-client",
        "X-Timestamp": now,
        "X-Signature": signature("POST", "/v1/checkout", now, body),
    }
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        line.request("POST", "/v1/checkout", body, headers)
        answer = json.loads(line.getresponse().read())
        assert isinstance(answer, dict)
        return answer
    finally:
        line.close()


@pytest.mark.parametrize("kind", ["drop", "lose_response"])
def test_the_connection_is_closed_at_once_without_an_answer(sandbox: Flask, tester: Tester, kind: str) -> None:
    tester.orders_fault("POST /v1/checkout", kind)
    with served(sandbox) as port:
        with pytest.raises(ConnectionError):
            post_checkout(port)
        assert post_checkout(port)["statusCode"] == 200


def test_a_lost_answer_was_still_done(sandbox: Flask, merchant: Merchant, tester: Tester) -> None:
    tester.orders_fault("POST /v1/checkout", "lose_response")
    tester.orders_fault("webhook", "before_response")
    with served(sandbox) as port, pytest.raises(ConnectionError):
        post_checkout(port)
    (webhook,) = tester.webhooks()
    assert merchant.reads_deposit(webhook["orderId"]).data["status"] == "completed"


def test_many_clients_at_once_are_all_served(sandbox: Flask) -> None:
    ids: list[str] = []
    with served(sandbox) as port:
        threads = [Thread(target=lambda: ids.append(post_checkout(port, 30)["data"]["id"])) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(set(ids)) == 16


@contextmanager
def started(*arguments: str) -> Iterator[dict[str, str]]:
    """`python -m flask_paycheckout.sandbox` on a free port; gives what it printed for programs."""
    command = [sys.executable, "-W", "error", "-m", "flask_paycheckout.sandbox", "--port", "0", "--json", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, cwd=ROOT, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0


@pytest.mark.parametrize("said", [b"", b"POST /v1/checkout HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{"])
def test_a_caller_who_falls_silent_is_let_go(
    sandbox: Flask, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], said: bytes
) -> None:
    """Before a word, or in the middle of a body: else each would keep a thread for ever."""
    assert 0 < QuietHandler.timeout <= 60
    monkeypatch.setattr(QuietHandler, "timeout", 0.2)
    with served(sandbox) as port, socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        line.sendall(said)
        answer = b"".join(iter(lambda: line.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 400 ") if said else answer == b""
    assert capfd.readouterr().err == ""


def test_the_process_serves_signed_calls_and_stops_cleanly() -> None:
    with started("--control-token", CONTROL_TOKEN) as facts:
        port = int(facts["baseUrl"].rpartition(":")[2])
        answer = post_checkout(port)
        assert answer["data"]["url"].startswith(f"{facts['baseUrl']}/checkout/")
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        line.request("GET", "/_sandbox/clock", headers={"X-Sandbox-Control": facts["controlToken"]})
        assert line.getresponse().status == 200
        line.close()
    assert (facts["clientId"], facts["controlToken"]) == ("sandbox-client", CONTROL_TOKEN)


def test_a_database_file_and_a_seed_survive_a_restart(tmp_path: Path) -> None:
    arguments = ("--database", f"sqlite:///{tmp_path / 'world.db'}", "--seed", "7")
    ids = []
    for _ in range(2):
        with started(*arguments) as facts:
            ids.append(post_checkout(int(facts["baseUrl"].rpartition(":")[2]))["data"]["id"])
    assert ids[0] != ids[1]
