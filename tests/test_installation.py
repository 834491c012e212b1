"""A copy of a shop's database at another address reads deposits and runs receivers, but sends no money or reminder."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from flask_paycheckout import payment_reminder
from flask_paycheckout.testing import Sandbox
from tests.conftest import OpenPayer, OpenShop
from tests.scripted import Shop

SHOP, COPY = {"PAYCHECKOUT_PUBLIC_URL": "https://shop.example"}, {"PAYCHECKOUT_PUBLIC_URL": "https://staging.example"}
MOVED = "doctor", "--moved-here"


def report(shop: Shop) -> tuple[int, str]:
    ran = shop.runs("report")
    return ran.exit_code, ran.output


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (SHOP, COPY),
        (SHOP, {}),
        ({"SERVER_NAME": "shop.example"}, {"SERVER_NAME": "staging.example"}),
        ({"TRUSTED_HOSTS": ["shop.example"]}, {"TRUSTED_HOSTS": ["staging.example"]}),
        ({"TRUSTED_HOSTS": "shop.example"}, {"TRUSTED_HOSTS": "staging.example"}),
        ({"TRUSTED_HOSTS": {"www.shop.example", "shop.example"}}, {"TRUSTED_HOSTS": {"staging.example"}}),
    ],
    ids=["addresses", "an address that is not told", "SERVER_NAME", "TRUSTED_HOSTS", "one host as a string", "a set"],
)
def test_a_copy_sends_no_payout_until_it_is_told_that_the_shop_has_moved(
    open_payer: OpenPayer, own: dict[str, Any], other: dict[str, Any]
) -> None:
    shop = open_payer("shop", **own).shop
    shop.reconciles()
    assert "copied-shop" not in shop.runs("report", "--json").output
    other = other | {"SQLALCHEMY_DATABASE_URI": shop.app.config["SQLALCHEMY_DATABASE_URI"]}
    copy = open_payer("copy", **other)
    copy.owes()
    assert "belongs to the shop at shop.example" in copy.shop.runs("doctor").output
    copy.sends()
    assert copy.status() == "ready"
    copy.shop.waits(minutes=30)
    copy.sandbox.advance(minutes=30)
    assert report(copy.shop)[0] == 2
    assert "Keep this running" not in report(copy.shop)[1], "reconcile does run"
    assert "flask paycheckout doctor --moved-here" in report(copy.shop)[1]

    copy.shop.runs(*MOVED)
    assert "not sent from" not in report(copy.shop)[1]
    assert "moved" in copy.shop.runs("deeds").output
    copy.sends()
    assert copy.status() == "sent"


@pytest.mark.parametrize(
    "address", ["https://shop.example:443/", "https://Shop.Example.", "http://shop.example:80", "http://shop.example"]
)
def test_another_spelling_of_the_address_is_no_copy(open_payer: OpenPayer, address: str) -> None:
    shop = open_payer("shop", **SHOP).shop
    shop.reconciles()
    other = {"SQLALCHEMY_DATABASE_URI": shop.app.config["SQLALCHEMY_DATABASE_URI"], "PAYCHECKOUT_PUBLIC_URL": address}
    same = open_payer("same", **other)
    same.owes()
    same.sends()
    assert same.status() == "sent"


def test_a_copy_reminds_nobody_and_still_delivers_what_was_paid(
    open_shop: OpenShop, paycheckout_sandbox: Sandbox
) -> None:
    reminded: list[str] = []
    settings: dict[str, Any] = {"sandbox": paycheckout_sandbox, "PAYCHECKOUT_REMIND_AFTER": [timedelta(hours=1)]}
    shop = open_shop("shop", **settings, **SHOP)
    shop.reconciles()
    checkout_id = shop.starts("o-1")
    shop.starts("o-2")
    uri = shop.app.config["SQLALCHEMY_DATABASE_URI"]
    copy = open_shop("copy", SQLALCHEMY_DATABASE_URI=uri, **settings, **COPY)

    def remind(app: object, *, order_id: str, **facts: object) -> None:
        reminded.append(order_id)

    with payment_reminder.connected_to(remind):
        paycheckout_sandbox.pay(checkout_id)
        paycheckout_sandbox.advance(minutes=61)
        copy.reconciles()
        assert copy.attempt(checkout_id).status == "paid"
        assert all(event.delivered_at for event in copy.events("order_paid"))
        assert reminded == []
        shop.reconciles()
        assert reminded == ["o-2"]


def test_the_scheme_is_no_part_of_the_address(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_PUBLIC_URL="http://Shop.example")
    shop.reconciles()
    uri = shop.app.config["SQLALCHEMY_DATABASE_URI"]
    again = open_shop("again", SQLALCHEMY_DATABASE_URI=uri, **SHOP)
    again.reconciles()
    assert again.runs("report", "--at-least", "now").exit_code == 0
