"""A little shop on a real database, beside the sandbox in process, and the actors of the journeys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from flask_sqlalchemy import SQLAlchemy
from werkzeug.test import TestResponse

from flask_paycheckout import Pay, PayCheckout, Receive
from flask_paycheckout.testing import Sandbox, Signals
from tests.conftest import NewDatabase

SAME_SITE = {"Sec-Fetch-Site": "same-origin"}


@dataclass
class Shop:
    """A merchant's app with orders "o-1" and "o-2", each for 12.50 USD."""

    app: Flask
    db: SQLAlchemy
    paycheckout: PayCheckout
    totals: dict[str, Pay | Receive | None] = field(default_factory=dict)

    @property
    def client(self) -> FlaskClient:
        return self.app.test_client()

    def cancels(self, order_id: str) -> None:
        self.totals[order_id] = None

    def prices(self, order_id: str, total: Pay | Receive) -> None:
        self.totals[order_id] = total

    def reconciles(self) -> Any:
        with self.app.app_context():
            return self.paycheckout.reconcile()

    def explains(self, order_id: str) -> str:
        with self.app.app_context():
            return str(self.paycheckout.explain(order_id))

    def attempts(self, order_id: str) -> list[Any]:
        model = self.paycheckout.Checkout
        with self.app.app_context():
            found = self.db.select(model).where(model.order_id == order_id).order_by(model.id)
            return list(self.db.session.scalars(found))


@dataclass
class Shopper:
    """A customer: knows only pages and links."""

    shop: Shop

    def presses_pay(self, order_id: str = "o-1") -> TestResponse:
        with self.shop.app.app_context():
            url = self.shop.paycheckout.pay_url(order_id)
        return self.shop.client.post(url, headers=SAME_SITE)

    def starts_to_pay(self, order_id: str = "o-1") -> str:
        """Presses the button and gives the id of the checkout that the browser was sent to."""
        response = self.presses_pay(order_id)
        assert response.status_code == 303, response.text
        attempt = self.shop.attempts(order_id)[-1]
        assert response.location == attempt.url
        return str(attempt.checkout_id)

    def opens_the_status_page(self, order_id: str = "o-1") -> TestResponse:
        return self._follows(order_id)

    def sees_status(self, order_id: str = "o-1") -> str:
        answer = self._follows(order_id, "/status")
        assert answer.status_code == 200
        return str(answer.get_json()["status"])

    def _follows(self, order_id: str, tail: str = "") -> TestResponse:
        with self.shop.app.app_context():
            url = self.shop.paycheckout.status_url(order_id)
        return self.shop.client.get(url + tail)


ShopMaker = Callable[..., Shop]


@pytest.fixture
def make_shop(new_database: NewDatabase, paycheckout_sandbox: Sandbox) -> Iterator[ShopMaker]:
    made: list[Shop] = []

    def make(name: str = "shop", *, webhooks: bool = True, transport: Any = None, **config: Any) -> Shop:
        app = Flask(name)
        app.config.update(
            TESTING=True,
            SECRET_KEY="journeys-secret-key",
            SQLALCHEMY_DATABASE_URI=new_database(name),
            **paycheckout_sandbox.config | config,
        )
        db = SQLAlchemy(app)
        paycheckout = PayCheckout()
        paycheckout.init_app(app, db, transport=transport or paycheckout_sandbox.transport)
        shop = Shop(app, db, paycheckout, {"o-1": Pay("12.50", "USD"), "o-2": Pay("12.50", "USD")})
        paycheckout.order_total(shop.totals.get)
        with app.app_context():
            db.create_all()
        if webhooks:
            paycheckout_sandbox.deliver_to(app.test_client())
        made.append(shop)
        return shop

    yield make
    for shop in made:
        with shop.app.app_context():
            shop.db.engine.dispose()


@pytest.fixture
def shop(make_shop: ShopMaker) -> Shop:
    return make_shop()


@pytest.fixture
def quiet_shop(make_shop: ShopMaker) -> Shop:
    """A shop that never hears a webhook."""
    return make_shop(webhooks=False)


@pytest.fixture
def shopper(shop: Shop) -> Shopper:
    return Shopper(shop)


@pytest.fixture
def signals(paycheckout_signals: Signals) -> Signals:
    return paycheckout_signals
