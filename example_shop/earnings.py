"""The suppliers' shares of each paid order: a payout to each supplier, stored with the mark that the receiver has run.

The extension sends the payouts and follows them, and pays none twice. What failed, what nobody can know, and what waits
because of PAYCHECKOUT_APPROVE_OVER is decided on its pages; see `payment_view`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from example_shop.database import db
from example_shop.models import Order
from example_shop.payments import paycheckout, require_paid
from example_shop.suppliers import SUPPLIERS
from flask_paycheckout import order_paid

if TYPE_CHECKING:
    from flask import Flask

    from flask_paycheckout import CheckoutMixin

NOTE = "Fair & Foul, jars sold"


def pay_suppliers(app: Flask, *, order_id: str, checkout: CheckoutMixin, **extra: Any) -> None:
    order = db.session.get_one(Order, order_id)
    require_paid(order, checkout)
    for supplier in SUPPLIERS:
        if share := supplier.part_of(order):
            reference = f"{supplier.slug}-{order_id}"
            paycheckout.pay_out(
                reference,
                share,
                supplier.currency,
                supplier.account,
                note=NOTE,
                order_id=order_id,
                account=checkout.account,
            )


def init_app(app: Flask) -> None:
    order_paid.connect(pay_suppliers, sender=app)
