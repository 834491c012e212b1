"""The server of the command: slow callers and delayed calls delay no other, and no call is cut off at the end."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from flask import Flask

from tests.sandbox.actors import CONTROL_TOKEN, Merchant, Tester
from tests.sandbox.stations import PATIENCE, ROOT, port_of, station


@contextmanager
def command() -> Iterator[tuple[Flask, subprocess.Popen[str]]]:
    """The sandbox in a separate process, which must end without output."""
    line = [sys.executable, "-m", "flask_paycheckout.sandbox", "--port", "0", "--json"]
    line += ["--control-token", CONTROL_TOKEN]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        yield station(port_of(json.loads(process.stdout.readline()))), process
        process.terminate()
        assert (process.wait(PATIENCE), process.stderr.read()) == (0, "")


@pytest.fixture(scope="module")
def served() -> Iterator[Flask]:
    with command() as (app, _):
        yield app


@pytest.fixture
def port(served: Flask) -> int:
    return int(served.port)  # type: ignore[attr-defined]  # of a station


def raw(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def test_a_request_that_says_its_length_twice_is_refused_with_what_follows(port: int) -> None:
    with raw(port) as line:
        head = b"Host: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        line.sendall(b"POST /health HTTP/1.1\r\n" + head + b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    assert (answer.split()[1], answer.count(b"HTTP/1.1 ")) == (b"400", 1)


def test_a_body_that_is_too_large_is_refused_in_the_envelope(served: Flask) -> None:
    assert Merchant(served).asks_checkout_raw(b"x" * (1024 * 1024 + 1)).code == 413


def test_a_connection_is_closed_without_an_answer(served: Flask) -> None:
    for kind in ("drop", "lose_response"):
        Tester(served).orders_fault("POST /v1/checkout", kind)
        with pytest.raises(ConnectionError):
            Merchant(served).asks_checkout()
    assert Merchant(served).asks_checkout().code == 200
