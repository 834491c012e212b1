"""The shop's payouts: each paid order pays its maker, and customers get refunds to a destination of their choice."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from flask import Blueprint, Flask, Response, jsonify, request

from flask_paycheckout import (
    NothingToRefund,
    RefundTooLarge,
    ToBank,
    ToRecipient,
    ToWallet,
    TransitionRefused,
    order_paid,
)
from tests.soak.tables import db, paycheckout

_CENT = Decimal("0.01")
# Recipients of the sandbox's start state, by currency.
_RECIPIENTS = {
    "USD": ToRecipient("5a6d00000000000000000101"),
    "EUR": ToRecipient("5a6d00000000000000000103"),
}
_MAKERS = (
    (_RECIPIENTS["USD"], "USD"),
    # This bank takes at least five dollars, so that some payouts are refused.
    (ToBank("Bo Maker", "7700554411", "us_harbor_savings", "Harbor Savings Bank"), "USD"),
    (ToBank("Mo Maker", "4000987650", "us_first_sandbox", "First Sandbox Bank"), "USD"),
    (ToWallet("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"), "usdc-polygon"),
)
_BOOKKEEPER = {"by": "the bookkeeper", "why": "as the books say"}

money_out = Blueprint("money_out", __name__)


@order_paid.connect
def pay_maker(app: Flask, *, order_id: str, checkout: Any, **extra: Any) -> None:
    """Pay half of every paid order to the maker of the goods, once."""
    to, currency = _MAKERS[int(order_id[-2:]) % len(_MAKERS)]
    share = (checkout.total.amount / 2).quantize(_CENT)
    paycheckout.pay_out(f"maker-{order_id}", share, currency, to, order_id=order_id)


@money_out.post("/orders/<order_id>/refund")
def refund(order_id: str) -> Response | tuple[Response, int]:
    """Refund an order, in full or in part, to a saved recipient or to a destination of the customer."""
    body, model = request.get_json(), paycheckout.Checkout
    paid = db.session.scalars(
        db.select(model).where(model.order_id == order_id, model.status.in_(["paid", "held", "rejected"]))
    ).first()
    if paid is None:
        return jsonify(refused="nothing was paid"), 409
    to = None if body["claims"] else _RECIPIENTS[paid.payment.paid.currency]
    try:
        refund = paycheckout.refund(paid.checkout_id, body["amount"], by="Ada", why="one jar broke", to=to)
    except (NothingToRefund, RefundTooLarge, ValueError) as refused:
        db.session.rollback()
        return jsonify(refused=str(refused)), 409
    reference = refund.reference
    db.session.commit()
    return jsonify(reference=reference, url=paycheckout.refund_url(reference))


@money_out.post("/payouts/<reference>/approve")
def approve(reference: str) -> Response:
    """Approve a payout, as a person who has viewed it."""
    model = paycheckout.Payout
    seen = db.first_or_404(db.select(model).where(model.reference == reference)).revision
    db.session.rollback()
    return _decided(lambda: paycheckout.approve_payout(reference, by="Ada", seen=seen))


@money_out.post("/payouts/<reference>/retry")
def retry(reference: str) -> Response:
    return _decided(lambda: paycheckout.retry_payout(reference, **_BOOKKEEPER))


@money_out.post("/payouts/<reference>/resolve")
def resolve(reference: str) -> Response:
    sent = bool(request.get_json()["sent"])
    return _decided(lambda: paycheckout.resolve_payout(reference, sent, **_BOOKKEEPER))


def _decided(decide: Any) -> Response:
    try:
        return jsonify(status=decide().status)
    except (TransitionRefused, RefundTooLarge) as refused:
        return jsonify(refused=str(refused))
