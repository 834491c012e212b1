"""The shop's order_total, and its receivers."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from example_shop.payments import order_total, paycheckout
from example_shop.receipts import Letter
from flask_paycheckout import Pay, Receive
from tests.example_shop.conftest import Payments, Shopper, rows, stored

if TYPE_CHECKING:
    from flask import Flask

    from flask_paycheckout.testing import Sandbox


def total_of(shop: Flask, order_id: str) -> Pay | Receive | None:
    with shop.app_context():
        return order_total(order_id)


def test_an_order_is_priced_by_what_the_customer_pays(shop: Flask, shopper: Shopper) -> None:
    assert total_of(shop, shopper.orders(small_rainbow=3)) == Pay(Decimal("115.20"), "USD")


def test_an_order_with_a_consigned_jar_is_priced_by_what_the_shop_receives(shop: Flask, shopper: Shopper) -> None:
    order_id = shopper.orders(small_rainbow=1, sea_breeze=1)
    assert total_of(shop, order_id) == Receive(Decimal("50.75"), "USD", pay_in="USD")
    assert "and the fee" in shopper.sees(f"/orders/{order_id}")
    shopper.changes(order_id, small_rainbow=1, sea_breeze=0)
    assert total_of(shop, order_id) == Pay(Decimal("38.40"), "USD")


def test_only_open_orders_are_to_be_paid(shop: Flask, shopper: Shopper) -> None:
    order_id = shopper.orders(small_rainbow=1)
    shopper.cancels(order_id)
    assert total_of(shop, order_id) is total_of(shop, "AAAA-BBBB-CCCC") is None


def test_the_payment_pages_lead_back_to_the_order(shop: Flask, shopper: Shopper) -> None:
    order_id = shopper.orders(small_rainbow=1)
    shopper.sees(f"/orders/{order_id}")
    back = f'href="/orders/{order_id}"'
    with shop.test_request_context():
        status_page = paycheckout.status_url(order_id).removeprefix("http://localhost")
    assert back in shopper.sees(status_page)
    stranger = Shopper(shop).sees(status_page)
    assert order_id not in stranger, "its address is the key to the order"
    assert f"…-{order_id[-4:]}" in stranger
    shopper.cancels(order_id)
    assert back in shopper.sees(status_page)


def test_a_payment_is_followed_from_page_to_paid(
    shop: Flask, shopper: Shopper, paycheckout_sandbox: Sandbox, payments: Payments
) -> None:
    order_id = shopper.orders(first_snow=1)
    checkout_id = shopper.starts_to_pay(order_id)
    page = shopper.sees(f"/orders/{order_id}")
    assert ("begun to pay" in page, "is open" in page) == (True, False), "it may be over, or ask for an earlier total"
    paycheckout_sandbox.pick(checkout_id)
    payments.passes(2)
    assert shopper.reads(order_id) == "We are waiting for your money"
    paycheckout_sandbox.pay(checkout_id)
    payments.passes(10)
    assert shopper.reads(order_id) == "Paid, thank you!"


def test_a_big_order_is_paid_by_a_deposit_and_the_rest(shop: Flask, shopper: Shopper, payments: Payments) -> None:
    order_id = shopper.orders(small_rainbow=6)
    assert "Pay $46.08" in shopper.sees(f"/orders/{order_id}")
    payments.pays(order_id)
    assert shopper.reads(order_id) == "A part is paid, thank you!"
    assert "Pay $184.32" in shopper.sees(f"/orders/{order_id}")
    assert shopper.cancels(order_id).status_code == 409
    payments.pays(order_id)
    assert stored(shop, order_id).state == "paid"
    [receipt] = rows(shop, Letter.text)
    assert "In all:      $230.40" in receipt
