from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import httpx
import pytest

from flask_paycheckout.client import TransportFailed
from tests.client.samples import DEPOSIT
from tests.client.wire import CERTIFICATE, RawServer, client_of, http, success

if TYPE_CHECKING:
    import socket

    from tests.client.conftest import Serve


def test_the_deadline_holds_over_tls(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(connection: socket.socket, request: bytes, server: RawServer) -> None:
        if b"slow" not in request:
            connection.sendall(http(success(DEPOSIT)))

    monkeypatch.setattr(httpx, "create_ssl_context", lambda **_: ssl.create_default_context(cafile=str(CERTIFICATE)))
    server = serve(answer, secure=True)
    with client_of(server) as client:
        client.deposits.get("chk_1")
        # The handshake is over, which takes its time on a busy machine.
        with pytest.raises(TransportFailed, match="ReadTimeout"):
            client.within(1.5).deposits.get("slow")
    assert server.connections == 1
