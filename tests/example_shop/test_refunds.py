"""The owner refunds a payment: the customer gives the destination on the order's page, and no refund is sent twice."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from example_shop.payments import paycheckout
from example_shop.stock import OPENING, free_jars
from flask_paycheckout import ByHand
from tests.example_shop.conftest import WAREHOUSE, Owner, Payments, Shopper, newest_checkout, rows, stored

if TYPE_CHECKING:
    from collections.abc import Callable

    import responses
    from flask import Flask
    from werkzeug.test import TestResponse

    from flask_paycheckout.testing import Sandbox

ACCOUNT = {
    "account_name": "Ada Lovelace",
    "account_number": "4000123412",
    "bank_name": "First Sandbox Bank",
    "email": "ada@example.com",
    "address": "1 Main Street",
    "city": "Springfield",
    "post_code": "12345",
    "country": "United States",
}


def refunds(shop: Flask) -> list[Any]:
    return [payout for payout in rows(shop, paycheckout.Payout) if payout.kind == "refund"]


def claim(shopper: Shopper, order_id: str) -> TestResponse:
    """Follow the link on the order's page and say where the money goes."""
    link = re.search(r'<a class="button" href="([^"]*/refunds/[^"]+)">', shopper.sees(f"/orders/{order_id}"))
    assert link, "the page has no link"
    page = shopper.sees(link[1])
    assert "account_number" in page
    headers = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    return shopper.browser.post(link[1], data=ACCOUNT, headers=headers)


def test_an_order_is_refunded_to_where_the_customer_says(
    shop: Flask, owner: Owner, shopper: Shopper, payments: Payments, paycheckout_sandbox: Sandbox
) -> None:
    order_id = payments.buys(summer_drizzle=1)
    owner.logs_in()
    assert "Refund 9.90 USD" in owner.sees("/owner/")
    assert owner.refunds(order_id).status_code == 302
    assert stored(shop, order_id).state == "refunded"
    assert "Refund 9.90 USD" not in owner.sees("/owner/")
    assert shopper.reads(order_id) == "This order is refunded"
    page = shopper.sees(f"/orders/{order_id}")
    assert page.index("Say where it goes") < page.index("Your receipt")
    assert claim(shopper, order_id).status_code in (200, 303)
    [stored_refund] = refunds(shop)
    assert (stored_refund.status, stored_refund.amount, stored_refund.revision) == (
        "waiting",
        stored(shop, order_id).total,
        1,
    )
    assert ACCOUNT["account_number"] not in repr(vars(stored_refund))
    with shop.app_context():
        paycheckout.approve_payout(stored_refund.reference, by="the owner", seen=1)
    assert "on their way" not in shopper.sees(f"/orders/{order_id}"), "it is not sent yet"
    payments.passes(1)
    assert "9.90 USD are on their way" in shopper.sees(f"/orders/{order_id}")
    paycheckout_sandbox.finish(stored_refund, "completed")
    payments.passes(60)
    assert [refund.status for refund in refunds(shop)] == ["completed"]
    assert "We have paid 9.90 USD back to you." in shopper.sees(f"/orders/{order_id}")
    with shop.app_context():
        assert free_jars("summer-drizzle") == OPENING - 1, "it may be on its way"


def test_money_is_refunded_once_with_a_reason_and_by_the_owner(shop: Flask, owner: Owner, payments: Payments) -> None:
    order_id = payments.buys(first_snow=1)
    assert owner.refunds(order_id).location == "/owner/login"
    owner.logs_in()
    assert owner.refunds(order_id, why=" ").status_code == 400
    assert owner.sends("/owner/refunds/no-such-checkout", why="lost").status_code == 404
    assert refunds(shop) == []
    assert [owner.refunds(order_id).status_code for _ in range(2)] == [302, 409]
    assert len(refunds(shop)) == 1


def test_a_visitor_who_only_knows_the_orders_number_gets_no_link_to_its_refund(
    shop: Flask, owner: Owner, payments: Payments
) -> None:
    order_id = payments.buys(first_snow=1)
    owner.logs_in()
    owner.refunds(order_id)
    page = shop.test_client().get(f"/orders/{order_id}").text
    assert "in the browser that ordered" in page
    assert "/refunds/" not in page


@pytest.mark.parametrize("by_hand", [True, False])
def test_an_order_that_the_extensions_own_page_refunds_is_closed_too(
    shop: Flask, payments: Payments, *, by_hand: bool
) -> None:
    order_id = payments.buys(small_rainbow=6)
    payments.passes(2)
    to = ByHand() if by_hand else None
    for amount, state in (("6.08", "open"), (None, "refunded")):
        with shop.app_context():
            paycheckout.refund(newest_checkout(shop, order_id), amount, by="Ada", why="broken", to=to)
            paycheckout.session.commit()
        payments.passes(1)
        assert stored(shop, order_id).state == state
    with shop.app_context():
        assert free_jars("small-rainbow") == OPENING


def test_a_deposit_that_is_refunded_closes_the_order_and_frees_its_jars(
    shop: Flask, owner: Owner, shopper: Shopper, payments: Payments
) -> None:
    order_id = payments.buys(small_rainbow=6)
    payments.passes(2)
    with shop.app_context():
        assert free_jars("small-rainbow") == OPENING - 6
    owner.logs_in()
    assert owner.refunds(order_id).status_code == 302
    assert shopper.reads(order_id) == "This order is refunded"
    assert "Pay $" not in shopper.sees(f"/orders/{order_id}")
    with shop.app_context():
        assert free_jars("small-rainbow") == OPENING


def test_a_refund_that_takes_the_place_of_a_failed_one_is_told_alone(
    shop: Flask, owner: Owner, shopper: Shopper, payments: Payments, paycheckout_sandbox: Sandbox
) -> None:
    order_id = payments.buys(summer_drizzle=1)
    owner.logs_in()
    owner.refunds(order_id)
    claim(shopper, order_id)
    [failed] = refunds(shop)
    with shop.app_context():
        paycheckout.approve_payout(failed.reference, by="the owner", seen=1)
    payments.passes(1)
    paycheckout_sandbox.finish(failed, "failed")
    payments.passes(60)
    assert "We still owe you 9.90 USD" in shopper.sees(f"/orders/{order_id}")
    owner.refunds(order_id, why="to another bank")
    page = shopper.sees(f"/orders/{order_id}")
    assert page.count("9.90 USD") == 1
    assert "Say where it goes" in page


def test_an_order_that_is_refunded_before_it_was_packed_is_not_sent(
    make_shop: Callable[..., Flask], warehouse: responses.RequestsMock, paycheckout_sandbox: Sandbox
) -> None:
    shop = make_shop(WAREHOUSE_URL=WAREHOUSE)
    payments, owner = Payments(Shopper(shop), paycheckout_sandbox), Owner(shop)
    warehouse.post(f"{WAREHOUSE}/parcels", status=503)
    order_id = payments.buys(first_snow=1)
    owner.logs_in()
    owner.refunds(order_id)
    payments.passes(60)
    assert len(warehouse.calls) == 1
    with shop.app_context():
        assert paycheckout.explain(order_id).status == "paid"
