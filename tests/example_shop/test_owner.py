"""The owner's pages: behind a password, with every order and every payment that waits for a decision."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import time_machine

from example_shop.payments import paycheckout
from flask_paycheckout import ByHand, Pay
from tests.example_shop.conftest import PASSWORD, Owner, Shopper

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

    from flask_paycheckout.testing import Sandbox


def test_the_desk_needs_the_password(owner: Owner, shopper: Shopper) -> None:
    order_id = shopper.orders(first_snow=1)
    assert owner.browser.get("/owner/").location == "/owner/login"
    assert owner.logs_in("a foul wind").status_code == 403
    assert owner.logs_in(f"{PASSWORD} é").status_code == 403
    assert owner.browser.get("/owner/").location == "/owner/login"
    assert owner.logs_in().location == "/owner/"
    assert order_id in owner.sees("/owner/")
    owner.sends("/owner/logout")
    for path in ("/owner/", "/owner/stock/", "/owner/payments/", "/owner/payments/books"):
        assert owner.browser.get(path).location == "/owner/login"
    assert owner.sends("/owner/stock/", slug="first-snow", jars=2).location == "/owner/login"


def test_a_shop_without_a_password_has_no_desk(make_shop: Callable[..., Flask]) -> None:
    owner = Owner(make_shop(OWNER_PASSWORD=None))
    assert [owner.logs_in(password).status_code for password in ("", "None", "anything")] == [403] * 3


def test_the_owner_rejects_held_money_and_the_order_may_be_paid_anew(
    shop: Flask, owner: Owner, shopper: Shopper, paycheckout_sandbox: Sandbox
) -> None:
    order_id = shopper.orders(first_snow=1)
    checkout_id = shopper.starts_to_pay(order_id)
    shopper.changes(order_id, first_snow=2)
    paycheckout_sandbox.pay(checkout_id)
    paycheckout_sandbox.deliver_to(shopper.browser)
    owner.logs_in()
    owner.decides(checkout_id, "reject", "wrong sum")
    assert "You rejected it: pay it back or keep it" in owner.sees("/owner/")
    with shop.app_context():
        paycheckout.refund(checkout_id, by="Bo", why="bank transfer 17", to=ByHand())
        paycheckout.session.commit()
    assert "Money that waits for you" not in owner.sees("/owner/")
    assert shopper.reads(order_id) == "Waiting for your payment"
    assert shopper.starts_to_pay(order_id) != checkout_id


def test_the_links_of_a_held_payment_of_a_request_lead_somewhere(
    shop: Flask, owner: Owner, paycheckout_sandbox: Sandbox
) -> None:
    with shop.app_context():
        made = paycheckout_sandbox.request(paycheckout, Pay(5, "USD"), title="Wind by telephone")
        checkout_id = paycheckout.start(made.order_id).checkout_id
        paycheckout_sandbox.pay(checkout_id, 4)
        assert paycheckout.settle(checkout_id).status == "held"
    owner.logs_in()
    links = re.findall(r'href="([^"]*request:[^"]+)"', owner.sees("/owner/"))
    assert all("Wind by telephone" in owner.sees(link) for link in links)


# The login


def test_a_login_ends_with_the_password(shop: Flask, owner: Owner) -> None:
    owner.logs_in()
    assert owner.browser.get("/owner/").status_code == 200
    shop.config["OWNER_PASSWORD"] = "another wind"
    assert owner.browser.get("/owner/").location == "/owner/login"


def test_a_login_begins_a_new_session(owner: Owner) -> None:
    """An attacker who has planted a session in the owner's browser knows no secret of the new session."""
    old_secret = owner.secret()
    assert owner.logs_in().status_code == 302
    assert owner.sends("/owner/logout", csrf_token=old_secret).status_code == 400
    assert owner.browser.get("/owner/").status_code == 200


# Guessing the password

GUESS = "a foul wind"
MOST = 5


def tries_from(owner: Owner, address: str, password: str = GUESS) -> int:
    """Try a password from this address; returns the answer's status."""
    owner.browser.environ_base["REMOTE_ADDR"] = address
    return owner.logs_in(password).status_code


def test_a_person_who_guesses_the_password_waits(shop: Flask, owner: Owner) -> None:
    stranger = Owner(shop)
    with time_machine.travel(datetime(2026, 1, 1, tzinfo=UTC), tick=False) as now:
        for number in range(MOST):
            assert tries_from(stranger, f"2001:db8::{number}") == 403
        refused = stranger.logs_in(PASSWORD)
        assert (refused.status_code, "There were too many tries" in refused.text) == (429, True)
        assert 0 < int(refused.headers["Retry-After"]) <= 901
        assert tries_from(owner, "192.0.2.2", PASSWORD) == 302
        now.shift(901)
        assert tries_from(stranger, "2001:db8::1") == 403
