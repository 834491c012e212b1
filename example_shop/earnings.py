"""The suppliers' shares of each paid order, stored exactly once, together with the mark that the receiver has run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from example_shop.clock import now
from example_shop.database import db
from example_shop.ledger import Earning
from example_shop.models import Order
from example_shop.payments import require_paid
from example_shop.suppliers import SUPPLIERS
from flask_paycheckout import order_paid

if TYPE_CHECKING:
    from flask import Flask

    from flask_paycheckout import CheckoutMixin


def write_earnings(app: Flask, *, order_id: str, checkout: CheckoutMixin, **extra: Any) -> None:
    order = db.session.get_one(Order, order_id)
    require_paid(order, checkout)
    for supplier in SUPPLIERS:
        if amount := supplier.part_of(order):
            db.session.add(Earning(order_id=order_id, supplier=supplier.slug, amount=amount, earned_at=now()))


def init_app(app: Flask) -> None:
    order_paid.connect(write_earnings, sender=app)
