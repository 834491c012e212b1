"""What the shop tells flask_paycheckout, what an order costs, and the one thing that it must hear: it is paid.

An order and its payment move together. `order_total` locks the order, in the very transaction that makes the payment
count, and `close_paid_order` is atomic: it closes the order in that same transaction. Whoever changes or cancels an
order takes the same lock first (`orders.lock_open_order`). So a change comes before the payment, which then counts for
the new total or is held, or after it, and is refused.

The locks are taken in one order everywhere: the shop's order, the extension's payment, the jars by their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import session, url_for

from example_shop.database import db
from example_shop.hooks import hooks, said
from example_shop.models import Order
from example_shop.money import CURRENCY
from flask_paycheckout import Pay, PayCheckout, Receive, order_paid

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    import httpx
    from flask import Flask

    from flask_paycheckout import CheckoutMixin

paycheckout = PayCheckout()

#: Why money is held for a person, in the owner's words.
HELD_BECAUSE = {
    "duplicate": "the order had already been paid",
    "order_changed": "the order was changed after this payment began",
    "order_not_payable": "the order was no longer open",
    "order_total_failed": "the shop could not say what the order costs",
    "amount_mismatch": "what arrived is not what was asked for",
}

#: A cookie has room for a few.
_MOST_REMEMBERED = 20


class NotWhatWasPaid(Exception):
    """The order is another than the one that was paid; nothing is to be sent or booked for it."""


@paycheckout.order_total
def order_total(order_id: str) -> Pay | Receive | None:
    """What the order costs now; None when it is not, or no longer, to be paid. Locks the order."""
    order = db.session.get(Order, order_id, with_for_update=True)
    if order is None or order.state != "open" or said(hooks().against_paying, order):
        return None
    return price_of(order)


def price_of(order: Order) -> Pay | Receive:
    if order.consigned:
        # The keeper of the lighthouse gets her price whole: the customer pays the payment method's fee on top.
        return Receive(order.total, CURRENCY, pay_in=CURRENCY)
    return Pay(order.total, CURRENCY)


def require_paid(order: Order, checkout: CheckoutMixin) -> None:
    """For receivers that send or book something for a paid order: what they find must be what was paid for.

    :raises NotWhatWasPaid: it is not. The receiver is called again, and `flask paycheckout report` names it meanwhile.
    """
    # Money that was held has a reason: a person looked at the order as it is, and took the money for it.
    if checkout.reason is None and checkout.total != price_of(order):
        raise NotWhatWasPaid(f"Order {order.id} costs {price_of(order)}, and {checkout.total} was paid.")


@paycheckout.order_url
def order_page(order_id: str) -> str | None:
    """Where the payment pages lead back to, for who has been there.

    A status link may be passed on; the order's address is the key to it, and must not go along.
    """
    return url_for("orders.show", order_id=order_id) if order_id in session.get("orders", []) else None


def remember_visit(order_id: str) -> None:
    """This visitor knows the order's address."""
    seen: list[str] = session.get("orders", [])
    if order_id not in seen:
        session["orders"] = [*seen, order_id][-_MOST_REMEMBERED:]


@paycheckout.atomic
def close_paid_order(app: Flask, *, order_id: str, checkout: CheckoutMixin, **extra: Any) -> None:
    """From here on nobody may change, cancel or pay the order."""
    order = db.session.get_one(Order, order_id, with_for_update=True)
    require_paid(order, checkout)
    order.state = "paid"


def init_app(app: Flask, *, transport: httpx.BaseTransport | None, clock: Callable[[], datetime] | None) -> None:
    paycheckout.init_app(app, db, transport=transport, clock=clock)
    # With sender=app another app in the same process is none of our business.
    order_paid.connect(close_paid_order, sender=app)
