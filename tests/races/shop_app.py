"""A shop for tests that run processes of it: `flask --app tests.races.shop_app`, set up by its environment.

Every paid order leaves a row in the table "effect", in which nothing is unique.
"""

from __future__ import annotations

import os

from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout import Pay, PayCheckout, order_paid
from tests.races.effects import add_effects

db = SQLAlchemy()
paycheckout = PayCheckout()
add_effects(db)


@paycheckout.order_total
def order_total(order_id: str) -> Pay:
    return Pay("12.50", "USD")


@order_paid.connect
def ship(app: Flask, *, order_id: str, **facts: object) -> None:
    row = {"who": "ship", "order_id": order_id}
    db.session.execute(db.metadata.tables["effect"].insert().values(row))


def create_app() -> Flask:
    app = Flask("races")
    app.config.update(
        TESTING=True,
        SECRET_KEY="races",
        SQLALCHEMY_DATABASE_URI=os.environ["SHOP_DATABASE"],
        PAYCHECKOUT_BASE_URL=os.environ["SHOP_SERVICE"],
        PAYCHECKOUT_CLIENT_ID=os.environ["SHOP_PROCESS"],
        PAYCHECKOUT_CLIENT_SECRET="races-secret",
        PAYCHECKOUT_TIMEOUT=60,
        PAYCHECKOUT_WEBHOOK_COOLDOWN=0,
    )
    db.init_app(app)
    paycheckout.init_app(app, db)
    return app
