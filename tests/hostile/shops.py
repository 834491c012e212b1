"""A shop whose payments service is on a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout import Pay, PayCheckout
from tests.scripted import Clock, Service, Shop, make_app


@contextmanager
def shop_at(base_url: str, database: str) -> Iterator[Shop]:
    """The shop, with the orders "o-1" and "o-2"; the script of its `service` is not asked."""
    app = make_app(SQLALCHEMY_DATABASE_URI=database, PAYCHECKOUT_BASE_URL=base_url, PAYCHECKOUT_TIMEOUT=5)
    db, paycheckout, clock = SQLAlchemy(app), PayCheckout(), Clock()
    paycheckout.init_app(app, db, clock=clock)
    shop = Shop(app, db, paycheckout, Service(), clock, {"o-1": Pay("12.50", "USD"), "o-2": Pay("12.50", "USD")})
    paycheckout.order_total(shop.totals.get)
    with app.app_context():
        db.create_all()
    yield shop
    with app.app_context():
        db.engine.dispose()
    shop.runtime.client.close()
