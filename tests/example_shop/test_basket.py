"""The basket: its entries and its exact total."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from example_shop.basket import MOST
from example_shop.database import Line, Order
from example_shop.products import SHELF

if TYPE_CHECKING:
    from tests.example_shop.conftest import Shopper


def test_totals_are_exact_to_the_cent() -> None:
    for quantity in (1, 3, 7, MOST):
        order = Order(lines=[Line(price=product.price, quantity=quantity) for product in SHELF])
        cents = sum(int(str(product.price).replace(".", "")) * quantity for product in SHELF)
        assert order.total == Decimal(cents) / 100
    assert Order().total == 0


@pytest.mark.parametrize("quantity", ["-1", "1.5", "lots", "", "99999"])
def test_a_quantity_is_a_whole_number(shopper: Shopper, quantity: str) -> None:
    assert shopper.sends("/basket/add", slug="first-snow", quantity=quantity).status_code == 400
    assert "First Snow" not in shopper.sees("/basket/")


def test_jars_that_another_tab_has_added_stay(shopper: Shopper) -> None:
    shopper.takes(first_snow=2, full_moon=3)
    assert shopper.sends("/basket/change", **{"first-snow": 0, "order": ""}).location == "/orders/new"
    assert ("First Snow" in shopper.sees("/basket/"), 'value="3"' in shopper.sees("/basket/")) == (False, True)


def test_a_form_of_another_site_is_refused(shopper: Shopper) -> None:
    assert shopper.sends("/basket/add", csrf_token="guessed", slug="first-snow", quantity=1).status_code == 400
    assert shopper.browser.post("/basket/add", data={"slug": "first-snow", "quantity": 1}).status_code == 400
    assert "First Snow" not in shopper.sees("/basket/")
