"""The client that is awaited: made from the same declarations, with the same limits, retries and signatures."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from flask_paycheckout.client import (
    AsyncPaymentsClient,
    NotFound,
    OutcomeUnknown,
    PaymentsClient,
    TransportFailed,
)
from flask_paycheckout.totals import Pay
from tests.client import samples
from tests.client.samples import DEPOSIT
from tests.client.wire import (
    ACCESS_TOKEN,
    BASE_URL,
    CLIENT_ID,
    CLIENT_SECRET,
    Script,
    drips,
    http,
    paged,
    refusal,
    says,
    success,
)

if TYPE_CHECKING:
    from flask_paycheckout.testing import Sandbox
    from tests.client.conftest import Serve

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


def test_reads_are_tried_again_and_money_is_not() -> None:
    _, requests = using(lambda client: client.deposits.get("chk_1"), refusal(500), success(DEPOSIT), retries=1)
    assert len(requests) == 2
    with pytest.raises(OutcomeUnknown, match="ref-1"):
        using(lambda client: client.fiat_disbursements.create("USD", samples.ITEMS), httpx.ReadTimeout(""), retries=2)


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["head", "body"])
def test_a_dripping_answer_ends_with_the_budget(serve: Serve, start: bytes) -> None:
    async def run() -> None:
        async with client_of(serve(drips(start, b"a")).base_url, timeout=0.3) as client:
            await client.deposits.get("chk_1")

    began = time.monotonic()
    with pytest.raises(TransportFailed, match="in time") as caught:
        asyncio.run(run())
    assert caught.value.request_sent
    assert time.monotonic() - began < 5


def test_what_must_not_be_sent_twice_gets_a_new_connection(serve: Serve) -> None:
    server = serve(says(http(success(DEPOSIT))))

    async def run() -> None:
        async with client_of(server.base_url) as client:
            for _ in range(2):
                await client.deposits.get("chk_1")
                await client.deposits.sandbox_update("chk_1", "completed")

    asyncio.run(run())
    assert [number for number, _ in server.requests] == [1, 2, 1, 3]


def test_what_follows_an_answer_is_never_the_answer_to_the_next_call(serve: Serve) -> None:
    answer = http(success(DEPOSIT))
    forged = http(success({**DEPOSIT, "depositId": "forged"}))
    server = serve(says(answer + forged))

    async def run() -> list[str]:
        async with client_of(server.base_url) as client:
            return [(await client.deposits.get("chk_1")).deposit_id for _ in range(3)]

    assert "forged" not in asyncio.run(run())


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
