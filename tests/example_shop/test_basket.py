"""The basket: its entries and its exact total."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from example_shop.basket import MOST, Entry, total
from example_shop.products import SHELF, find

if TYPE_CHECKING:
    from tests.example_shop.conftest import Shopper


def test_totals_are_exact_to_the_cent() -> None:
    for quantity in (1, 3, 7, MOST):
        entries = [Entry(product, quantity) for product in SHELF]
        cents = sum(int(str(product.price).replace(".", "")) * quantity for product in SHELF)
        assert total(entries) == Decimal(cents) / 100
    assert total([]) == 0


def test_nobody_gets_more_of_a_jar_than_the_shop_sells(shopper: Shopper) -> None:
    shopper.takes(first_snow=15)
    shopper.takes(first_snow=15)
    assert f'value="{MOST}"' in shopper.sees("/basket/")


def test_nought_takes_a_jar_out(shopper: Shopper) -> None:
    shopper.takes(first_snow=1, north_wind=1)
    shopper.sends("/basket/change", **{"first-snow": 0, "north-wind": 2})
    page = shopper.sees("/basket/")
    assert "First Snow" not in page
    assert "$36.00" in page


@pytest.mark.parametrize("quantity", ["-1", "1.5", "lots", "", "99999", "٣"])
def test_a_quantity_is_a_whole_number(shopper: Shopper, quantity: str) -> None:
    assert shopper.sends("/basket/add", slug="first-snow", quantity=quantity).status_code == 400
    assert "First Snow" not in shopper.sees("/basket/")


def test_an_empty_basket_leads_back_to_the_shelf(shopper: Shopper) -> None:
    assert "Nothing but air" in shopper.sees("/basket/")
    assert shopper.browser.get("/orders/new").location == "/basket/"
    assert shopper.sends("/orders/", name="Ada", email="ada@example.com").location == "/basket/"


def test_a_form_of_another_site_is_refused(shopper: Shopper) -> None:
    assert shopper.sends("/basket/add", csrf="guessed", slug="first-snow", quantity=1).status_code == 400
    assert shopper.browser.post("/basket/add", data={"slug": "first-snow", "quantity": 1}).status_code == 400
    assert find("first-snow").name not in shopper.sees("/basket/")  # type: ignore[union-attr]  # it is on the shelf
