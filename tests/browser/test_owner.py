"""The owner's view in a browser: a decision by keyboard alone. `test_every_page.py` looks at its pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.conftest import OpenShop
from tests.scripted import Shop
from tests.serving import served


@pytest.fixture
def desk(open_shop: OpenShop) -> Iterator[tuple[Shop, str]]:
    """A shop in which a payment of the order "o-1" is held, and its address."""
    shop = open_shop(DEBUG=True)
    shop.app.register_blueprint(shop.paycheckout.owner_view(lambda: "Ada Lovelace"))
    shop.has_held()
    with served(shop.app) as address:
        yield shop, f"{address}/paycheckout/owner"


def test_a_held_payment_is_decided_by_keyboard_and_without_scripts(
    desk: tuple[Shop, str], new_page: Callable[..., Page]
) -> None:
    shop, address = desk
    page = new_page(java_script_enabled=False)
    page.goto(address)
    page.get_by_role("link", name="See what is held").press("Enter")
    page.get_by_role("link", name="o-1").press("Enter")
    page.get_by_role("radio", name="Accept it").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("the rest came in cash")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Ada Lovelace accepted the held payment: the rest came in cash")).to_be_visible()
    assert [attempt.status for attempt in shop.attempts()][-1] == "paid"
