"""The shop's books: closing a month, and comparing it with the service."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest
from flask import current_app

from flask_paycheckout import ToRecipient
from flask_paycheckout.testing import Sandbox
from tests.docs.conftest import MakeShop
from tests.docs.pages import Scene


def settling(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    """One month has a sale, a refund and a rejected payment; the next refunds the sale; the third has another sale.

    The last sale is refunded in the month after it.
    """
    shop = make_shop(scene["settle.py"], "def seller_of(order_id):\n    return 'mill'\n")
    maker, paycheckout = ToRecipient("5a6d00000000000000000101"), shop.paycheckout
    shop.db.session.add_all(shop.Order(id=order_id, total="12.50") for order_id in ("2", "3", "4"))
    shop.db.session.commit()

    def arrives(order_id: str, amount: str | None = None) -> str:
        checkout_id = str(paycheckout.start(order_id).checkout_id)
        paycheckout_sandbox.pay(checkout_id, amount)
        paycheckout.settle(checkout_id)
        return checkout_id

    def goes_back(checkout_id: str, amount: str) -> None:
        paycheckout.refund(checkout_id, amount, by="Ada", why="one jar broke", to=maker)
        shop.db.session.commit()
        paycheckout.send_payouts()

    def paid_after_month(start: date) -> Decimal:
        paycheckout_sandbox.advance(minutes=31 * 24 * 60)
        for _ in ("once", "again"):
            shop.settle_month("mill", maker.recipient_id, start, start + timedelta(days=31))
        payouts = shop.db.session.scalars(shop.db.select(paycheckout.Payout).filter_by(kind="payout"))
        return sum((payout.amount for payout in payouts), Decimal(0))

    first = paycheckout_sandbox.now.date()
    sold = arrives("1")
    for checkout_id in (sold, arrives("2", "5.00")):
        goes_back(checkout_id, "2.00")
    fee = next(line.fee for line in paycheckout.books() if line.kind == "payment")

    def refund_fee() -> Decimal:
        return [line.fee or Decimal(0) for line in paycheckout.books() if line.kind == "refund"][-1]

    def share(earned: Decimal) -> Decimal:
        return (earned * Decimal("0.90")).quantize(Decimal("0.01"), "ROUND_DOWN")

    earned = Decimal("10.50") - fee - refund_fee()
    assert paid_after_month(first) == share(earned)
    goes_back(sold, "10.50")
    second = first + timedelta(days=31)
    assert paid_after_month(second) == share(earned), "nothing is due"
    earned += Decimal("2.00") - fee - refund_fee()
    taken_back = arrives("3")
    third = second + timedelta(days=31)
    assert paid_after_month(third) == share(earned), "what lacked is carried over"
    arrives("4")
    paycheckout_sandbox.deliver_to(current_app.test_client())
    paycheckout.client.deposits.sandbox_update(taken_back, "failed")
    paycheckout_sandbox.advance(minutes=1)
    paycheckout.reconcile()
    assert paid_after_month(third + timedelta(days=31)) == share(earned), "of what was taken back nothing is due"


def figures(
    scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = make_shop()
    paid = shop.paycheckout.start("1").checkout_id
    paycheckout_sandbox.pay(paid)
    shop.paycheckout.settle(paid)
    today = paycheckout_sandbox.now.date()
    code = scene[""].replace("2026-10-01", f"{today}").replace("2026-11-01", f"{today + timedelta(days=1)}")
    exec(code, {"paycheckout": shop.paycheckout})  # noqa: S102 - the documentation's own code
    assert capsys.readouterr().out.startswith("USD 12.50 ")
