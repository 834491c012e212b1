"""The refund page in a real browser: by keyboard, without JavaScript, on the narrowest phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect

from flask_paycheckout.payouts.claims import max_length
from tests.browser.chromium import heading
from tests.browser.looking import faults, overhang
from tests.conftest import OpenShop
from tests.payouts.claiming import FORM, Customer, refunded
from tests.serving import served

NewPage = Callable[..., Page]


@dataclass
class Site:
    """A shop on a socket, and a customer with the link to a refund."""

    customer: Customer
    address: str

    @property
    def url(self) -> str:
        return self.address + self.customer.path


@pytest.fixture
def site(open_shop: OpenShop) -> Iterator[Site]:
    shop = open_shop(PAYCHECKOUT_BASE_URL="http://127.0.0.1:1")
    shop.paycheckout.order_url(lambda order_id: "/")
    with served(shop.app) as address:
        yield Site(refunded(shop), address)


def test_the_form_is_filled_in_and_sent_by_keyboard_alone_without_javascript(site: Site, new_page: NewPage) -> None:
    page = new_page(java_script_enabled=False)
    page.goto(site.url)
    heading(page, "Where should your refund go?")
    order = ("account_name", "account_number", "bank_name", "country", "email", "address", "city", "post_code")
    for name in order:
        page.keyboard.press("Tab")
        expect(page.locator(f"#{name}")).to_be_focused()
        page.keyboard.type(FORM[name])
    page.keyboard.press("Enter")
    heading(page, "The shop is checking your refund")
    expect(page.locator("dd", has_text="Zoë Quist")).to_be_visible()
    # The destination can also be corrected by keyboard.
    expect(page.locator("#city")).to_be_hidden()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#city")).to_be_visible()


def test_a_fault_is_where_the_keyboard_is_and_nothing_else_is_lost(site: Site, page: Page) -> None:
    page.goto(site.url)
    for name, value in (FORM | {"email": "zoe at example"}).items():
        page.locator(f"#{name}").select_option(value) if name == "country" else page.locator(f"#{name}").fill(value)
    # Turn off the browser's own validation.
    page.locator("form").evaluate("form => { form.noValidate = true }")
    page.get_by_role("button").click()
    expect(page.get_by_role("alert")).to_be_visible()
    email = page.get_by_label("E-mail address")
    expect(email).to_be_focused()
    expect(email).to_have_value("zoe at example")
    expect(email).to_have_accessible_description("This is not an e-mail address; it looks like name@example.com.")
    expect(page.get_by_label("Account number or IBAN")).to_have_value("")
    expect(page.get_by_label("Name of the bank")).to_have_value("First Bank")
    assert faults(page) == []


def test_the_longest_names_fit_on_the_narrowest_phone(site: Site, new_page: NewPage) -> None:
    page = new_page(viewport={"width": 320, "height": 640}, java_script_enabled=False)
    site.customer.sends(**{name: "Z" * max_length(name) for name in ("account_name", "bank_name")})
    page.goto(site.url)
    page.locator(".paycheckout-change > summary").click()
    assert overhang(page) == 0
    page.locator("#account_name").fill("x" * 200)
    page.locator("#email").fill("x")
    # The browser's own validation refuses it before sending.
    page.get_by_role("button").click()
    assert page.locator("#email:invalid").count() == 1
    assert site.customer.refund.revision == 1
