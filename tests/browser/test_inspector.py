"""The sandbox's inspector in a real browser: it follows what happens, keeps what is typed, and fits on a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal

import pytest
from flask import Flask
from playwright.sync_api import Page, expect

from flask_paycheckout.sandbox import create_sandbox
from tests.sandbox.actors import CONTROL_TOKEN, Merchant, Tester
from tests.serving import served

NewPage = Callable[..., Page]


@pytest.fixture
def world() -> Flask:
    return create_sandbox(control_token=CONTROL_TOKEN, send_webhook=lambda url, headers, body: 200)


@pytest.fixture
def address(world: Flask) -> Iterator[str]:
    with served(world) as address:
        yield address


def test_it_follows_what_happens_without_losing_what_is_typed(world: Flask, address: str, page: Page) -> None:
    merchant = Merchant(world)
    page.clock.install()
    page.goto(f"{address}/inspector/requests")
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


def test_its_levers_work_without_javascript(world: Flask, address: str, new_page: NewPage) -> None:
    page = new_page(java_script_enabled=False)
    page.goto(f"{address}/inspector/control")
    page.get_by_label("Or by").fill("2")
    page.get_by_role("button", name="Advance").click()
    expect(page.get_by_role("status")).to_contain_text("The clock was advanced")
    assert Tester(world).does("GET", "clock")["offsetSeconds"] == 120
    page.get_by_role("button", name="Reset everything").click()
    page.get_by_role("button", name="Yes, forget everything").click()
    expect(page.get_by_role("status")).to_contain_text("back to the start state")
    assert Tester(world).does("GET", "clock")["offsetSeconds"] == 0


def test_the_payment_pages_buttons_for_developers_work_by_keyboard_and_without_javascript(
    world: Flask, address: str, new_page: NewPage
) -> None:
    checkout = Merchant(world).makes_checkout()
    Tester(world).picks(checkout)
    page = new_page(java_script_enabled=False)
    page.goto(f"{address}/checkout/{checkout}")
    page.get_by_role("button", name="Pay less").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Payment received")).to_be_visible()
    assert Merchant(world).reads_deposit(checkout).data["inputAmount"] == Decimal("6.25")
