"""Calls over a real connection; endless, broken and forged answers are in tests/hostile/test_answers.py."""

from __future__ import annotations

import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from flask_paycheckout.client import TransportFailed
from tests.client.samples import DEPOSIT
from tests.client.wire import RawServer, client_of, drips, http, says, success

if TYPE_CHECKING:
    from tests.client.conftest import Serve

GOOD = http(success(DEPOSIT))


def test_a_connection_that_broke_is_not_used_again(serve: Serve) -> None:
    turns = iter([drips(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", b""), says(GOOD)])
    server = serve(lambda *call: next(turns)(*call))
    with client_of(server.base_url) as client:
        with pytest.raises(TransportFailed):
            client.within(1.5).deposits.get("chk_1")
        assert client.deposits.get("chk_1").deposit_id == "chk_1"
    assert [number for number, _ in server.requests] == [1, 2]


def test_one_client_serves_many_threads_each_its_own_answer(serve: Serve) -> None:
    def answer(connection: socket.socket, request: bytes, server: RawServer) -> None:
        deposit_id = request.split(b" ")[1].rsplit(b"/")[-1].decode()
        connection.sendall(http(success({"depositId": deposit_id, "status": "pending"})))

    server = serve(answer)
    with client_of(server.base_url) as client, ThreadPoolExecutor(8) as threads:
        ids = [f"chk_{number}" for number in range(160)]
        got = list(threads.map(lambda name: client.deposits.get(name).deposit_id, ids))
    assert got == ids
    assert len(server.requests) == 160
    assert server.connections <= 8


ADDRESSES = 30


@pytest.fixture
def many_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """`many.test` has thirty addresses, of which all but the first are the server's."""
    real = socket.getaddrinfo

    def look_up(host: str, port: int, *kinds: Any, **options: Any) -> list[Any]:
        if host != "many.test":
            return real(host, port, *kinds, **options)
        addresses = ["127.0.0.2", *["127.0.0.1"] * (ADDRESSES - 1)]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a listener that leaves new connections unanswered")
@pytest.mark.usefixtures("many_addresses")
def test_an_address_that_never_answers_leaves_time_for_the_next(serve: Serve) -> None:
    server = serve(says(GOOD))
    port = int(server.base_url.rsplit(":", 1)[1])
    with ExitStack() as stack:
        deaf = stack.enter_context(socket.socket())
        deaf.bind(("127.0.0.2", port))
        deaf.listen(0)
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.2", port))
        begun = time.monotonic()
        with client_of(server.base_url.replace("127.0.0.1", "many.test"), timeout=60.0) as client:
            assert client.deposits.get("chk_1").deposit_id == "chk_1"
        # At least one address's share of the time; the upper limit allows for a busy machine.
        assert 1.8 < time.monotonic() - begun < 60.0
