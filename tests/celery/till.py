"""A shop with Celery for its web and worker processes, with settings from the environment."""

from __future__ import annotations

import os

from celery import Celery, Task  # type: ignore[import-untyped]
from flask import Flask

from tests.scripted import Shop
from tests.shop_app import create_shop

# Seconds until a task of a dead worker is delivered again; minutes in a real shop.
VISIBLE_AGAIN = 2


def celery_init_app(app: Flask, broker: str) -> Celery:
    """Set up Celery as Flask's documentation shows."""

    class FlaskTask(Task):  # type: ignore[misc]  # Celery has no types
        def __call__(self, *args: object, **kwargs: object) -> object:
            with app.app_context():
                return self.run(*args, **kwargs)

    options = {"visibility_timeout": VISIBLE_AGAIN, "unacked_restore_interval": 1, "unacked_restore_throttle": 1}
    celery_app = Celery(
        "till", broker=broker, task_cls=FlaskTask, include=["flask_paycheckout.tasks"], set_as_current=False
    )
    celery_app.conf.update(broker_transport_options=options, broker_connection_retry_on_startup=True)
    app.extensions["celery"] = celery_app
    return celery_app


def create_till(database: str, service: str, broker: str) -> Shop:
    shop = create_shop(
        SQLALCHEMY_DATABASE_URI=database,
        PAYCHECKOUT_BASE_URL=service,
        PAYCHECKOUT_TIMEOUT=60,
        PAYCHECKOUT_DEFER_WEBHOOKS=True,
    )
    celery_init_app(shop.app, broker)
    return shop


if "TILL_BROKER" in os.environ:
    flask_app = create_till(os.environ["TILL_DATABASE"], os.environ["TILL_SERVICE"], os.environ["TILL_BROKER"]).app
    celery_app = flask_app.extensions["celery"]
