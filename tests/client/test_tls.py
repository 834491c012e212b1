"""The pool over TLS. `localhost.pem` is a self-signed certificate with its key, good for these tests only."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from flask_paycheckout.client import TransportFailed
from tests.client.samples import DEPOSIT
from tests.client.wire import RawServer, client_of, http, success

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

CERTIFICATE = Path(__file__).with_name("localhost.pem")
BUDGET = 1.5


@pytest.fixture
def secure_server(long_kept: None) -> Iterator[RawServer]:
    def answer(connection: socket.socket, request: bytes, server: RawServer) -> None:
        if b"slow" not in request:
            connection.sendall(http(success(DEPOSIT)))

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    server = RawServer(answer, context)
    yield server
    server.close()


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(httpx, "create_ssl_context", lambda **_: ssl.create_default_context(cafile=str(CERTIFICATE)))


@pytest.mark.usefixtures("trusted")
def test_the_deadline_holds_over_tls(secure_server: RawServer) -> None:
    with client_of(secure_server) as client:
        client.deposits.get("chk_1")
        # The handshake is over, which takes its time on a busy machine.
        with pytest.raises(TransportFailed, match="ReadTimeout"):
            client.within(BUDGET).deposits.get("slow")
    assert secure_server.connections == 1
