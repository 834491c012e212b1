"""The program of `every_resource` runs against the sandbox; `tests/test_merchant_types.py` has mypy check it."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import TYPE_CHECKING

from flask_paycheckout.client import AsyncPaymentsClient, PaymentsClient
from tests.client.every_resource import log_in, pay_out, take_money, use_what_is_deprecated, wait_for_it

if TYPE_CHECKING:
    from flask_paycheckout.testing import Sandbox


def test_it_runs(paycheckout_sandbox: Sandbox) -> None:
    sandbox, keys = paycheckout_sandbox, ("sandbox-client", "sandbox-secret-0123456789abcdef")
    with PaymentsClient(sandbox.base_url, transport=sandbox.transport, timeout=60) as client:
        own = client.of_account(*keys, access_token=log_in(client, sandbox))
        assert take_money(own, sandbox) > 0
        assert pay_out(own) == ["Bo Quist", "Bo", "bo@example.com", "Springfield"]
        assert use_what_is_deprecated(own) > 0
        amounts = sorted(each.amount for each in own.fiat_disbursements.iterate())

    async def wait() -> list[Decimal]:
        async with AsyncPaymentsClient(
            sandbox.base_url, client_id=keys[0], client_secret=keys[1], transport=sandbox.async_transport, timeout=60
        ) as awaited:
            return await wait_for_it(awaited)

    assert sorted(asyncio.run(wait())) == amounts
