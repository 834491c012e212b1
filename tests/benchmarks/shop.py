"""A merchant's shop as it runs in production: every order costs 12.50 USD, one receiver writes a row for a paid one."""

from __future__ import annotations

import os
from typing import Any

import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout import Pay, PayCheckout, order_paid
from flask_paycheckout.runtime import KEY, Runtime


class Shop:
    """The shop's app, with the extension on it.

    :param database: an address of SQLAlchemy's.
    :param service: where the payments service is.
    :param transport: an httpx transport to it.
    :param settings: in place of those below.
    """

    def __init__(self, database: str, service: str, transport: Any = None, **settings: Any) -> None:
        self.app = Flask("bench")
        self.app.config.update(
            SECRET_KEY="bench",
            SQLALCHEMY_DATABASE_URI=database,
            PAYCHECKOUT_BASE_URL=service,
            PAYCHECKOUT_CLIENT_ID="bench",
            PAYCHECKOUT_CLIENT_SECRET="bench-secret-0123456789",
            PAYCHECKOUT_ALLOW_SANDBOX=True,
            PAYCHECKOUT_PUBLIC_URL="http://127.0.0.1",
        )
        self.app.config.update(settings)
        self.db = SQLAlchemy(self.app)
        self.paycheckout = PayCheckout()
        self.paycheckout.init_app(self.app, self.db, transport=transport)
        self.paycheckout.order_total(lambda order_id: Pay("12.50", "USD"))
        self.shipped = sa.Table("shipped", self.db.metadata, sa.Column("order_id", sa.String(64)))
        order_paid.connect(self.ship, sender=self.app)

    def ship(self, app: Flask, *, order_id: str, **extra: Any) -> None:
        self.db.session.execute(self.shipped.insert().values(order_id=order_id))

    @property
    def runtime(self) -> Runtime:
        found = self.app.extensions[KEY]
        assert isinstance(found, Runtime)
        return found

    def create_tables(self) -> None:
        with self.app.app_context():
            self.db.create_all()

    def close(self) -> None:
        self.runtime.client.close()
        self.runtime.engine().dispose()


_shops: list[Shop] = []


def make_shop() -> Flask:
    # A receiver that is a method of a shop which nobody holds would be forgotten.
    _shops.append(Shop(os.environ["BENCH_DATABASE"], os.environ["BENCH_SERVICE"]))
    return _shops[-1].app
