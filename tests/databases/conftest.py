"""A shop on PostgreSQL, and how database problems look to customers, the service, the owner and an operator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
import pytest
from sqlalchemy import make_url
from werkzeug.test import TestResponse

from flask_paycheckout import order_paid
from tests.conftest import OpenShop
from tests.scripted import Shop
from tests.views.pages import opens, presses_pay

WEBHOOK = "/paycheckout/webhook"


@dataclass
class Outage:
    """A shop whose order "o-1" was paid at the service but not read yet, with its receiver of `order_paid`."""

    shop: Shop
    checkout_id: str
    told: list[str]

    def hook(self) -> TestResponse:
        """The answer to the service's webhook."""
        return self.shop.browser.post(WEBHOOK, json={"orderId": self.checkout_id})

    def says(self, *command: str) -> tuple[int, str]:
        """Exit code and output of a command."""
        ran = self.shop.runs(*command)
        return ran.exit_code, ran.output

    def status(self, suffix: str = "") -> TestResponse:
        return opens(self.shop, suffix=suffix)

    def pays(self) -> TestResponse:
        return presses_pay(self.shop, "o-2")

    def owner(self) -> TestResponse:
        return self.shop.browser.get("/paycheckout/owner")

    def heals(self) -> None:
        """The database is back: the repeated webhook and reconcile settle the payment once."""
        for _ in range(2):
            answer = self.hook()
            if answer.status_code == 200:
                break
        assert answer.status_code == 200
        self.shop.waits(minutes=2)
        for _ in range(2):
            self.shop.reconciles()
        assert self.shop.attempt(self.checkout_id).status == "paid"
        assert self.told == ["o-1"]
        assert len(self.shop.events("order_paid")) == 1
        assert self.pays().status_code == 303
        assert "Paid, thank you" in self.status().text

    @contextmanager
    def beside(self) -> Iterator[psycopg.Connection]:
        """Another program's connection, which commits each statement."""
        with somebody_else(self.shop.app.config["SQLALCHEMY_DATABASE_URI"]) as connection:
            yield connection


@contextmanager
def somebody_else(database: str) -> Iterator[psycopg.Connection]:
    """A connection that commits each statement; its locks are released after half a minute."""
    address = make_url(database).set(drivername="postgresql")
    limit = "-cidle_in_transaction_session_timeout=30s"
    with psycopg.connect(address.render_as_string(hide_password=False), autocommit=True, options=limit) as connection:
        yield connection


def outage_of(shop: Shop) -> Iterator[Outage]:
    told: list[str] = []

    def tell(app: object, *, order_id: str, **facts: object) -> None:
        told.append(order_id)

    shop.app.register_blueprint(shop.paycheckout.owner_view(lambda: "Ada"))
    with order_paid.connected_to(tell, sender=shop.app):
        yield Outage(shop, shop.has_deposit("completed"), told)


@pytest.fixture
def outage(open_shop: OpenShop, postgres_database: str) -> Iterator[Outage]:
    yield from outage_of(open_shop(SQLALCHEMY_DATABASE_URI=postgres_database))
