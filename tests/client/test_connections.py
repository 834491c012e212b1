"""The connection of each call, and its end."""

from __future__ import annotations

import contextlib
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from flask_paycheckout.client import PaymentsClient
from tests.client.conftest import Serve
from tests.client.samples import DEPOSIT
from tests.client.wire import RawServer, client_of, http, of_either_client, says, success

AT_ONCE = 6
answers = says(http(success(DEPOSIT)))


def reads_at_once(client: PaymentsClient) -> None:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for done in [threads.submit(client.deposits.get, "chk_1") for _ in range(AT_ONCE)]:
            done.result()


@pytest.fixture
def crowded(serve: Serve) -> RawServer:
    """A server that answers when `AT_ONCE` calls are under way, each on its own connection; later calls at once."""
    together = threading.Barrier(AT_ONCE)

    def answer(connection: socket.socket, request: bytes, server: RawServer) -> None:
        if len(server.requests) <= AT_ONCE:
            together.wait(60)
        answers(connection, request, server)

    return serve(answer)


def test_connections_of_a_busy_moment_are_used_again_until_the_service_ends_them(crowded: RawServer) -> None:
    with client_of(crowded) as client:
        reads_at_once(client)
        reads_at_once(client)
        assert crowded.connections == AT_ONCE
        for connection in crowded.opened:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        client.deposits.get("chk_1")
        client.deposits.get("chk_1")
    assert crowded.connections == AT_ONCE + 1


@of_either_client
def test_a_call_that_must_not_be_sent_twice_gets_a_new_connection(serve: Serve, client_of: Any) -> None:
    server = serve(answers)
    with client_of(server) as client:
        for _ in range(2):
            client.deposits.get("chk_1")
            client.deposits.sandbox_update("chk_1", "completed")
    assert [number for number, _ in server.requests] == [1, 2, 1, 3]
