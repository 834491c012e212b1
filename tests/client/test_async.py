"""The asynchronous client, made from the same declarations; `of_either_client` marks tests that use both clients."""

from __future__ import annotations

import asyncio
import gc
import warnings
from typing import TYPE_CHECKING

import httpx
import pytest

from flask_paycheckout.client import AsyncPaymentsClient, PaymentsClient, PaymentsError
from tests.client.samples import DEPOSIT
from tests.client.wire import (
    BASE_URL,
    CLIENT_ID,
    CLIENT_SECRET,
    Script,
    awaited_client_of,
    http,
    paged,
    refusal,
    says,
    success,
)

if TYPE_CHECKING:
    from tests.client.conftest import Serve


def test_both_clients_have_the_same_parts_and_methods() -> None:
    blocking, awaited = (
        {name: type(getattr(client, name)) for name in dir(client) if not name.startswith("_")}
        for client in (PaymentsClient(BASE_URL), AsyncPaymentsClient(BASE_URL))
    )
    assert blocking == awaited


def test_a_list_is_walked_and_its_pages_follow_each_other() -> None:
    pages = [success(paged({"id": f"r{number}"}, page=number, total_pages=2)) for number in (1, 2)]
    script = Script(*pages, *pages)

    async def read() -> list[str]:
        transport = httpx.MockTransport(script)
        async with AsyncPaymentsClient(
            BASE_URL, client_id=CLIENT_ID, client_secret=CLIENT_SECRET, transport=transport
        ) as client:
            walked = [found.id async for found in client.recipients.iterate(sort="-createdAt")]
            page = await client.recipients.list(search="Bo")
            following = await client.next_page(page)
            assert following is not None
            assert await client.next_page(following) is None
            return [*walked, *(found.id for found in (*page, *following))]

    assert asyncio.run(read()) == ["r1", "r2", "r1", "r2"]
    assert [request.url.query for request in script.requests[2:]] == [b"search=Bo", b"search=Bo&page=2"]


def test_reads_are_tried_again() -> None:
    script = Script(refusal(500), success(DEPOSIT))
    with awaited_client_of(BASE_URL, transport=httpx.MockTransport(script), retries=1) as client:
        client.deposits.get("chk_1")
    assert len(script.requests) == 2


def test_a_mock_in_the_place_of_httpx_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mocks such as respx and pytest-httpx give responses without a connection."""

    async def answer(transport: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=success(DEPOSIT))

    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", answer)
    with awaited_client_of(BASE_URL) as client:
        assert client.deposits.get("chk_1").deposit_id == "chk_1"


def test_connections_of_another_event_loop_are_refused_and_let_go(serve: Serve) -> None:
    server = serve(says(http(success(DEPOSIT))))
    # asyncio warns of the connection, which cannot be closed after its loop has ended.
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        client = AsyncPaymentsClient(server.base_url, client_id=CLIENT_ID, client_secret=CLIENT_SECRET, retries=0)
        asyncio.run(client.deposits.get("chk_1"))
        with pytest.raises(PaymentsError, match="belongs to another event loop") as caught:
            asyncio.run(client.deposits.get("chk_1"))
        assert caught.value.carried_out == "no"
        asyncio.run(client.close())
        del client, caught
        gc.collect()
    assert len(server.requests) == 1
