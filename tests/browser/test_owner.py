"""The owner's view in a browser: every page on phone and desk, light and dark, and a decision by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from flask_paycheckout import Pay
from tests.browser.conftest import served
from tests.browser.looking import faults
from tests.conftest import OpenShop
from tests.scripted import Shop

LONG = "long-" * 40
PAGES = ("", "?status=held", "?search=nobody", "/order?id=twice", "/order?id=refused", "/paybacks")


@pytest.fixture
def desk(open_shop: OpenShop) -> Iterator[tuple[Shop, str]]:
    """A shop in which everything happened that the view can show, and its address."""
    shop = open_shop(DEBUG=True)
    shop.app.register_blueprint(shop.paycheckout.owner_view(lambda: "Ada Lovelace"))
    _goes_through_everything(shop)
    with served(shop.app) as address:
        yield shop, f"{address}/paycheckout/owner"


def _goes_through_everything(shop: Shop) -> None:
    for order_id in ("twice", "wrong", "refused", LONG, *(f"order-{number}" for number in range(26))):
        shop.totals[order_id] = Pay("12.50", "USD")
        shop.starts(order_id)
    first = shop.attempts("twice")[0].checkout_id
    shop.clock.advance(minutes=17)
    shop.has_paid("twice")
    shop.service.says(first, "completed")
    shop.settles(first)
    shop.has_held("wrong")
    shop.resolves(shop.has_held("refused"), accept=False)
    shop.clock.advance(hours=1)


def test_no_page_has_a_fault(desk: tuple[Shop, str], page: Page) -> None:
    _, address = desk
    found = {}
    for path in PAGES:
        page.goto(address + path)
        if wrong := faults(page):
            found[path] = wrong
    assert found == {}


def test_a_held_payment_is_decided_by_keyboard_and_without_scripts(
    desk: tuple[Shop, str], new_page: Callable[..., Page]
) -> None:
    shop, address = desk
    page = new_page(java_script_enabled=False)
    page.goto(address)
    page.get_by_role("link", name="See what is held").press("Enter")
    page.get_by_role("link", name="wrong").press("Enter")
    page.get_by_role("radio", name="Accept it").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("the rest came in cash")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Ada Lovelace accepted the held payment: the rest came in cash")).to_be_visible()
    assert [attempt.status for attempt in shop.attempts("wrong")][-1] == "paid"
