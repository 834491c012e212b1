"""Refunds: the owner refunds an order's payments, and the customer who placed the order says where the money goes.

`paycheckout.refund` takes part in the transaction that changes the order, so that both happen or neither. The extension
limits the sum of the refunds, so that no payment is paid back twice. Its own pages also refund parts of a payment; a
receiver closes an order that was refunded there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import abort, current_app, flash, redirect, request, url_for
from sqlalchemy import select

from example_shop import owner
from example_shop.database import Order, db
from example_shop.hooks import order_changed
from example_shop.payments import paycheckout
from flask_paycheckout import NothingToRefund, RefundTooLarge, claim_wanted, payout_completed, payout_sent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flask import Flask
    from werkzeug.wrappers import Response

    from flask_paycheckout import CheckoutMixin, PayoutMixin

# The statuses of payments that count for their order.
_COUNTED = ("paid", "part")


def refundable(order_id: str) -> Sequence[CheckoutMixin]:
    """The order's payments that were not refunded yet, or only in part; a held payment must be decided first."""
    row = paycheckout.Checkout
    conditions = (row.order_id == order_id, row.status.in_([*_COUNTED, "rejected"]), row.payback.is_(None))
    return [
        checkout
        for checkout in db.session.scalars(select(row).where(*conditions))
        if checkout.payment and checkout.payment.paid
    ]


@owner.blueprint.post("/refunds/<checkout_id>")
def refund(checkout_id: str) -> Response:
    """Refund a payment, and close the order if it has no other payment left."""
    row = paycheckout.Checkout
    order_id = db.session.scalar(select(row.order_id).where(row.checkout_id == checkout_id)) or abort(404)
    order = db.session.get_one(Order, order_id, with_for_update=True)
    try:
        paycheckout.refund(checkout_id, by="the owner", why=request.form["why"])
    except ValueError:
        abort(400, "A refund needs a reason, which is not too long. Nothing was refunded.")
    except (NothingToRefund, RefundTooLarge):
        abort(409, "Nothing of this payment is left to refund.")
    close_if_refunded(order, checkout_id)
    db.session.commit()
    flash("It is refunded as soon as the customer has said where to, and you have approved that under Payouts.")
    return redirect(url_for("owner.desk"))


def close_if_refunded(order: Order, checkout_id: str) -> None:
    """Close a locked order after the refund of this payment, unless another payment of it is left."""
    row = paycheckout.Checkout
    status = db.session.scalar(select(row.status).where(row.checkout_id == checkout_id))
    if status in _COUNTED and all(checkout.status not in _COUNTED for checkout in refundable(order.id)):
        order.state = "refunded"
    order_changed.send(current_app._get_current_object(), order=order)  # type: ignore[attr-defined]


def follow_refund(app: Flask, *, order_id: str | None, payout: PayoutMixin, **extra: Any) -> None:
    """Close the order also when the extension's own page or command has refunded it, so that nothing more is sent."""
    if payout.refund_of and (order := db.session.get(Order, order_id, with_for_update=True)):
        close_if_refunded(order, payout.refund_of)


def refunds_of(order: Order) -> list[PayoutMixin]:
    """The order's refunds, without failed refunds that were replaced by a new one to another destination."""
    row = paycheckout.Payout
    conditions = (row.order_id == order.id, row.kind == "refund", row.status != "cancelled")
    refunds: list[PayoutMixin] = []
    for refund in db.session.scalars(select(row).where(*conditions).order_by(row.id)):
        replaced = ("failed", refund.refund_of, refund.counts)
        refunds = [other for other in refunds if (other.status, other.refund_of, other.counts) != replaced] + [refund]
    return refunds


def init_app(app: Flask) -> None:
    for signal in (claim_wanted, payout_sent, payout_completed):
        signal.connect(follow_refund, sender=app)
    app.add_template_global(refundable)
    app.add_template_global(refunds_of)
    app.add_template_global(paycheckout.refund_url, "refund_url")
