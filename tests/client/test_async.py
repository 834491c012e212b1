"""The client that is awaited: made from the same declarations, with the same limits, retries and signatures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from flask_paycheckout.client import (
    AsyncPaymentsClient,
    NotFound,
    PaymentsClient,
)
from flask_paycheckout.totals import Pay
from tests.client.samples import DEPOSIT
from tests.client.wire import (
    ACCESS_TOKEN,
    BASE_URL,
    CLIENT_ID,
    CLIENT_SECRET,
    Script,
    paged,
    refusal,
    success,
)

if TYPE_CHECKING:
    from flask_paycheckout.testing import Sandbox

Use = Callable[[AsyncPaymentsClient], Awaitable[Any]]


@asynccontextmanager
async def client_of(base_url: str = BASE_URL, **options: Any) -> AsyncIterator[AsyncPaymentsClient]:
    keys: dict[str, Any] = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "access_token": ACCESS_TOKEN}
    async with AsyncPaymentsClient(base_url, **keys | {"retries": 0} | options) as client:
        yield client


def using(use: Use, *answers: Any, **options: Any) -> tuple[Any, list[httpx.Request]]:
    """The result of a call over a script, and the requests."""
    script = Script(*answers)

    async def run() -> Any:
        async with client_of(transport=httpx.MockTransport(script), **options) as client:
            return await use(client)

    return asyncio.run(run()), script.requests


def test_both_clients_have_the_same_parts_and_methods() -> None:
    blocking, awaited = (
        {name: type(getattr(client, name)) for name in dir(client) if not name.startswith("_")}
        for client in (PaymentsClient(BASE_URL), AsyncPaymentsClient(BASE_URL))
    )
    assert blocking == awaited


def test_a_list_is_walked_and_its_pages_follow_each_other() -> None:
    pages = [success(paged({"id": f"r{number}"}, page=number, total_pages=2)) for number in (1, 2)]

    async def read(client: AsyncPaymentsClient) -> list[str]:
        walked = [found.id async for found in client.recipients.iterate(sort="-createdAt")]
        page = await client.recipients.list(search="Bo")
        following = await client.next_page(page)
        assert following is not None
        assert await client.next_page(following) is None
        return [*walked, *(found.id for found in (*page, *following))]

    found, requests = using(read, *pages, *pages)
    assert found == ["r1", "r2", "r1", "r2"]
    assert [request.url.query for request in requests[2:]] == [b"search=Bo", b"search=Bo&page=2"]


def test_reads_are_tried_again() -> None:
    _, requests = using(lambda client: client.deposits.get("chk_1"), refusal(500), success(DEPOSIT), retries=1)
    assert len(requests) == 2


def test_many_calls_run_at_once_against_the_sandbox(paycheckout_sandbox: Sandbox) -> None:
    async def run() -> None:
        keys = {"client_secret": "sandbox-secret-0123456789abcdef", "client_id": "sandbox-client"}
        sandbox = paycheckout_sandbox
        async with client_of(sandbox.base_url, transport=sandbox.async_transport, timeout=60, **keys) as client:
            links = await asyncio.gather(*(client.checkouts.create(Pay("12.50", "USD")) for _ in range(3)))
            assert len({link.id for link in links}) == 3
            with pytest.raises(NotFound):
                await client.deposits.get(links[0].id)

    asyncio.run(run())
