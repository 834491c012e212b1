"""The connection to flask_paycheckout: the total of an order, and closing an order that is paid.

Order and payment change together. `order_total` locks the order in the same transaction that moves the payment, and
`close_paid_order` is atomic: it closes the order in that transaction too. Code that changes or cancels an order takes
the same lock first (`orders.lock_open_order`). So a change comes either before the payment, which is then compared with
the new total, or after it, and is refused.

Locks are always taken in this order: the shop's order, the extension's payment, the jars sorted by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import session, url_for

from example_shop.database import db
from example_shop.hooks import hooks, texts_of
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

HELD_BECAUSE = {
    "duplicate": "the order had already been paid",
    "order_changed": "the order was changed after this payment began",
    "order_not_payable": "the order was no longer open",
    "order_total_failed": "the shop could not say what the order costs",
    "amount_mismatch": "what arrived is not what was asked for",
}
"""The owner's text for each reason of a held payment."""

# A session cookie holds about 4 KB.
_MOST_REMEMBERED = 20


class NotWhatWasPaid(Exception):
    """The order differs from the one that was paid, so nothing may be sent or booked for it."""


@paycheckout.order_total
def order_total(order_id: str) -> Pay | Receive | None:
    """The order's total, or None when it cannot be paid now. Locks the order."""
    order = db.session.get(Order, order_id, with_for_update=True)
    if order is None or order.state != "open" or texts_of(hooks().against_paying, order):
        return None
    return price_of(order)


def price_of(order: Order) -> Pay | Receive:
    if order.consigned:
        # The consignor must receive the full price, so the customer pays the payment method's fee on top.
        return Receive(order.total, CURRENCY, pay_in=CURRENCY)
    return Pay(order.total, CURRENCY)


def require_paid(order: Order, checkout: CheckoutMixin) -> None:
    """Check that the order still is the one that was paid, before a receiver sends or books anything for it.

    :raises NotWhatWasPaid: it is not. The extension calls the receiver again; `flask paycheckout report` lists it.
    """
    # A payment with a reason was held: a person has accepted it for the order as it is now.
    if checkout.reason is None and checkout.total != price_of(order):
        raise NotWhatWasPaid(f"Order {order.id} costs {price_of(order)}, and {checkout.total} was paid.")


@paycheckout.order_url
def order_page(order_id: str) -> str | None:
    """The link from the payment pages back to the order, for visitors who have seen the order in this session.

    Status links may be passed on to others, who must not get the order's own URL, with which it can be changed.
    """
    return url_for("orders.show", order_id=order_id) if order_id in session.get("seen", []) else None


def remember(key: str, order_id: str) -> None:
    """Remember in the session that this visitor has "seen" the order's page, or has "placed" the order."""
    known: list[str] = session.get(key, [])
    if order_id not in known:
        session[key] = [*known, order_id][-_MOST_REMEMBERED:]


@paycheckout.atomic
def close_paid_order(app: Flask, *, order_id: str, checkout: CheckoutMixin, **extra: Any) -> None:
    """Close the order, which from then on cannot be changed, cancelled or paid."""
    order = db.session.get_one(Order, order_id, with_for_update=True)
    require_paid(order, checkout)
    order.state = "paid"


def init_app(app: Flask, *, transport: httpx.BaseTransport | None, clock: Callable[[], datetime] | None) -> None:
    paycheckout.init_app(app, db, transport=transport, clock=clock)
    # With sender=app, so that events of another app in the same process are ignored.
    order_paid.connect(close_paid_order, sender=app)
