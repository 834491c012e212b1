"""From the shelf to the supplier, and back: somebody buys, who caught it is paid, and a jar is refunded."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from example_shop.serving import Demo
from tests.browser.test_paying import go_to_pay, pay, place_order
from tests.example_shop.test_refunds import ACCOUNT


def test_a_jar_is_refunded_to_where_its_buyer_says(
    make_demo: Callable[..., Demo], new_page: Callable[..., Page]
) -> None:
    """Without JavaScript, on a phone, and the owner on a desktop."""
    demo = make_demo(reconciler=False)
    page, desk = new_page(java_script_enabled=False, viewport={"width": 360, "height": 740}), new_page()
    order_url = place_order(page, demo)
    go_to_pay(page)
    pay(page)

    log_in(desk, demo)
    desk.get_by_text(re.compile(r"^Refund \d")).click()
    desk.get_by_label(re.compile("is refunded$")).fill("It arrived broken.")
    desk.get_by_role("button", name="Refund", exact=True).click()
    expect(desk.get_by_text("It is refunded as soon as")).to_be_visible()

    page.goto(order_url)
    page.get_by_role("link", name="say where it goes").click()
    for field, value in ACCOUNT.items():
        if field == "country":
            page.locator("[name=country]").select_option(value)
        else:
            page.locator(f"[name={field}]").fill(value)
    page.locator("main form button").click()
    page.wait_for_url("**/refunds/**")

    desk.get_by_role("link", name="Payouts").click()
    desk.get_by_role("link", name=re.compile(r"^Refund [0-9]+ of order")).click()
    expect(desk.get_by_text("•••• 412").first).to_be_visible()
    desk.get_by_role("radio", name=re.compile("^Approve it")).check()
    desk.get_by_role("button", name="Save").click()
    for minutes in (1, 11):
        demo.reconcile()
        demo.advance(minutes=minutes)
    demo.reconcile()
    desk.reload()
    expect(desk.get_by_role("heading", name=re.compile("completed"))).to_be_visible()
    page.reload()
    expect(page.get_by_text("•••• 412").first).to_be_visible()


def log_in(page: Page, demo: Demo) -> None:
    page.goto(f"{demo.shop_url}/owner/login")
    page.get_by_label("Password").fill(demo.owner_password)
    page.get_by_role("button", name="Open the desk").click()
