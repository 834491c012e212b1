"""A shop for tests that run processes of it, `tests.shop_app:create_app()`, with settings from `FLASK_...` variables.

Every paid order leaves a row in the table "effect", in which nothing is unique. With `ATOMIC` its receiver runs in the
transaction that records the payment.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, cast

import httpx
from flask import Flask

from flask_paycheckout import Pay, PayCheckout, order_paid
from tests.hosts import HOSTS, arguments_of, database_on
from tests.races.effects import add_effects
from tests.scripted import Clock, Service, Shop
from tests.two_accounts import gets_two_accounts, keys_of_second


def create_app() -> Flask:
    return create_shop().app


def create_asgi_app() -> Callable[..., Any]:
    """The app of `create_app` behind an ASGI wrapper."""
    from a2wsgi import WSGIMiddleware

    return WSGIMiddleware(cast("Any", create_app()))


def create_shop(transport: httpx.BaseTransport | None = None, **config: Any) -> Shop:
    """Make a shop with these settings, which override the environment; its `service` and `clock` are not used."""
    app = Flask("shop")
    app.config.update(
        SECRET_KEY="a-secret-key-of-many-characters",
        PAYCHECKOUT_CLIENT_ID="sandbox-client",
        PAYCHECKOUT_CLIENT_SECRET="sandbox-secret-0123456789abcdef",
        PAYCHECKOUT_PUBLIC_URL="http://127.0.0.1",
        PAYCHECKOUT_ALLOW_SANDBOX=True,
    )
    app.config.from_mapping(config)
    app.config.from_prefixed_env()
    db = database_on(app.config.get("HOST", HOSTS[0]), app)
    add_effects(db)
    paycheckout = PayCheckout()
    paycheckout.init_app(app, **arguments_of(db), transport=transport)
    paycheckout.order_total(lambda order_id: Pay("12.50", "USD"))

    if app.config.get("ACCOUNTS") == 2:
        gets_two_accounts(paycheckout, keys_of_second(None, app.config["PAYCHECKOUT_CLIENT_ID"]))

    # Built once, so that the benchmarks measure the extension and not this receiver.
    effects = db.metadata.tables["effect"].insert()

    @order_paid.connect_via(app)
    def ship(app: Flask, *, order_id: str, **facts: object) -> None:
        db.session.execute(effects, {"who": "ship", "order_id": order_id})

    if app.config.get("ATOMIC"):
        paycheckout.atomic(ship)

    @app.get("/login")
    def login() -> str:
        return str(os.getpid())

    @app.get("/link/<order_id>")
    def link(order_id: str) -> str:
        return paycheckout.pay_url(order_id)

    if app.config.get("MAKES_TABLES"):
        with app.app_context():
            db.create_all()
            # gunicorn forks its workers from here.
            db.engine.dispose()
    return Shop(app, db, paycheckout, Service(), Clock())
