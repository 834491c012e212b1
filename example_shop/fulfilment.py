"""A paid order leaves the house: the warehouse is told over HTTP, as often as it takes, and sends one parcel.

When the warehouse does not answer well, the receiver raises. That undoes nothing of the payment: the extension calls
this receiver again later, with the same `event_id`, and the warehouse knows by it whether it was told before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import requests

from example_shop.database import db
from example_shop.models import Order, Parcel
from flask_paycheckout import order_paid

if TYPE_CHECKING:
    from flask import Flask


def packing_slip(order: Order) -> dict[str, Any]:
    return {
        "order": order.id,
        "name": order.name,
        "jars": [{"jar": line.slug, "name": line.name, "quantity": line.quantity} for line in order.lines],
    }


def order_parcel(app: Flask, *, order_id: str, event_id: str, **extra: Any) -> None:
    slip = packing_slip(db.session.get_one(Order, order_id))
    # The database must not wait for the warehouse: what was read is let go, nothing was written yet.
    db.session.rollback()
    answer = requests.post(
        f"{app.config['WAREHOUSE_URL']}/parcels",
        json=slip,
        headers={"Idempotency-Key": event_id},
        timeout=app.config["WAREHOUSE_TIMEOUT"],
    )
    answer.raise_for_status()
    db.session.add(Parcel(order_id=order_id, event_id=event_id, number=answer.json()["parcel"]))


def init_app(app: Flask) -> None:
    if app.config["WAREHOUSE_URL"]:
        order_paid.connect(order_parcel, sender=app)
