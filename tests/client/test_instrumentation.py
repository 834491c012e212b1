"""Programs that hook into httpx see the client's calls: tracing, mocks, and a transport of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from tests.client.wire import DEPOSIT, RawServer, client_of, http, says, success

if TYPE_CHECKING:
    from tests.client.conftest import Serve


@pytest.fixture
def server(serve: Serve) -> RawServer:
    return serve(says(http(success(DEPOSIT))))


def test_every_call_over_a_socket_is_sent_by_httpx(server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[httpx.Request] = []
    carried: list[httpx.Request] = []
    send, carry = httpx.Client.send, httpx.HTTPTransport.handle_request

    def seen_by_client(self: httpx.Client, request: httpx.Request, **options: object) -> httpx.Response:
        sent.append(request)
        return send(self, request, **options)  # type: ignore[arg-type]  # passed on as they came

    def seen_by_transport(self: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        carried.append(request)
        return carry(self, request)

    monkeypatch.setattr(httpx.Client, "send", seen_by_client)
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", seen_by_transport)
    with client_of(server.base_url) as client:
        client.deposits.get("chk_1")
        client.deposits.sandbox_update("chk_1", "completed")
        client.deposits.get("chk_1")
    methods = [request.split(b" ")[0].decode() for _, request in server.requests]
    assert [request.method for request in sent] == [request.method for request in carried] == methods
    assert methods == ["GET", "PATCH", "GET"]
