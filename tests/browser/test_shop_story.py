"""From the shelf to the supplier: somebody buys, the owner pays who caught it, and the bank's proof is read."""

from __future__ import annotations

import re
from collections.abc import Callable

import pypdf
from playwright.sync_api import Page, expect

from example_shop.serving import Demo
from tests.browser.test_paying import go_to_pay, pay, place_order


def test_a_jar_is_bought_and_its_supplier_paid(make_demo: Callable[..., Demo], new_page: Callable[..., Page]) -> None:
    """Without JavaScript, on a phone; only the bank's ten minutes are skipped."""
    demo = make_demo(reconciler=False)
    page = new_page(java_script_enabled=False, viewport={"width": 360, "height": 740})
    order_url = place_order(page, demo)
    go_to_pay(page)
    pay(page)
    page.goto(order_url)
    expect(page.get_by_role("heading", name="Paid, thank you!")).to_be_visible()
    expect(page.get_by_text("Your receipt goes to grace@example.com.")).to_be_visible()

    page.get_by_role("link", name="For the owner").click()
    page.get_by_label("Password").fill(demo.owner_password)
    page.get_by_role("button", name="Open the desk").click()
    page.get_by_role("link", name="Letters").click()
    expect(page.get_by_text("Sea Breeze")).to_be_visible()
    page.go_back()
    page.get_by_role("link", name="Suppliers").click()
    page.get_by_role("button", name="Pay what is owed").press("Enter")
    transfer = page.get_by_role("row").filter(has_text=re.compile("maren-"))
    expect(transfer).to_contain_text("12.35 USD")
    expect(transfer).to_contain_text("pending")

    demo.advance(minutes=11)
    page.get_by_role("button", name="Pay what is owed").press("Enter")
    expect(transfer).to_contain_text("completed")
    with page.expect_download() as download:
        transfer.get_by_role("link", name=re.compile("^PDF")).click()
    proof = pypdf.PdfReader(download.value.path()).pages[0].extract_text()
    assert "12.35" in proof
    assert f"Reference {download.value.suggested_filename.removesuffix('.pdf')}" in proof
