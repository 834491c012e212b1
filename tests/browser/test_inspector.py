"""The sandbox's inspector in a real browser: it updates itself, keeps typed text, and fits on a phone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from flask_paycheckout.sandbox import create_sandbox
from tests.sandbox.actors import CONTROL_TOKEN, Merchant
from tests.serving import served


@pytest.fixture
def inspected() -> Iterator[tuple[Merchant, str]]:
    """The merchant of a sandbox, and its address."""
    world = create_sandbox(control_token=CONTROL_TOKEN)
    with served(world) as address:
        yield Merchant(world), address


def test_it_follows_what_happens_without_losing_what_is_typed(inspected: tuple[Merchant, str], page: Page) -> None:
    merchant, address = inspected
    page.clock.install()
    page.goto(f"{address}/inspector/requests?token={CONTROL_TOKEN}")
    merchant.reads_deposit("first")
    expect(page.get_by_text("/v1/deposit/first")).to_be_visible()
    page.get_by_label("Address contains").fill("dep")
    merchant.reads_deposit("second")
    page.wait_for_load_state("networkidle")
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    page.clock.run_for(10_000)
    assert fetched == []
    page.get_by_label("Address contains").blur()
    expect(page.get_by_text("/v1/deposit/second")).to_be_visible()
    expect(page.get_by_label("Address contains")).to_have_value("dep")
