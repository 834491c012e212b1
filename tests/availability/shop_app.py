"""A shop for gunicorn, `tests.availability.shop_app:create_app()`, set up by its environment."""

from __future__ import annotations

import os

from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout import Pay, PayCheckout


def create_app() -> Flask:
    app = Flask("availability")
    app.config.update(
        SECRET_KEY="availability-secret-key",
        SQLALCHEMY_DATABASE_URI=os.environ["SHOP_DATABASE"],
        PAYCHECKOUT_BASE_URL=os.environ["SHOP_SERVICE"],
        PAYCHECKOUT_CHECKOUT_ORIGINS=os.environ["SHOP_SERVICE"],
        PAYCHECKOUT_CLIENT_ID="sandbox-client",
        PAYCHECKOUT_CLIENT_SECRET="sandbox-secret-0123456789abcdef",
        PAYCHECKOUT_WEB_TIMEOUT=float(os.environ.get("SHOP_WEB_TIMEOUT", "5")),
        PAYCHECKOUT_PUBLIC_URL="http://127.0.0.1",
        PAYCHECKOUT_ALLOW_SANDBOX=True,
    )
    db = SQLAlchemy(app)
    paycheckout = PayCheckout(app, db)
    paycheckout.order_total(lambda order_id: Pay("12.50", "USD"))

    @app.get("/login")
    def login() -> str:
        return str(os.getpid())

    @app.get("/link/<order_id>")
    def link(order_id: str) -> str:
        return paycheckout.pay_url(order_id)

    with app.app_context():
        if os.environ.get("SHOP_MAKES_TABLES"):
            db.create_all()
        if not os.environ.get("SHOP_KEEPS_CONNECTIONS"):
            db.engine.dispose()
    return app
