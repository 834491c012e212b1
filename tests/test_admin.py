"""The views for Flask-Admin: checkouts, events and payouts, read-only, for persons that the shop allows."""

from __future__ import annotations

from typing import Any

import pytest
from flask_admin import Admin  # type: ignore[import-untyped]
from flask_babel import Babel  # type: ignore[import-untyped]

from flask_paycheckout import ToBank
from flask_paycheckout.admin import payment_views
from tests.hosts import HOSTS, arguments_of
from tests.payouts.shop import payout, pays_out
from tests.scripted import Shop
from tests.views.pages import names

CHECKOUTS, EVENTS = "/admin/paycheckout_checkouts", "/admin/paycheckout_events"
PAYOUTS = "/admin/paycheckout_payouts"
WRITES = ("/new/", "/edit/?id=1", "/delete/", "/action/", "/ajax/update/")


def opens_admin(shop: Shop, permission: Any = lambda: "Ada") -> Shop:
    # Flask-Admin uses Flask-Babel if it is installed, which then must be set up.
    Babel(shop.app)
    Admin(shop.app, name="Shop").add_views(*payment_views(**arguments_of(shop.db), permission=permission))
    return shop


@pytest.mark.parametrize("host", HOSTS)
def test_checkouts_and_events_are_listed_newest_first_without_what_pays(shop: Shop) -> None:
    opens_admin(shop).has_paid("o-1")
    shop.has_held("o-2")
    listed = shop.browser.get(f"{CHECKOUTS}/").text
    assert listed.index("o-2") < listed.index("o-1")
    assert "12.50 USD paid, 12.13 USD received" in listed
    assert "amount_mismatch" in listed
    details = shop.browser.get(f"{CHECKOUTS}/details/?id=2").text
    assert "completed" in details
    events = shop.browser.get(f"{EVENTS}/").text
    assert "payment_held" in events
    assert "order_paid" in events
    told = shop.browser.get(f"{EVENTS}/details/?id=1").text
    assert "checkout_created" in told
    for page in (listed, details, events, told):
        assert "pay.example" not in page


def test_payouts_are_listed_without_account_numbers(shop: Shop) -> None:
    opens_admin(shop)
    pays_out(shop, "maker-1", to=ToBank("B\u202eo", "GB29NWBK60161331926819", "nwb", "NatWest"))
    stored = payout(shop, "maker-1")
    listed = shop.browser.get(f"{PAYOUTS}/").text
    details = shop.browser.get(f"{PAYOUTS}/details/?id=1").text
    for page in (listed, details):
        assert "maker-1" in page
        assert "Name: Bo<br>Bank: NatWest<br>IBAN: United Kingdom, NWBK<br>Number ends with: 6819" in page
        for secret in ("\u202e", "GB29NWBK60161331926819", "account_number", stored.to_details, stored.fingerprint):
            assert secret not in page
    assert stored.service_reference in details
    assert "80.00" in listed


@pytest.mark.parametrize("view", [CHECKOUTS, EVENTS, PAYOUTS])
def test_nothing_can_be_written(shop: Shop, view: str) -> None:
    opens_admin(shop)
    checkout_id = shop.has_paid()
    pays_out(shop)
    for path in WRITES:
        fields = {"id": "1", "rowid": "1", "action": "delete", "list_form_pk": "1", "status": "held", "name": "x"}
        shop.browser.post(view + path, data=fields)
    assert shop.attempt(checkout_id).status == "paid"
    assert payout(shop, "maker-1").status == "ready"
    assert [event.name for event in shop.events()] == ["checkout_created", "order_paid"]
    page = shop.browser.get(f"{view}/").text
    for word in ("/new/", "/edit/", "/delete/"):
        assert word not in page


def test_whom_the_shop_does_not_name_sees_nothing(shop: Shop) -> None:
    opens_admin(shop, lambda: None).has_paid()
    for path in (f"{CHECKOUTS}/", f"{CHECKOUTS}/details/?id=1", f"{EVENTS}/", f"{EVENTS}/details/?id=1", f"{PAYOUTS}/"):
        answer = shop.browser.get(path)
        assert answer.status_code == 403
        assert not names(answer.text, "o-1")
    assert "Checkouts" not in shop.browser.get("/admin/").text
