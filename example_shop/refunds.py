"""Refunds: the owner gives back what arrived for an order, and the customer who placed it says where it goes.

`paycheckout.refund` takes part in the transaction that changes the order, so that both happen or neither. The extension
keeps the sum: what arrived is never paid back twice. Parts of a payment are refunded on its own pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import abort, flash, redirect, request, url_for
from sqlalchemy import select

from example_shop import owner
from example_shop.database import Order, db
from example_shop.orders import commit_change
from example_shop.payments import paycheckout
from flask_paycheckout import NothingToRefund, RefundTooLarge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flask import Flask
    from werkzeug.wrappers import Response

    from flask_paycheckout import CheckoutMixin, PayoutMixin

# The statuses of payments that count for their order.
_COUNTED = ("paid", "part")


def refundable(order_id: str) -> Sequence[CheckoutMixin]:
    """The order's payments that were not refunded yet, or only in part; a held one is decided first."""
    row = paycheckout.Checkout
    wanted = (row.order_id == order_id, row.status.in_([*_COUNTED, "rejected"]), row.payback.is_(None))
    return [
        checkout
        for checkout in db.session.scalars(select(row).where(*wanted))
        if checkout.payment and checkout.payment.paid
    ]


@owner.blueprint.post("/refunds/<checkout_id>")
def refund(checkout_id: str) -> Response:
    """Refund a payment, and close the order when no other payment of it is left."""
    row = paycheckout.Checkout
    found = select(row.order_id, row.status).where(row.checkout_id == checkout_id)
    order_id, status = db.session.execute(found).one_or_none() or abort(404)
    order = db.session.get_one(Order, order_id, with_for_update=True)
    try:
        paycheckout.refund(checkout_id, by="the owner", why=request.form["why"])
    except ValueError:
        abort(400, "A refund needs a reason, which is not too long. Nothing was refunded.")
    except (NothingToRefund, RefundTooLarge):
        abort(409, "Nothing of this payment is left to refund.")
    if status in _COUNTED and all(checkout.status not in _COUNTED for checkout in refundable(order_id)):
        order.state = "refunded"
    commit_change(order)
    flash("It is refunded as soon as the customer has said where to, and you have approved that under Payouts.")
    return redirect(url_for("owner.desk"))


def refunds_of(order: Order) -> list[PayoutMixin]:
    """The order's refunds; of one that failed and was made again, to another destination, only the new one."""
    row = paycheckout.Payout
    wanted = (row.order_id == order.id, row.kind == "refund", row.status != "cancelled")
    shown: list[PayoutMixin] = []
    for refund in db.session.scalars(select(row).where(*wanted).order_by(row.id)):
        replaced = ("failed", refund.refund_of, refund.counts)
        shown = [other for other in shown if (other.status, other.refund_of, other.counts) != replaced] + [refund]
    return shown


def init_app(app: Flask) -> None:
    app.add_template_global(refundable)
    app.add_template_global(refunds_of)
    app.add_template_global(paycheckout.refund_url, "refund_url")
