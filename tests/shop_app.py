"""A shop for tests that run processes of it, `tests.shop_app:create_app()`, with settings from `FLASK_...` variables.

Every paid order leaves a row in the table "effect", in which nothing is unique.
"""

from __future__ import annotations

import os

from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout import Pay, PayCheckout, order_paid
from tests.races.effects import add_effects


def create_app() -> Flask:
    app = Flask("shop")
    app.config.update(
        SECRET_KEY="a-secret-key-of-many-characters",
        PAYCHECKOUT_CLIENT_ID="sandbox-client",
        PAYCHECKOUT_CLIENT_SECRET="sandbox-secret-0123456789abcdef",
        PAYCHECKOUT_PUBLIC_URL="http://127.0.0.1",
        PAYCHECKOUT_ALLOW_SANDBOX=True,
    )
    app.config.from_prefixed_env()
    db = SQLAlchemy(app)
    add_effects(db)
    paycheckout = PayCheckout(app, db)
    paycheckout.order_total(lambda order_id: Pay("12.50", "USD"))

    @order_paid.connect
    def ship(app: Flask, *, order_id: str, **facts: object) -> None:
        row = {"who": "ship", "order_id": order_id}
        db.session.execute(db.metadata.tables["effect"].insert().values(row))

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
    return app
