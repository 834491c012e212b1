"""Hostile input: forms and URLs from strangers, pages of other sites, and a warehouse with malformed answers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import responses

from tests.example_shop.conftest import WAREHOUSE, Owner, Payments, Shopper

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

    from flask_paycheckout.testing import Sandbox


#: Pairs of name and address, of which one is invalid.
FORMS = {
    "end-of-line": ("Ada\r\n\r\nYour order is void. Pay at https://evil.example", "ada@example.com"),
    "line-separator": ("Ada\u2028Void", "ada@example.com"),
    "turned-around": ("Ada\u202eelpmaxe.live", "ada@example.com"),
    "nul": ("Ada\0", "ada@example.com"),
    "address-coded-word": ("Ada", "a@=?utf-8?b?DQpCY2M6IHhAeS56?=.example"),
    "address-two": ("Ada", "a,b@example.com"),
    "address-nul": ("Ada", "a\0@example.com"),
    # Blocks the whole process for 16 seconds if its form is checked before its length.
    "address-endless": ("Ada", f"a@{'.' * 60_000}@"),
}


@pytest.mark.parametrize(("name", "email"), FORMS.values(), ids=FORMS)
def test_a_name_that_would_add_words_to_a_letter_is_refused(
    shop: Flask, shopper: Shopper, name: str, email: str
) -> None:
    shopper.takes(first_snow=1)
    began = time.process_time()
    assert shopper.sends("/orders/new", name=name, email=email).status_code in {400, 422}
    assert time.process_time() - began < 3


def test_no_page_is_framed_sniffed_or_kept_and_no_address_told(owner: Owner, shopper: Shopper) -> None:
    order_id = shopper.orders(first_snow=1)
    paths = ("/", "/basket/", "/jars/first-snow", "/orders/new", f"/orders/{order_id}", "/owner/", "/nothing")
    for answer in (visitor.browser.get(path) for path in paths for visitor in (owner, shopper)):
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "same-origin"
        assert answer.headers["Cache-Control"] == "no-store"


def test_nothing_is_looked_up_by_a_nul(shopper: Shopper) -> None:
    """PostgreSQL raises an error for a NUL."""
    for path in ("/jars/a%00b", "/?x=%00"):
        assert shopper.browser.get(path).status_code == 400


# Cookies


def test_cookies_travel_by_https_only(make_shop: Callable[..., Flask]) -> None:
    production = {"TESTING": False, "PAYCHECKOUT_PUBLIC_URL": "https://shop.test", "PAYCHECKOUT_ALLOW_SANDBOX": True}
    browser = make_shop(**production).test_client()
    [cookie] = browser.get("https://shop.test/jars/first-snow").headers.getlist("Set-Cookie")
    assert {"Secure", "HttpOnly", "SameSite=Lax"} <= set(cookie.split("; "))


# The warehouse's answers


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 307, "headers": {"Location": "http://127.0.0.1:9/parcels"}},
        {"status": 201, "body": b'{"parcel": "P-1", "x": "' + b"y" * 70_000 + b'"}'},
    ],
    ids=["redirect", "endless"],
)
def test_an_answer_is_followed_nowhere_and_read_to_its_bound(
    make_shop: Callable[..., Flask],
    paycheckout_sandbox: Sandbox,
    warehouse: responses.RequestsMock,
    answer: dict[str, Any],
) -> None:
    """A redirect could send a customer's name to another host, or call another service of this machine."""
    warehouse.post(f"{WAREHOUSE}/parcels", **answer)
    shopper = Shopper(make_shop(WAREHOUSE_URL=WAREHOUSE))
    page = shopper.sees(f"/orders/{Payments(shopper, paycheckout_sandbox).buys(first_snow=1)}")
    (call,) = warehouse.calls
    assert call.request.url == f"{WAREHOUSE}/parcels"
    assert call.request.headers["Accept-Encoding"] == "identity", "nothing is unpacked"
    assert "Paid, thank you" in page
    assert "Your parcel" not in page
