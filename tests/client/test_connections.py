"""Which connection a call gets, and what becomes of it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from flask_paycheckout.client.connections import Connections
from flask_paycheckout.client.transport import LIMITS, Limits
from tests.client.conftest import Serve
from tests.client.wire import RawServer, http, says

AT_ONCE = 6


@contextmanager
def connections_to(server: RawServer) -> Iterator[httpx.Client]:
    with httpx.Client(transport=Connections(httpx.URL(server.base_url)), base_url=server.base_url) as client:
        yield client


def asked(client: httpx.Client, *, repeatable: bool = True) -> None:
    limits = Limits(time.monotonic() + 30.0, 1000, repeatable)
    assert client.get("/x", extensions={LIMITS: limits}).content == b"{}"


answers = says(http(b"{}"))


def asked_at_once(client: httpx.Client) -> None:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for done in [threads.submit(asked, client) for _ in range(AT_ONCE)]:
            done.result()


@pytest.fixture
def crowded(serve: Serve) -> RawServer:
    """A server that answers when so many calls are under way, each on a connection of its own; later ones at once."""
    together = threading.Barrier(AT_ONCE)

    def answer(connection: socket.socket, request: bytes, server: RawServer) -> None:
        if len(server.requests) <= AT_ONCE:
            together.wait(60)
        answers(connection, request, server)

    return serve(answer)


def test_what_a_busy_moment_left_is_used_again(crowded: RawServer) -> None:
    with connections_to(crowded) as client:
        asked_at_once(client)
        asked_at_once(client)
        for _ in range(5):
            asked(client)
    assert crowded.connections == AT_ONCE


def test_what_must_not_be_sent_twice_gets_a_new_connection(serve: Serve) -> None:
    server = serve(answers)
    with connections_to(server) as client:
        for repeatable in (True, False, True):
            asked(client, repeatable=repeatable)
    assert [number for number, _ in server.requests] == [1, 2, 2]


def test_no_connection_that_the_service_ended_is_used(crowded: RawServer) -> None:
    with connections_to(crowded) as client:
        asked_at_once(client)
        for connection in crowded._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        asked(client)
        asked(client)
    assert crowded.connections == AT_ONCE + 1


@pytest.mark.parametrize(("setting", "value"), [("_KEPT_FOR", 0.0), ("_MOST_IDLE", 0)])
def test_those_that_a_busy_moment_left_are_let_go(
    crowded: RawServer, monkeypatch: pytest.MonkeyPatch, setting: str, value: float
) -> None:
    with connections_to(crowded) as client:
        asked_at_once(client)
        monkeypatch.setattr(f"flask_paycheckout.client.connections.{setting}", value)
        asked(client)
        asked(client)
    assert crowded.connections >= AT_ONCE + 1


def test_closing_waits_for_no_call_and_keeps_none(serve: Serve) -> None:
    begun, closed, ended = threading.Event(), threading.Event(), threading.Event()

    def answer(connection: socket.socket, request: bytes, server: RawServer) -> None:
        begun.set()
        closed.wait(60)
        answers(connection, request, server)
        if not connection.recv(1):
            ended.set()

    with connections_to(serve(answer)) as client, ThreadPoolExecutor(1) as thread:
        call = thread.submit(asked, client)
        assert begun.wait(60)
        client.close()
        closed.set()
        call.result(60)
        assert ended.wait(60)
