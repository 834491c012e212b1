"""A paid order leaves the house: the warehouse is told over HTTP, as often as it takes, and sends one parcel.

When the warehouse does not answer well, the receiver raises. That undoes nothing of the payment: the extension calls
this receiver again later, with the same `event_id`, and the warehouse knows by it whether it was told before.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import requests
from markupsafe import Markup
from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from example_shop.database import Model, db
from example_shop.hooks import hooks, said
from example_shop.models import Order
from example_shop.payments import require_paid
from flask_paycheckout import order_paid

if TYPE_CHECKING:
    from flask import Flask

    from flask_paycheckout import CheckoutMixin


# More than that is no answer of a warehouse.
_MOST_ANSWER = 64 * 1024
_NUMBER = re.compile(r"[A-Za-z0-9._/-]{1,40}")


class NotReady(Exception):
    """A paid order cannot be sent yet."""


class BadAnswer(Exception):
    """What the warehouse said is not what was agreed."""


class Parcel(Model):
    """The warehouse has been told to send an order; one row each, whatever happens."""

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
    order = db.session.get_one(Order, order_id)
    require_paid(order, checkout)
    if reasons := said(hooks(app).against_sending, order):
        raise NotReady(" ".join(reasons))  # and be called again
    slip = packing_slip(order)
    # The database must not wait for the warehouse: what was read is let go, nothing was written yet.
    db.session.rollback()
    db.session.add(Parcel(order_id=order_id, event_id=event_id, number=told(app, event_id, slip)))


def told(app: Flask, event_id: str, slip: dict[str, Any]) -> str:
    """Tell the warehouse, and only it: no redirect is followed, no proxy of the environment used. The parcel's number.

    :raises requests.RequestException: it was not reached, or refused.
    :raises BadAnswer: it did not answer with a parcel's number; another try may bring one.
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
        return number_in(answer.raw.read(_MOST_ANSWER, decode_content=False))


def number_in(body: bytes) -> str:
    try:
        number = json.loads(body)["parcel"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise BadAnswer("The warehouse's answer holds no parcel.") from None
    if not isinstance(number, str) or not _NUMBER.fullmatch(number):
        raise BadAnswer("The warehouse's parcel has no proper number.")
    return number


def parcel_number(order: Order) -> str | None:
    parcel = db.session.get(Parcel, order.id)
    return parcel.number if parcel else None


def order_note(order: Order) -> str | None:
    number = parcel_number(order)
    return Markup('Your parcel is <span class="code">{}</span>.').format(number) if number else None


def desk_note(order: Order) -> str | None:
    number = parcel_number(order)
    if number is None:
        return "The warehouse has not answered yet." if order.state == "paid" else None
    return Markup('Parcel <span class="code">{}</span>').format(number)


def init_app(app: Flask) -> None:
    app.config.setdefault("WAREHOUSE_URL", None)  # parcels are not ordered until it is set
    app.config.setdefault("WAREHOUSE_TIMEOUT", 5.0)  # seconds
    if app.config["WAREHOUSE_URL"]:
        order_paid.connect(order_parcel, sender=app)
        hooks(app).order_notes.append(order_note)
        hooks(app).desk_notes.append(desk_note)
