"""Orders: placing them, and the deadline for changing and cancelling them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from example_shop.database import Order
from tests.example_shop.conftest import Payments, Shopper, rows, stored

if TYPE_CHECKING:
    from flask import Flask


def test_an_order_holds_the_basket_and_empties_it(shop: Flask, shopper: Shopper) -> None:
    order_id = shopper.orders(first_snow=2, summer_drizzle=1)
    page = shopper.sees(f"/orders/{order_id}")
    assert stored(shop, order_id).total == Decimal("57.90")
    assert "Pay $57.90" in page
    assert "Ada Lovelace" in page
    assert "Nothing but air" in shopper.sees("/basket/")


def key_in(page: str) -> str:
    """The key that the order form sends along."""
    field = re.search(r'name="form_key"[^>]* value="([^"]+)"', page)
    assert field
    return field[1]


def number_of(shopper: Shopper) -> str:
    """The path of the page of the order that this browser placed last."""
    with shopper.browser.session_transaction() as session:
        return f"/orders/{session['placed'][-1]}"


def test_another_person_with_the_same_session_did_not_place_the_order(shop: Flask, shopper: Shopper) -> None:
    """An attacker may have planted or stolen the session: the refund's link is for the browser with the form only."""
    shopper.takes(first_snow=1)
    shopper.sees("/orders/new")
    cookie, other = shopper.browser.get_cookie("session"), Shopper(shop)
    assert cookie
    other.browser.set_cookie("session", cookie.value)
    mine = shopper.orders(north_wind=1)
    answer = other.sends("/orders/new", name="Mallory", email="m@example.com", form_key=mine.ljust(43))
    assert answer.location != f"/orders/{mine}"
    with other.browser.session_transaction() as session:
        assert mine not in session["placed"]
    other.takes(first_snow=1)
    answer = other.sends("/orders/new", name="Mallory", email="m@example.com", form_key="")
    assert answer.status_code == 422, "two forms without a key would be one"


def test_a_button_that_is_pressed_twice_places_one_order(shop: Flask, shopper: Shopper) -> None:
    """Both posts have the cookie and the key of the form's page."""
    shopper.takes(first_snow=1)
    key = key_in(shopper.sees("/orders/new"))
    cookie = shopper.browser.get_cookie("session")
    assert cookie
    placed = set()
    for _ in range(2):
        shopper.browser.set_cookie("session", cookie.value)
        placed.add(shopper.sends("/orders/new", name="Ada", email="ada@example.com", form_key=key).location)
        assert number_of(shopper) in placed
    assert placed == {f"/orders/{order_id}" for order_id in rows(shop, Order.id)}
    assert len(placed) == 1
    assert shopper.orders(north_wind=1) not in str(placed)


@pytest.mark.parametrize(
    ("name", "email", "fault"),
    [
        pytest.param("", "ada@example.com", "tell us your name", id="no name"),
        pytest.param("Ada", "ada@home", "give an e-mail address", id="no domain"),
    ],
)
def test_a_faulty_order_form_says_what_is_wrong_and_keeps_the_rest(
    shopper: Shopper, name: str, email: str, fault: str
) -> None:
    shopper.takes(first_snow=1)
    answer = shopper.sends("/orders/new", name=name, email=email)
    assert answer.status_code == 422
    assert fault in answer.text
    assert f'value="{name or email}"' in answer.text
    assert "First Snow" in shopper.sees("/basket/")


def test_an_open_order_can_be_changed(shop: Flask, shopper: Shopper) -> None:
    order_id = shopper.orders(first_snow=2, north_wind=1)
    shopper.changes(order_id, first_snow=0, north_wind=3)
    assert stored(shop, order_id).total == Decimal("54.00")
    assert "First Snow" not in shopper.sees(f"/orders/{order_id}")


def test_a_cancelled_or_paid_order_stays_as_it_is(shop: Flask, shopper: Shopper, payments: Payments) -> None:
    cancelled, paid = shopper.orders(first_snow=2), payments.buys(first_snow=2)
    assert shopper.cancels(cancelled).status_code == 302
    assert "Pay $" not in shopper.sees(f"/orders/{cancelled}")
    for order_id, headline in ((cancelled, "This order is cancelled"), (paid, "Paid, thank you!")):
        assert shopper.changes(order_id, first_snow=1).status_code == 409
        assert shopper.cancels(order_id).status_code == 409
        assert shopper.reads(order_id) == headline
        assert stored(shop, order_id).total == Decimal("48.00")
