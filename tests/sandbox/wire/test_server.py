"""The sandbox's own server: kept connections, and limits that keep one caller from holding what the others need."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from threading import Event, Thread
from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.hooks import MAX_BODY_BYTES
from flask_paycheckout.sandbox.wire import server as own_server
from tests.sandbox.actors import CONTROL_TOKEN, Merchant, Tester
from tests.sandbox.stations import PATIENCE, ROOT, port_of, station
from tests.sandbox.wire.test_sockets import post_checkout, served
from tests.waiting import eventually

Line = http.client.HTTPConnection


@contextmanager
def line_to(port: int) -> Iterator[Line]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as line:
        yield line


def asked(line: Line, method: str, target: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
    line.request(method, target, body, headers)
    answer = line.getresponse()
    return answer.status, answer.read()


def raw(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def whole(line: socket.socket) -> bytes:
    return b"".join(iter(lambda: line.recv(65536), b""))


def test_when_all_connections_are_taken_the_longest_idle_one_goes(
    sandbox: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_server, "MAX_CONNECTIONS", 8)
    with served(sandbox) as port, ExitStack() as until:
        idle = [until.enter_context(closing(raw(port))) for _ in range(12)]
        with line_to(port) as line:
            assert asked(line, "GET", "/health")[0] == 200
        assert whole(idle[0]) == b""


class Hang:
    """In the place of `sleep` of a sandbox: calls wait until they are let go."""

    def __init__(self) -> None:
        self.waiting, self.over = list[float](), Event()

    def __call__(self, seconds: float) -> None:
        self.waiting.append(seconds)
        assert self.over.wait(PATIENCE)


@contextmanager
def hanging(count: int) -> Iterator[tuple[int, Hang]]:
    """A sandbox on its server, in which so many calls hang."""
    hang = Hang()
    app = create_sandbox(control_token=CONTROL_TOKEN, sleep=hang)
    Tester(app).orders_fault("GET /v1/deposit/{id}", "delay", times=1000, seconds=60)
    with served(app) as port, ExitStack() as until:
        callers = [Thread(target=Merchant(station(port)).reads_deposit, args=["none"]) for _ in range(count)]
        for caller in callers:
            caller.start()
            until.callback(caller.join)
        until.callback(hang.over.set)
        eventually(lambda: len(hang.waiting) == count)
        yield port, hang


def test_calls_that_hang_on_purpose_hold_up_nobody() -> None:
    with hanging(3 * own_server.THREADS) as (port, _):
        assert post_checkout(port).code == 200


def test_more_calls_than_can_hang_are_refused_and_places_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_server, "MAX_HELD", 2)
    with hanging(2) as (port, hang):
        assert Merchant(station(port)).reads_deposit("none").code == 503
        hang.over.set()
        eventually(lambda: Merchant(station(port)).reads_deposit("none").code == 404)


def test_callers_who_send_slowly_or_nothing_hold_up_nobody(sandbox: Flask) -> None:
    begun = b"POST /v1/checkout HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n"
    with served(sandbox) as port, ExitStack() as lines:
        for said in (b"", b"G", begun, begun + b"\r\n{"):
            for _ in range(own_server.THREADS):
                lines.enter_context(raw(port)).sendall(said)
        assert post_checkout(port).code == 200


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\nHost: ", b"POST / HTTP/1.1\r\nContent-Length: 99999\r\n\r\n"])
def test_a_request_that_drips_is_ended(sandbox: Flask, monkeypatch: pytest.MonkeyPatch, said: bytes) -> None:
    monkeypatch.setattr(own_server, "REQUEST_SECONDS", 0.3)
    with served(sandbox) as port, raw(port) as line:
        line.sendall(said)
        line.settimeout(0.02)
        answer = b""
        for _ in range(PATIENCE * 50):
            with suppress(TimeoutError):
                line.sendall(b"x")
                answer = line.recv(4096)
                break
    assert answer[8:].startswith(b" 400 ")


def test_a_body_that_is_too_large_is_refused_in_the_envelope_and_the_connection_kept(
    sandbox: Flask, merchant: Merchant
) -> None:
    with served(sandbox) as port, line_to(port) as line:
        body = b"x" * (MAX_BODY_BYTES + 1)
        status, said = asked(line, "POST", "/v1/checkout", body, **merchant.signs("POST", "/v1/checkout", body))
        assert (status, json.loads(said)["statusCode"]) == (413, 413)
        assert asked(line, "GET", "/health") == (200, b"ok\n")


@pytest.mark.parametrize(
    "announced",
    [
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length: 9999999\r\nExpect: 100-continue\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n200000\r\n" + b"x" * 0x200000,
        b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 0xA00000,
    ],
    ids=["huge", "asks-first", "chunked", "line-without-end"],
)
def test_a_body_that_is_not_to_be_read_ends_the_connection(sandbox: Flask, announced: bytes) -> None:
    with served(sandbox) as port, raw(port) as line:
        try:
            line.sendall(b"POST /v1/checkout HTTP/1.1\r\nHost: 127.0.0.1\r\n" + announced)
            answer = whole(line)
        except ConnectionError:
            # It was closed before all was sent.
            answer = b"HTTP/1.1 413 "
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_headers_have_a_limit(sandbox: Flask) -> None:
    with served(sandbox) as port, raw(port) as line:
        # In whole parts, of which the server leaves none unread.
        line.sendall((b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ").ljust(own_server.MAX_HEADER_BYTES, b"x"))
        assert whole(line).startswith(b"HTTP/1.0 431 ")


@pytest.mark.slow("programs")
def test_a_call_under_way_is_answered_when_the_command_is_terminated() -> None:
    command = [sys.executable, "-W", "error", "-m", "flask_paycheckout.sandbox", "--port", "0", "--json"]
    command += ["--control-token", CONTROL_TOKEN]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        port = port_of(json.loads(process.stdout.readline()))
        tester = Tester(station(port))
        tester.orders_fault("POST /v1/checkout", "delay", seconds=1)
        codes = list[int]()
        caller = Thread(target=lambda: codes.append(post_checkout(port).code))
        caller.start()
        eventually(lambda: tester.does("GET", "faults") == [])
        process.terminate()
        caller.join()
        assert (codes, process.wait(PATIENCE), process.stderr.read()) == ([200], 0, "")
