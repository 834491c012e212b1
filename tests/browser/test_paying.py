"""A customer pays an order of the example shop in a real browser, over sockets."""

from __future__ import annotations

import re
from collections.abc import Callable

import requests
from playwright.sync_api import Page, expect

from example_shop.serving import Demo


def put_into_basket(page: Page, demo: Demo, jar: str = "Sea Breeze", quantity: int = 1) -> None:
    page.goto(demo.shop_url)
    page.get_by_role("link", name=re.compile(jar, re.IGNORECASE)).first.click()
    page.get_by_label("How many").fill(str(quantity))
    page.get_by_role("button", name="Put into basket").click()


def place_order(page: Page, demo: Demo) -> str:
    """From an empty basket to the order's page; gives its address."""
    put_into_basket(page, demo)
    page.goto(demo.shop_url + "/basket")
    page.get_by_role("button", name="Order these jars").click()
    page.get_by_label("Your name").fill("Grace")
    page.get_by_label("Your e-mail address").fill("grace@example.com")
    page.get_by_role("button", name="Place the order").click()
    expect(page.get_by_role("button", name=re.compile("^Pay"))).to_be_visible()
    return page.url


def go_to_pay(page: Page) -> str:
    """Press the button; gives the checkout id of the hosted page that it leads to."""
    page.get_by_role("button", name=re.compile("^Pay")).press("Enter")
    expect(page.get_by_role("heading", name="How would you like to pay?")).to_be_visible()
    return page.url.rsplit("/", 1)[1]


def pick_a_method(page: Page) -> None:
    page.get_by_role("button", name="Continue").press("Enter")
    expect(page.get_by_role("heading", name="Complete your payment")).to_be_visible()


def pay(page: Page) -> None:
    pick_a_method(page)
    page.get_by_role("button", name=re.compile(r"^Pay \d")).press("Enter")
    expect(page.get_by_role("heading", name="Payment received")).to_be_visible()


def status_page(page: Page, order_url: str) -> str:
    page.goto(order_url)
    href = page.get_by_role("link", name="Follow the payment").get_attribute("href")
    assert href is not None
    return href


def test_a_customer_pays_an_order(make_demo: Callable[..., Demo], new_page: Callable[..., Page]) -> None:
    """Webhook, deposit read and signal: the shop knows before anybody reconciles, and the warehouse packs."""
    demo = make_demo(reconciler=False)
    page, phone = new_page(), new_page(viewport={"width": 360, "height": 740})
    order_url = place_order(page, demo)
    phone.goto(status_page(page, order_url))
    expect(phone.get_by_role("heading", name="Not paid yet")).to_be_visible()

    page.goto(order_url)
    go_to_pay(page)
    phone.reload()
    expect(phone.get_by_role("heading", name="Waiting for your payment")).to_be_visible()
    pay(page)

    # The other device notices by itself.
    expect(phone.get_by_role("heading", name="Paid, thank you")).to_be_visible()
    page.goto(order_url)
    expect(page.get_by_text("Your parcel is")).to_be_visible()
    parcel = page.locator("section .code").first.inner_text()
    assert parcel in requests.get(demo.warehouse_url, timeout=60).text
