"""The shop's money out: each paid order pays its maker, and customers get money back, to where they say."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, abort, jsonify, request

from flask_paycheckout import (
    NothingToRefund,
    PayCheckout,
    RefundTooLarge,
    ToBank,
    ToRecipient,
    ToWallet,
    TransitionRefused,
    order_paid,
)

if TYPE_CHECKING:
    from flask_sqlalchemy import SQLAlchemy

_CENT = Decimal("0.01")
# Of the sandbox's start state, by currency.
_RECIPIENTS = {
    "USD": ToRecipient("5a6d00000000000000000101"),
    "EUR": ToRecipient("5a6d00000000000000000103"),
}
_MAKERS = (
    (_RECIPIENTS["USD"], "USD"),
    # This bank takes five dollars at least, so that some are refused.
    (ToBank("Bo Maker", "7700554411", "us_harbor_savings", "Harbor Savings Bank"), "USD"),
    (ToBank("Mo Maker", "4000987650", "us_first_sandbox", "First Sandbox Bank"), "USD"),
    (ToWallet("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"), "usdc-polygon"),
)
_BOOKKEEPER = {"by": "the bookkeeper", "why": "as the books say"}


class MoneyOut:
    """Routes and receivers of the shop's processes."""

    def __init__(self, paycheckout: PayCheckout, db: SQLAlchemy) -> None:
        self._paycheckout = paycheckout
        self._db = db

    def connect(self, app: Flask) -> None:
        order_paid.connect(self.pay_maker, app)
        for rule, view in (
            ("/orders/<order_id>/refund", self.refund),
            ("/payouts/<reference>/approve", self.approve),
            ("/payouts/<reference>/retry", self.retry),
            ("/payouts/<reference>/resolve", self.resolve),
        ):
            app.add_url_rule(rule, view_func=view, methods=["POST"], endpoint=rule)

    def pay_maker(self, app: Flask, *, order_id: str, checkout: Any, **extra: Any) -> None:
        """Half of every paid order goes to who made the goods, once."""
        to, currency = _MAKERS[int(order_id[-2:]) % len(_MAKERS)]
        share = (checkout.total.amount / 2).quantize(_CENT)
        self._paycheckout.pay_out(f"maker-{order_id}", share, currency, to, order_id=order_id)

    def refund(self, order_id: str) -> Response | tuple[Response, int]:
        """Money of an order back: all that is left or a part, to a recipient or to where the customer says."""
        wanted, model = request.get_json(), self._paycheckout.Checkout
        paid = self._db.session.scalars(
            self._db.select(model).where(model.order_id == order_id, model.status.in_(["paid", "held", "rejected"]))
        ).first()
        if paid is None:
            return jsonify(refused="nothing was paid"), 409
        to = None if wanted["claims"] else _RECIPIENTS[paid.payment.paid.currency]
        try:
            refund = self._paycheckout.refund(paid.checkout_id, wanted["amount"], by="Ada", why="one jar broke", to=to)
        except (NothingToRefund, RefundTooLarge, ValueError) as refused:
            self._db.session.rollback()
            return jsonify(refused=str(refused)), 409
        reference = refund.reference
        self._db.session.commit()
        return jsonify(reference=reference, url=self._paycheckout.refund_url(reference))

    def approve(self, reference: str) -> Response:
        """A person looks, and approves what was seen."""
        payout = self._find(reference)
        return self._decided(lambda: self._paycheckout.approve_payout(reference, by="Ada", seen=payout.revision))

    def retry(self, reference: str) -> Response:
        return self._decided(lambda: self._paycheckout.retry_payout(reference, **_BOOKKEEPER))

    def resolve(self, reference: str) -> Response:
        sent = bool(request.get_json()["sent"])
        return self._decided(lambda: self._paycheckout.resolve_payout(reference, sent, **_BOOKKEEPER))

    def _decided(self, decide: Any) -> Response:
        try:
            return jsonify(status=decide().status)
        except (TransitionRefused, RefundTooLarge) as refused:
            return jsonify(refused=str(refused))

    def _find(self, reference: str) -> Any:
        model = self._paycheckout.Payout
        found = self._db.session.scalars(self._db.select(model).where(model.reference == reference)).first()
        self._db.session.rollback()
        return found or abort(404)
