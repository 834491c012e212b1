"""A shop with the payments service in the same process, and small actors that use both like people."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
import responses
from sqlalchemy import select

from example_shop import create_app
from example_shop.database import Order, db
from example_shop.payments import paycheckout
from flask_paycheckout.sandbox import sandbox_clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from flask import Flask
    from werkzeug.test import TestResponse

    from flask_paycheckout.testing import Sandbox

PASSWORD = "a fair wind"
WAREHOUSE = "http://warehouse.test"


class Visitor:
    """A person with a browser, who sends the pages' own forms with their hidden fields."""

    def __init__(self, shop: Flask) -> None:
        self.shop, self.browser = shop, shop.test_client()

    def sees(self, path: str) -> str:
        """The page's text with its markup, as the browser gets it."""
        answer = self.browser.get(path, follow_redirects=True)
        assert answer.status_code == 200, answer.status
        return unescape(answer.text)

    def sends(self, path: str, **fields: object) -> TestResponse:
        """Post a form of the shop, as a page of the shop would."""
        return self.browser.post(path, data={"csrf_token": self.secret()} | fields)

    def secret(self) -> str:
        """The secret in the forms of this browser."""
        field = re.search(r'name="csrf_token" value="([^"]+)"', self.browser.get("/jars/first-snow").text)
        assert field
        return field[1]


class Shopper(Visitor):
    """A customer."""

    def takes(self, **jars: int) -> None:
        """Put jars into the basket; keywords have underscores for a slug's hyphens."""
        for slug, quantity in jars.items():
            self.sends("/basket/add", slug=slug.replace("_", "-"), quantity=quantity)

    def orders(self, **jars: int) -> str:
        """Order these jars; gives the order's id."""
        self.takes(**jars)
        answer = self.sends("/orders/new", name="Ada Lovelace", email="ada@example.com")
        assert answer.status_code == 302, answer.text
        return answer.location.rsplit("/", 1)[1]

    def starts_to_pay(self, order_id: str) -> str:
        """Press the order page's pay button; gives the checkout's id."""
        page = self.sees(f"/orders/{order_id}")
        form = re.search(r'<form[^>]*action="([^"]*paycheckout/orders/[^"]+)"', page)
        assert form, "the page has no pay button"
        answer = self.browser.post(form[1], headers={"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"})
        assert answer.status_code == 303, answer.text
        return newest_checkout(self.shop, order_id)

    def reads(self, order_id: str) -> str:
        """The headline of the order's page."""
        headline = re.search(r'<h2 id="standing">([^<]*)</h2>', self.sees(f"/orders/{order_id}"))
        assert headline
        return headline[1]

    def changes(self, order_id: str, **jars: int) -> TestResponse:
        fields = {slug.replace("_", "-"): quantity for slug, quantity in jars.items()}
        return self.sends(f"/orders/{order_id}/change", **fields)

    def cancels(self, order_id: str) -> TestResponse:
        return self.sends(f"/orders/{order_id}/cancel")


class Owner(Visitor):
    """The shop's owner, who knows the password."""

    def logs_in(self, password: str = PASSWORD) -> TestResponse:
        return self.sends("/owner/login", password=password)

    def decides(self, checkout_id: str, decision: str, why: str) -> TestResponse:
        """Decide with the form on the extension's page about the order."""
        page = self.sees(f"/owner/payments?search={checkout_id}")
        form = re.search(r'action="([^"]*/held/[^"]+)"', page)
        assert form, "the page has no form"
        headers = {"Sec-Fetch-Site": "same-origin"}
        return self.browser.post(form[1], data={"decision": decision, "why": why}, headers=headers)

    def refunds(self, order_id: str, why: str = "the jar broke") -> TestResponse:
        """Give back the order's newest payment."""
        return self.sends(f"/owner/refunds/{newest_checkout(self.shop, order_id)}", why=why)


def rows(shop: Flask, what: Any) -> list[Any]:
    """All rows of a model, or of one of its columns."""
    with shop.app_context():
        return list(db.session.scalars(select(what)))


def newest_checkout(shop: Flask, order_id: str) -> str:
    with shop.app_context():
        checkout = paycheckout.Checkout
        newest = select(checkout.checkout_id).where(checkout.order_id == order_id).order_by(checkout.created_at.desc())
        return str(db.session.scalars(newest).first())


def stored(shop: Flask, order_id: str) -> Order:
    """An order as the shop's database has it."""
    with shop.app_context():
        return db.session.get_one(Order, order_id)


@pytest.fixture
def make_shop(tmp_path: Path, paycheckout_sandbox: Sandbox) -> Iterator[Callable[..., Flask]]:
    """Makes shops, each with its own database file; keywords are settings."""
    shops: list[Flask] = []

    def make(**settings: object) -> Flask:
        config = {
            "TESTING": True,
            "SECRET_KEY": "a key for tests only",
            "SQLALCHEMY_DATABASE_URI": f"sqlite:///{tmp_path / f'shop-{len(shops)}.sqlite'}",
            "OWNER_PASSWORD": PASSWORD,
            "PAYCHECKOUT_PUBLIC_URL": "http://localhost",
            **paycheckout_sandbox.config,
        }
        # The shop uses the sandbox's clock, so that `advance` moves both.
        clock = sandbox_clock(paycheckout_sandbox.app)
        shops.append(create_app(config | settings, transport=paycheckout_sandbox.transport, clock=clock))
        return shops[-1]

    yield make
    for shop in shops:
        with shop.app_context():
            db.engine.dispose()


@pytest.fixture
def shop(make_shop: Callable[..., Flask]) -> Flask:
    return make_shop()


@pytest.fixture
def shopper(shop: Flask) -> Shopper:
    return Shopper(shop)


@dataclass
class Payments:
    """The payments of a customer's orders, from the payment page to the shop's webhook or reconcile."""

    shopper: Shopper
    sandbox: Sandbox

    def picks(self, order_id: str) -> str:
        """Go to the order's payment page and pick a method there; gives the checkout's id."""
        checkout_id = self.shopper.starts_to_pay(order_id)
        self.sandbox.pick(checkout_id)
        return checkout_id

    def pays(self, order_id: str) -> None:
        """Pay the order, and let the webhook arrive."""
        self.sandbox.pay(self.shopper.starts_to_pay(order_id))
        self.sandbox.deliver_to(self.shopper.browser)

    def buys(self, **jars: int) -> str:
        """Order these jars and pay them; gives the order's id."""
        order_id = self.shopper.orders(**jars)
        self.pays(order_id)
        return order_id

    def passes(self, *minutes: int) -> None:
        """Advance the clock by these minutes, one after the other, with a reconcile after each."""
        for each in minutes:
            self.sandbox.advance(minutes=each)
            with self.shopper.shop.app_context():
                paycheckout.reconcile()


@pytest.fixture
def payments(shopper: Shopper, paycheckout_sandbox: Sandbox) -> Payments:
    return Payments(shopper, paycheckout_sandbox)


@pytest.fixture
def owner(shop: Flask) -> Owner:
    return Owner(shop)


@pytest.fixture
def warehouse() -> Iterator[responses.RequestsMock]:
    """A mock of the warehouse for `requests`; each test adds its answers."""
    with responses.RequestsMock() as answers:
        yield answers
