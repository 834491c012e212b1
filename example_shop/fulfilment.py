"""Orders one parcel for each paid order from the warehouse over HTTP, and retries until the warehouse answers.

If the warehouse does not answer properly, the receiver raises an error. The payment is not affected: the extension
calls the receiver again later with the same `event_id`, by which the warehouse recognises a repeated request.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import requests
from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from example_shop.database import Model, Order, db
from example_shop.hooks import against_sending, reasons
from example_shop.payments import paid_order
from flask_paycheckout import order_paid

if TYPE_CHECKING:
    from flask import Flask

    from flask_paycheckout import CheckoutMixin


# The maximum number of bytes that are read of an answer.
_MOST_ANSWER = 64 * 1024


class NotReady(Exception):
    """A paid order cannot be sent yet."""


class Parcel(Model):
    """A parcel that was ordered from the warehouse; exactly one for each order."""

    __tablename__ = "parcels"

    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"), primary_key=True)
    event_id: Mapped[str] = mapped_column(String(64), unique=True)
    number: Mapped[str] = mapped_column(String(40))


def packing_slip(order: Order) -> dict[str, Any]:
    return {
        "order": order.id,
        "name": order.name,
        "jars": [{"jar": line.slug, "name": line.name, "quantity": line.quantity} for line in order.lines],
    }


def order_parcel(app: Flask, *, order_id: str, checkout: CheckoutMixin, event_id: str, **extra: Any) -> None:
    # Use another context, and so another session, to hold no lock while the warehouse is called.
    with app.app_context():
        order = paid_order(order_id, checkout)
        if order.state == "refunded":
            return
        if objections := reasons(against_sending, order):
            raise NotReady(" ".join(objections))  # the extension calls the receiver again later
        slip = packing_slip(order)
    db.session.add(Parcel(order_id=order_id, event_id=event_id, number=send_slip(app, event_id, slip)))


def send_slip(app: Flask, event_id: str, slip: dict[str, Any]) -> str:
    """Send the packing slip to the warehouse and return the parcel's number, without redirects and proxies.

    :raises requests.RequestException: the warehouse could not be reached, or refused the slip.
    :raises ValueError, LookupError, TypeError: the answer has no parcel number; a retry may succeed.
    """
    headers = {"Idempotency-Key": event_id, "Accept-Encoding": "identity"}
    with requests.Session() as line:
        line.trust_env = False
        answer = line.post(
            f"{app.config['WAREHOUSE_URL']}/parcels",
            json=slip,
            headers=headers,
            timeout=app.config["WAREHOUSE_TIMEOUT"],
            allow_redirects=False,
            stream=True,
        )
        answer.raise_for_status()
        return str(json.loads(answer.raw.read(_MOST_ANSWER, decode_content=False))["parcel"])[:40]


def parcel_of(order: Order) -> Parcel | None:
    return db.session.get(Parcel, order.id)


def init_app(app: Flask) -> None:
    if app.config["WAREHOUSE_URL"]:
        order_paid.connect(order_parcel, sender=app)
    app.add_template_global(parcel_of)
