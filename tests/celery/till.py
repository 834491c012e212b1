"""A shop with Celery as its web and worker processes load it, with its settings from the environment."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery, Task  # type: ignore[import-untyped]
from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout import Pay, PayCheckout, order_paid

db = SQLAlchemy()
paycheckout = PayCheckout()


class Shipment(db.Model):  # type: ignore[name-defined,misc]  # Flask-SQLAlchemy makes the class at run time
    """One for each time that the receiver's work was committed."""

    id = db.Column(db.Integer, primary_key=True)
    order_id = db.Column(db.String(20), nullable=False)


@paycheckout.order_total
def order_total(order_id: str) -> Pay:
    return Pay("12.50", "USD")


# Seconds until a task comes back whose worker is gone; in a shop that is minutes.
VISIBLE_AGAIN = 2


def ship(app: Flask, *, order_id: str, **extra: Any) -> None:
    db.session.add(Shipment(order_id=order_id))


def celery_init_app(app: Flask, broker: str) -> Celery:
    """As Flask's documentation has it."""

    class FlaskTask(Task):  # type: ignore[misc]  # Celery has no types
        def __call__(self, *args: object, **kwargs: object) -> object:
            with app.app_context():
                return self.run(*args, **kwargs)

    options = {"visibility_timeout": VISIBLE_AGAIN, "unacked_restore_interval": 1, "unacked_restore_throttle": 1}
    celery_app = Celery("till", broker=broker, task_cls=FlaskTask, include=["flask_paycheckout.tasks"])
    celery_app.conf.update(broker_transport_options=options, broker_connection_retry_on_startup=True)
    app.extensions["celery"] = celery_app
    return celery_app


def create_app(database: str, service: str, broker: str) -> Flask:
    app = Flask("till")
    app.config.update(
        TESTING=True,
        SECRET_KEY="till-secret-key-0123456789",
        SQLALCHEMY_DATABASE_URI=database,
        PAYCHECKOUT_BASE_URL=service,
        PAYCHECKOUT_CLIENT_ID="till",
        PAYCHECKOUT_CLIENT_SECRET="till-secret",
        PAYCHECKOUT_TIMEOUT=60,
        PAYCHECKOUT_DEFER_WEBHOOKS=True,
    )
    db.init_app(app)
    paycheckout.init_app(app, db)
    # This app's payments only: tests of other shops may run in the same process.
    order_paid.connect(ship, sender=app)
    celery_init_app(app, broker)
    return app


if "TILL_BROKER" in os.environ:
    flask_app = create_app(os.environ["TILL_DATABASE"], os.environ["TILL_SERVICE"], os.environ["TILL_BROKER"])
    celery_app = flask_app.extensions["celery"]
