"""The client that is awaited: made from the same declarations; `of_either_client` marks what both are tried with."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx
import pytest

from flask_paycheckout.client import AsyncPaymentsClient, NotFound, PaymentsClient
from flask_paycheckout.totals import Pay
from tests.client.samples import DEPOSIT
from tests.client.wire import (
    BASE_URL,
    CLIENT_ID,
    CLIENT_SECRET,
    Script,
    awaited_client_of,
    paged,
    refusal,
    success,
)

if TYPE_CHECKING:
    from flask_paycheckout.testing import Sandbox


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


def test_many_calls_run_at_once_against_the_sandbox(paycheckout_sandbox: Sandbox) -> None:
    async def run() -> None:
        async with AsyncPaymentsClient(
            paycheckout_sandbox.base_url,
            client_id="sandbox-client",
            client_secret="sandbox-secret-0123456789abcdef",
            timeout=60,
            transport=paycheckout_sandbox.async_transport,
        ) as client:
            links = await asyncio.gather(*(client.checkouts.create(Pay("12.50", "USD")) for _ in range(3)))
            assert len({link.id for link in links}) == 3
            with pytest.raises(NotFound):
                await client.deposits.get(links[0].id)

    asyncio.run(run())
