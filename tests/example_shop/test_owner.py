"""The owner's desk: behind a password, with every order and every payment that waits for a decision."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.example_shop.conftest import PASSWORD, Owner, Shopper, newest_checkout, stored

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

    from flask_paycheckout.testing import Sandbox


@pytest.fixture
def held_order(shopper: Shopper, paycheckout_sandbox: Sandbox) -> str:
    """An order that was changed while it was being paid."""
    order_id = shopper.orders(first_snow=1)
    checkout_id = shopper.starts_to_pay(order_id)
    shopper.changes(order_id, first_snow=2)
    paycheckout_sandbox.pick(checkout_id)
    paycheckout_sandbox.pay(checkout_id)
    paycheckout_sandbox.deliver_to(shopper.browser)
    return order_id


def test_the_desk_needs_the_password(owner: Owner, shopper: Shopper) -> None:
    order_id = shopper.orders(first_snow=1)
    assert owner.browser.get("/owner/").location == "/owner/login"
    assert owner.logs_in("a foul wind").status_code == 403
    assert owner.logs_in(f"{PASSWORD} é").status_code == 403
    assert owner.browser.get("/owner/").location == "/owner/login"
    assert owner.logs_in().location == "/owner/"
    assert order_id in owner.sees("/owner/")
    owner.sends("/owner/logout")
    assert owner.browser.get("/owner/").location == "/owner/login"


@pytest.mark.parametrize("password", ["", "None", "anything"])
def test_a_shop_without_a_password_has_no_desk(make_shop: Callable[..., Flask], password: str) -> None:
    owner = Owner(make_shop(OWNER_PASSWORD=None))
    assert owner.logs_in(password).status_code == 403


def test_decisions_need_the_password(shop: Flask, owner: Owner, held_order: str) -> None:
    owner.decides(newest_checkout(shop, held_order), "accept", "it is me, really")
    assert stored(shop, held_order)["state"] == "open"


def test_the_desk_shows_state_payment_and_total(owner: Owner, shopper: Shopper) -> None:
    shopper.orders(first_snow=1)
    shopper.cancels(shopper.orders(northern_lights=11))
    shopper.starts_to_pay(shopper.orders(north_wind=1))
    owner.logs_in()
    page = owner.sees("/owner/")
    for word in ("$24.00", "$1,320.00", "$18.00", ">open<", ">cancelled<", ">unpaid<", ">created<"):
        assert word in page


def test_the_desk_says_why_money_is_held(owner: Owner, held_order: str) -> None:
    owner.logs_in()
    page = owner.sees("/owner/")
    assert held_order in page
    assert "the order was changed after this payment began" in page
    assert "24.00 USD" in page


def test_the_owner_accepts_held_money(shop: Flask, owner: Owner, shopper: Shopper, held_order: str) -> None:
    owner.logs_in()
    owner.decides(newest_checkout(shop, held_order), "accept", "an old friend")
    assert stored(shop, held_order)["state"] == "paid"
    assert shopper.reads(held_order) == "Paid, thank you!"
    assert "Money that waits" not in owner.sees("/owner/")


def test_the_owner_rejects_held_money_and_the_order_may_be_paid_anew(
    shop: Flask, owner: Owner, shopper: Shopper, held_order: str
) -> None:
    owner.logs_in()
    checkout_id = newest_checkout(shop, held_order)
    owner.decides(checkout_id, "reject", "wrong sum")
    assert stored(shop, held_order)["state"] == "open"
    assert shopper.reads(held_order) == "Waiting for your payment"
    assert shopper.starts_to_pay(held_order) != checkout_id


def test_the_extensions_own_view_is_behind_the_same_password(
    shop: Flask, owner: Owner, shopper: Shopper, held_order: str
) -> None:
    assert owner.browser.get("/owner/payments").location == "/owner/login"
    owner.logs_in()
    assert held_order in owner.sees("/owner/payments?status=held")
    story = owner.sees(f"/owner/payments/order?id={held_order}")
    form = re.search(r'action="(/owner/payments/held/[^"]+)"', story)
    assert form
    decision = {"decision": "accept", "why": "an old friend"}
    other_site = {"Origin": "http://elsewhere.example", "Sec-Fetch-Site": "cross-site"}
    assert owner.browser.post(form[1], data=decision, headers=other_site).status_code == 403
    own_page = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    assert owner.browser.post(form[1], data=decision, headers=own_page).status_code == 303
    assert shopper.reads(held_order) == "Paid, thank you!"
    assert "the owner" in owner.sees(f"/owner/payments/order?id={held_order}")


def test_a_decision_needs_a_reason(shop: Flask, owner: Owner, held_order: str) -> None:
    owner.logs_in()
    assert owner.decides(newest_checkout(shop, held_order), "accept", " ").status_code == 400
    assert stored(shop, held_order)["state"] == "open"


def test_a_decision_that_was_taken_already_is_told_so(shop: Flask, owner: Owner, held_order: str) -> None:
    owner.logs_in()
    checkout_id = newest_checkout(shop, held_order)
    owner.decides(checkout_id, "reject", "wrong sum")
    assert owner.decides(checkout_id, "accept", "on second thoughts").status_code == 409
    assert owner.decides("no-such-checkout", "accept", "let me see").status_code == 404
    assert stored(shop, held_order)["state"] == "open"
