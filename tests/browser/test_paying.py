"""A customer pays an order of the example shop in a real browser, over sockets."""

from __future__ import annotations

import re
from collections.abc import Callable

import requests
from playwright.sync_api import Page, expect

from example_shop.serving import Demo
from tests.browser.chromium import heading


def places_order(page: Page, demo: Demo) -> None:
    """Place an order, from an empty basket to the order's page."""
    page.goto(demo.shop_url)
    page.get_by_role("link", name=re.compile("sea breeze", re.IGNORECASE)).first.click()
    page.get_by_role("button", name="Put into basket").click()
    page.goto(f"{demo.shop_url}/basket")
    page.get_by_role("button", name="Order these jars").click()
    page.get_by_label("Your name").fill("Grace")
    page.get_by_label("Your e-mail address").fill("grace@example.com")
    page.get_by_role("button", name="Place the order").click()
    expect(page.get_by_role("button", name=re.compile("^Pay"))).to_be_visible()


def test_a_customer_pays_an_order(demo: Demo, new_page: Callable[..., Page]) -> None:
    """Webhook, deposit read and signal: the shop records the payment without reconcile, and the warehouse packs."""
    page, phone = new_page(), new_page(viewport={"width": 360, "height": 740})
    places_order(page, demo)
    order_url = page.url
    phone.goto(str(page.get_by_role("link", name="Follow the payment").get_attribute("href")))
    heading(phone, "Not paid yet")

    page.get_by_role("button", name=re.compile("^Pay")).press("Enter")
    heading(page, "How would you like to pay?")
    phone.reload()
    heading(phone, "Waiting for your payment")
    page.get_by_role("button", name="Continue").press("Enter")
    heading(page, "Complete your payment")
    page.get_by_role("button", name=re.compile(r"^Pay \d")).press("Enter")
    heading(page, "Payment received")

    # The other device polls the change.
    heading(phone, "Paid, thank you")
    page.goto(order_url)
    expect(page.get_by_text("Your parcel is")).to_be_visible()
    parcel = page.locator("section .code").first.inner_text()
    assert parcel in requests.get(demo.warehouse_url, timeout=60).text
