"""The owner's view in a browser: decisions by keyboard alone. `test_every_page.py` looks at its pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.conftest import OpenShop
from tests.payouts.shop import payout, pays_out
from tests.scripted import Shop
from tests.serving import served


@pytest.fixture
def owner(open_shop: OpenShop) -> Iterator[tuple[Shop, str]]:
    """A shop, and the address of its owner's view."""
    shop = open_shop(DEBUG=True)
    shop.app.register_blueprint(shop.paycheckout.owner_view(lambda: "Ada Lovelace"))
    with served(shop.app) as address:
        yield shop, f"{address}/paycheckout/owner"


def test_a_payment_is_refunded_and_a_payout_approved_by_keyboard_and_without_scripts(
    owner: tuple[Shop, str], new_page: Callable[..., Page]
) -> None:
    page, (shop, address) = new_page(java_script_enabled=False), owner
    shop.has_held()
    pays_out(shop, approve=True)
    page.goto(address)
    page.get_by_role("link", name="Look and approve").press("Enter")
    page.get_by_role("radio", name="Approve it").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Ada Lovelace approved it", exact=True)).to_be_visible()
    assert payout(shop, "maker-1").status == "ready"
    page.goto(f"{address}/order?order_id=o-1")
    page.get_by_role("link", name="Refund it").press("Enter")
    page.get_by_label("Amount in USD").fill("0.40")
    page.get_by_label("Why").focus()
    page.keyboard.type("too much arrived")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Link for the customer")).to_have_value(re.compile("/paycheckout/refunds/"))
    page.goto(f"{address}/payouts")
    page.get_by_label("Kind").press("r")
    page.get_by_role("button", name="Show").press("Enter")
    expect(page.get_by_text("$0.40", exact=True)).to_be_visible()
    expect(page.get_by_text("maker-1")).not_to_be_visible()


def test_a_summary_is_as_easy_to_hit_and_its_ring_as_strong_as_those_of_links(
    owner: tuple[Shop, str], page: Page
) -> None:
    page.goto(f"{owner[1]}/requests")
    rings = [ring_of(page.get_by_text(text)) for text in ("Books", "Ask for money without an order")]
    assert rings[0] == rings[1]
    box = page.locator("summary").bounding_box()
    assert box is not None
    assert box["height"] >= 24


def ring_of(stop: Locator) -> str:
    """The ring around an element at which a keyboard stops."""
    return str(stop.evaluate("stop => (stop.focus({focusVisible: true}), getComputedStyle(stop).outline)"))


def test_a_page_of_a_dark_screen_is_printed_dark_on_white(
    owner: tuple[Shop, str], new_page: Callable[..., Page]
) -> None:
    page, (shop, address) = new_page(color_scheme="dark"), owner
    shop.has_paid()
    page.goto(f"{address}/order?order_id=o-1")
    seen = brightness_of(page.locator("h1"))
    page.emulate_media(media="print")
    assert brightness_of(page.locator("h1")) < 100 < seen


def brightness_of(shown: Locator) -> float:
    """The brightness of a text, from 0 to 255."""
    colour = str(shown.evaluate("shown => getComputedStyle(shown).color"))
    return sum(map(float, re.findall(r"[0-9.]+", colour)[:3])) / 3
