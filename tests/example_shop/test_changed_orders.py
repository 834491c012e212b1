"""An order is changed or cancelled while its payment is settled: the shop never ships goods that were not paid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select, update

from example_shop.database import Line, Order, db
from example_shop.fulfilment import order_parcel
from example_shop.payments import NotWhatWasPaid, paycheckout
from example_shop.receipts import write_receipt
from example_shop.stock import Reservation, Stock, take_jars
from example_shop.suppliers import pay_suppliers
from tests.example_shop.conftest import Payments, Shopper
from tests.races.interleaving import every_interleaving

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

    from flask_paycheckout.testing import Sandbox

PLENTY = 500
CHANGES = [
    pytest.param("change", {"first-snow": 2}, id="changed"),
    pytest.param("cancel", {}, id="cancelled", marks=pytest.mark.slow("interleavings")),
]


@pytest.mark.parametrize(("act", "fields"), CHANGES)
def test_an_order_that_changes_at_any_moment_of_its_payment(
    make_shop: Callable[..., Flask],
    each_database: str,
    paycheckout_sandbox: Sandbox,
    act: str,
    fields: dict[str, Any],
) -> None:
    shop = make_shop(SQLALCHEMY_DATABASE_URI=each_database, PAYCHECKOUT_RECONCILE_READERS=1)
    shopper, orders = Shopper(shop), list[str]()

    def begin() -> dict[str, Callable[[], object]]:
        """Make an order of one jar, whose payment the shop does not know yet; returns the two acts."""
        with shop.app_context():
            db.session.execute(update(Stock).values(free=PLENTY, reserved=0, sold=0))
            db.session.commit()
        orders.append(shopper.orders(first_snow=1))
        checkout_id = shopper.starts_to_pay(orders[-1])
        paycheckout_sandbox.pay(checkout_id)
        form = {**fields, "csrf_token": shopper.secret()}

        def settle() -> None:
            with shop.app_context():
                paycheckout.settle(checkout_id)

        # The acts query the database only for the form.
        return {"settles": settle, "changes": lambda: shopper.browser.post(f"/orders/{orders[-1]}/{act}", data=form)}

    def check() -> None:
        with shop.app_context():
            order = db.session.get_one(Order, orders[-1])
            jars, status = [line.quantity for line in order.lines], paycheckout.order_status(order.id)
            stock = db.session.get_one(Stock, "first-snow")
            own = db.session.get_one(Reservation, (order.id, "first-snow"))
            if status == "paid":
                assert (order.state, jars, own.sold) == ("paid", [1], 1)
            else:
                assert status == "held", "money is out of sight"
                assert order.state == "cancelled" or jars == [2]
                assert own.sold == 0
            assert (stock.reserved, stock.sold) == (own.reserved, own.sold)
            assert stock.free + stock.reserved + stock.sold == PLENTY

    with shop.app_context():
        engine = db.engine
    # Each order of the statements in which one act is interrupted once by the other.
    assert every_interleaving(engine, begin, check, preemptions=1) > 2


def test_shipping_and_bookkeeping_use_the_paid_amount(shop: Flask, payments: Payments) -> None:
    """If a shop forgets a lock, its receivers refuse, and `report` names them."""
    order_id = payments.buys(first_snow=1)
    with shop.app_context():
        db.session.execute(update(Line).where(Line.order_id == order_id).values(quantity=9))
        db.session.commit()
        checkout = db.session.scalars(select(paycheckout.Checkout)).one()
        # Receivers are called like this: with a loaded object, and without an open transaction.
        db.session.expunge(checkout)
        event: dict[str, Any] = {"order_id": order_id, "checkout": checkout, "event_id": "told again"}
        for receiver in (order_parcel, pay_suppliers, write_receipt, take_jars):
            db.session.rollback()
            with pytest.raises(NotWhatWasPaid, match="was paid"):
                receiver(shop, **event)
