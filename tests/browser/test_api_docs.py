"""The sandbox's API docs in a real browser, which signs the calls."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from flask_paycheckout.sandbox import create_sandbox
from tests.sandbox.actors import CONTROL_TOKEN
from tests.serving import served


@pytest.mark.parametrize("operation", ["Checkout/createCheckout", "Crypto%20disbursements/createCryptoDisbursements"])
def test_it_sends_the_example_of_a_call_with_its_credentials(page: Page, operation: str) -> None:
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text) if message.type == "error" else None)
    with served(create_sandbox(control_token=CONTROL_TOKEN)) as address:
        page.goto(f"{address}/docs#/{operation}")
        page.get_by_role("button", name="Execute").click()
        answer = page.locator(".live-responses-table")
        expect(answer.locator(".response-col_status").last).to_contain_text("200")
        expect(answer).to_contain_text("created successfully")
    assert refused == []
