"""The same-stack floor: the least code that does the job with the libraries that the extension uses.

A Flask app with a secret key, SQLAlchemy Core on the engine of Flask-SQLAlchemy, and one `httpx.Client`.
It makes the checks without which the money could be wrong, and promises nothing else.
"""

from __future__ import annotations

import json
import os
from decimal import Decimal
from functools import cache
from typing import Any

import httpx
from flask import Flask, Response, jsonify, redirect, request
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import bindparam, column, insert, select, table, update

_CHECKOUTS = table("checkout", column("checkout_id"), column("order_id"), column("status"), column("url"))
_EVENTS = table("event", column("name"), column("order_id"))
_SHIPPED = table("shipped", column("order_id"))

# Each is built once, as the extension builds its own.
_OF_ID = select(_CHECKOUTS.c.status, _CHECKOUTS.c.order_id).where(_CHECKOUTS.c.checkout_id == bindparam("checkout"))
_OF_ORDER = select(_CHECKOUTS.c.status).where(_CHECKOUTS.c.order_id == bindparam("order"))
_STORE = insert(_CHECKOUTS)
_PAY = update(_CHECKOUTS).where(_CHECKOUTS.c.checkout_id == bindparam("checkout")).values(status="paid")
_TELL, _SHIP = insert(_EVENTS), insert(_SHIPPED)


@cache
def _service() -> httpx.Client:
    return httpx.Client(base_url=os.environ["BENCH_SERVICE"], trust_env=False)


def asked(method: str, path: str, body: str | None = None) -> Any:
    """The `data` of the service's answer."""
    answer = _service().request(method, path, content=body, headers={"Content-Type": "application/json"})
    return json.loads(answer.content, parse_float=Decimal)["data"]


def make_app() -> Flask:
    """The app; each process opens its connections at its first request."""
    app = Flask("same_stack")
    app.config.update(
        SECRET_KEY="a-secret-key-of-many-characters", SQLALCHEMY_DATABASE_URI=os.environ["BENCH_DATABASE"]
    )
    db = SQLAlchemy(app)

    @app.post("/orders/<order_id>/checkout")
    def start(order_id: str) -> Any:
        checkout = asked("POST", "/v1/checkout", '{"inputCurrency":"USD","inputAmount":12.50}')
        row = {"checkout_id": checkout["id"], "order_id": order_id, "status": "created", "url": checkout["url"]}
        with db.engine.begin() as connection:
            connection.execute(_STORE, row)
        return redirect(checkout["url"], 303)

    @app.post("/webhook")
    def webhook() -> Response:
        checkout_id = json.loads(request.data)["orderId"]
        with db.engine.connect() as connection:
            row = connection.execute(_OF_ID, {"checkout": checkout_id}).one_or_none()
        if row is not None and row.status != "paid":
            _settle(db, checkout_id, row.order_id)
        return jsonify(received=True)

    @app.get("/orders/<order_id>/status")
    def status(order_id: str) -> Response:
        with db.engine.connect() as connection:
            status_ = connection.execute(_OF_ORDER, {"order": order_id}).scalar_one()
        return jsonify(status=status_, final=status_ == "paid", pollAfter=0)

    return app


def _settle(db: SQLAlchemy, checkout_id: str, order_id: str) -> None:
    deposit = asked("GET", f"/v1/deposit/{checkout_id}")
    paid = (deposit["status"], deposit["inputAmount"], deposit["inputCurrency"])
    if deposit["depositId"] == checkout_id and paid == ("completed", Decimal("12.50"), "USD"):
        with db.engine.begin() as connection:
            connection.execute(_PAY, {"checkout": checkout_id})
            connection.execute(_TELL, {"name": "order_paid", "order_id": order_id})
            connection.execute(_SHIP, {"order_id": order_id})
