"""The shop's books: a month is closed, and whether the service agrees with it."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from flask_paycheckout import ToRecipient
from flask_paycheckout.testing import Sandbox
from tests.docs.conftest import MakeShop
from tests.docs.pages import Scene


def settling(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    """A sale with a refund, and a rejected payment that goes back; settled twice."""
    shop = make_shop(scene["settle.py"], "def seller_of(order_id):\n    return 'mill'\n")
    maker, paycheckout = ToRecipient("5a6d00000000000000000101"), shop.paycheckout
    shop.db.session.add(shop.Order(id="2", total="12.50"))
    shop.db.session.commit()
    start = paycheckout_sandbox.now.date()
    sold, rejected = (str(paycheckout.start(order_id).checkout_id) for order_id in ("1", "2"))
    paycheckout_sandbox.pay(sold)
    paycheckout_sandbox.pay(rejected, "5.00")
    for checkout_id in (sold, rejected):
        paycheckout.settle(checkout_id)
        paycheckout.refund(checkout_id, "2.00", by="Ada", why="one jar broke", to=maker)
        shop.db.session.commit()
    paycheckout.send_payouts()
    fee = next(line.fee for line in paycheckout.books() if line.kind == "payment")
    end = start + timedelta(days=31)
    for _ in ("once", "again"):
        shop.settle_month("mill", maker.recipient_id, start, end)
        (made,) = [one for one in shop.db.session.scalars(shop.db.select(paycheckout.Payout)) if one.kind == "payout"]
    refund_fee = next(line.fee for line in paycheckout.books() if line.kind == "refund")
    expected = (Decimal("10.50") - fee - refund_fee) * Decimal("0.90")
    assert (made.amount, made.reference) == (expected.quantize(Decimal("0.01"), "ROUND_DOWN"), f"mill-{start}-USD")
