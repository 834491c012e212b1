"""Tools that hook into httpx see the client's calls: tracing, mocks, and a custom transport."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.client.samples import DEPOSIT
from tests.client.wire import client_of, http, says, success

if TYPE_CHECKING:
    from tests.client.conftest import Serve


@pytest.mark.parametrize(("kind", "name"), [(httpx.Client, "send"), (httpx.HTTPTransport, "handle_request")])
def test_every_call_over_a_socket_is_sent_by_httpx(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, kind: type, name: str
) -> None:
    server = serve(says(http(success(DEPOSIT))))
    seen, real = list[str](), getattr(kind, name)

    def watched(self: Any, request: httpx.Request, **options: Any) -> Any:
        seen.append(request.method)
        return real(self, request, **options)

    monkeypatch.setattr(kind, name, watched)
    with client_of(server.base_url) as client:
        client.deposits.get("chk_1")
        client.deposits.sandbox_update("chk_1", "completed")
        client.deposits.get("chk_1")
    assert [request.split(b" ")[0].decode() for _, request in server.requests] == seen == ["GET", "PATCH", "GET"]
