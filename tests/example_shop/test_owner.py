"""The owner's desk: behind a password, with every order and every payment that waits for a decision."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from example_shop.payments import paycheckout
from example_shop.throttle import MOST_FROM_ONE
from tests.example_shop.conftest import PASSWORD, Owner, Shopper
from tests.races.crowds import crowd

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
        paycheckout.mark_paid_back(checkout_id, by="Bo", why="bank transfer 17")
    assert "Money that waits for you" not in owner.sees("/owner/")
    assert shopper.reads(order_id) == "Waiting for your payment"
    assert shopper.starts_to_pay(order_id) != checkout_id


# Guessing the password

GUESS = "a foul wind"


def tries_from(owner: Owner, address: str, password: str = GUESS) -> tuple[int, str | None]:
    """Give a password from this address; the answer's status, and when to come again."""
    owner.browser.environ_base["REMOTE_ADDR"] = address
    answer = owner.logs_in(password)
    return answer.status_code, answer.headers.get("Retry-After")


def test_who_guesses_the_password_waits(shop: Flask, owner: Owner, paycheckout_sandbox: Sandbox) -> None:
    stranger = Owner(shop)
    for _ in range(MOST_FROM_ONE):
        assert tries_from(stranger, "192.0.2.1") == (403, None)
    paycheckout_sandbox.advance(minutes=1)
    assert tries_from(stranger, "192.0.2.1") == (429, "840")
    assert tries_from(stranger, "192.0.2.1", PASSWORD)[0] == 429, "the wait would tell which guess was right"
    assert "try again in 14 minutes" in stranger.logs_in(GUESS).text
    assert tries_from(owner, "192.0.2.2", PASSWORD) == (303, None)
    paycheckout_sandbox.advance(minutes=15)
    assert tries_from(stranger, "192.0.2.1") == (403, None)


def test_of_many_guesses_at_once_no_more_than_allowed_are_looked_at(
    make_shop: Callable[..., Flask], each_database: str
) -> None:
    shop = make_shop(SQLALCHEMY_DATABASE_URI=each_database)
    strangers = [Owner(shop) for _ in range(2 * MOST_FROM_ONE)]
    with crowd(len(strangers)) as people:
        answers = people.does([partial(each.logs_in, GUESS) for each in strangers])
    codes = sorted(answer.status_code for answer in answers)
    assert codes == [403] * MOST_FROM_ONE + [429] * MOST_FROM_ONE


def test_a_login_begins_a_new_session(shop: Flask, owner: Owner) -> None:
    """A stranger who put a session into the owner's browser before knows none of its secrets afterwards."""
    with owner.browser.session_transaction() as session:
        session["csrf"] = "known to a stranger"
    assert owner.logs_in().status_code == 303
    assert owner.sends("/owner/logout", csrf="known to a stranger").status_code == 400
    assert owner.browser.get("/owner/").status_code == 200
