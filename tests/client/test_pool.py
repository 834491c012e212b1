"""Which connection a call gets, and what becomes of it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import pytest

from flask_paycheckout.client.exchange import Received, Request
from flask_paycheckout.client.pool import Pool
from tests.client.conftest import Serve
from tests.client.wire import RawServer, http

ASKED = Request("GET", "/x", "/x", {}, b"")
AT_ONCE = 6


@contextmanager
def pool_of(server: RawServer) -> Iterator[Pool]:
    url = urlsplit(server.base_url)
    with closing(Pool((b"http", b"127.0.0.1", url.port), url.netloc.encode(), None)) as pool:
        yield pool


def begun(pool: Pool) -> Received:
    return pool.send(ASKED, 5.0)


def asked(pool: Pool) -> None:
    received = begun(pool)
    assert b"".join(received.chunks) == b"{}"
    received.close()


def answers(connection: socket.socket, request: bytes, server: RawServer) -> None:
    connection.sendall(http(b"{}"))


def asked_at_once(pool: Pool) -> None:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for done in [threads.submit(asked, pool) for _ in range(AT_ONCE)]:
            done.result()


@pytest.fixture
def crowded(serve: Serve) -> RawServer:
    """A server that answers when so many calls are under way, each on a connection of its own; later ones at once."""
    together = threading.Barrier(AT_ONCE)

    def answer(connection: socket.socket, request: bytes, server: RawServer) -> None:
        if len(server.requests) <= AT_ONCE:
            together.wait(10)
        answers(connection, request, server)

    return serve(answer)


def test_calls_one_after_the_other_share_a_connection(serve: Serve) -> None:
    server = serve(answers)
    with pool_of(server) as pool:
        for _ in range(5):
            asked(pool)
    assert server.connections == 1


def test_what_a_busy_moment_left_is_used_again(crowded: RawServer) -> None:
    with pool_of(crowded) as pool:
        asked_at_once(pool)
        asked_at_once(pool)
        for _ in range(5):
            asked(pool)
    assert crowded.connections == AT_ONCE


def test_no_connection_that_the_service_ended_is_used_or_kept(crowded: RawServer) -> None:
    with pool_of(crowded) as pool:
        asked_at_once(pool)
        for connection in crowded._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        asked(pool)
        assert crowded.connections == AT_ONCE + 1
        assert len(pool._idle) == 1


def test_those_that_a_busy_moment_left_are_let_go(crowded: RawServer) -> None:
    """The newest is used again and again; the others go as soon as their time is over."""
    with pool_of(crowded) as pool:
        asked_at_once(pool)
        last = pool._idle[-1]
        for connection in list(pool._idle)[:-1]:
            vars(connection._connection)["_expire_at"] = 0.0
        asked(pool)
        assert list(pool._idle) == [last]
    assert crowded.connections == AT_ONCE


def test_no_more_than_some_are_kept(crowded: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_paycheckout.client.pool._MOST_IDLE", 2)
    with pool_of(crowded) as pool:
        asked_at_once(pool)
        assert len(pool._idle) == 2


def test_an_answer_that_was_not_read_ends_its_connection(serve: Serve) -> None:
    server = serve(answers)
    with pool_of(server) as pool:
        begun(pool).close()
        assert not pool._idle
        asked(pool)
    assert server.connections == 2


def test_closing_waits_for_no_call_and_keeps_none(serve: Serve) -> None:
    server = serve(answers)
    with pool_of(server) as pool:
        asked(pool)
        received = begun(pool)
        pool.close()
        assert b"".join(received.chunks) == b"{}"
        received.close()
        assert not pool._idle
