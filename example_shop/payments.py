"""Everything the shop says to flask_paycheckout, and everything it hears back.

It says one thing: what an order costs now. It hears what became of the payment through signals, and writes that down
without committing: the extension commits it together with the mark that the signal was delivered, so each is written
exactly once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from example_shop.clock import now
from example_shop.database import db
from example_shop.models import Entry, Order
from example_shop.money import CURRENCY
from flask_paycheckout import (
    Pay,
    PayCheckout,
    Receive,
    checkout_created,
    order_abandoned,
    order_paid,
    order_pending,
    payment_held,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    import httpx
    from flask import Flask

paycheckout = PayCheckout()

#: Why money is held for a person, in the owner's words.
HELD_BECAUSE = {
    "duplicate": "the order had already been paid",
    "order_changed": "the order was changed after this payment began",
    "order_not_payable": "the order was no longer open",
    "amount_mismatch": "what arrived is not what was asked for",
}

# An order's attempts at payment may stand differently; the first of these that one of them has is the order's.
_BEST_FIRST = ("paid", "held", "pending", "created", "abandoned")


@paycheckout.order_total
def order_total(order_id: str) -> Pay | Receive | None:
    """What the order costs now; None when it is not, or no longer, to be paid."""
    order = db.session.get(Order, order_id)
    if order is None or order.state != "open":
        return None
    if order.consigned:
        # The keeper of the lighthouse gets her price whole: the customer pays the payment method's fee on top.
        return Receive(order.total, CURRENCY, pay_in=CURRENCY)
    return Pay(order.total, CURRENCY)


def payment_statuses(order_ids: Iterable[str]) -> dict[str, str]:
    """How the payment of each order stands: `unpaid` when nobody tried, else the best of its attempts."""
    attempts: dict[str, set[str]] = {order_id: set() for order_id in order_ids}
    checkout = paycheckout.Checkout
    rows = select(checkout.order_id, checkout.status).where(checkout.order_id.in_(attempts))
    for order_id, status in db.session.execute(rows):
        attempts[order_id].add(status)
    return {
        order_id: next((status for status in _BEST_FIRST if status in seen), "unpaid")
        for order_id, seen in attempts.items()
    }


def payment_status(order_id: str) -> str:
    return payment_statuses([order_id])[order_id]


def note(order_id: str, event_id: str, text: str) -> None:
    """Write into the order's diary, and leave the commit to the extension."""
    db.session.add(Entry(order_id=order_id, event_id=event_id, at=now(), text=text))


def note_created(app: Flask, *, order_id: str, event_id: str, **extra: Any) -> None:
    note(order_id, event_id, "A payment page was opened.")


def note_pending(app: Flask, *, order_id: str, event_id: str, **extra: Any) -> None:
    note(order_id, event_id, "The customer chose how to pay; the money is awaited.")


def note_abandoned(app: Flask, *, order_id: str, event_id: str, **extra: Any) -> None:
    note(order_id, event_id, "The payment page ran out unused.")


def note_held(app: Flask, *, order_id: str, event_id: str, reason: str, **extra: Any) -> None:
    note(order_id, event_id, f"Money arrived and is held: {HELD_BECAUSE.get(reason, reason)}.")


def close_paid_order(app: Flask, *, order_id: str, event_id: str, **extra: Any) -> None:
    """From here on nobody may change, cancel or pay the order."""
    order = db.session.get_one(Order, order_id)
    order.state = "paid"
    note(order_id, event_id, "The order is paid.")


def init_app(app: Flask, *, transport: httpx.BaseTransport | None, clock: Callable[[], datetime] | None) -> None:
    paycheckout.init_app(app, db, transport=transport, clock=clock)
    # With sender=app another app in the same process is none of our business.
    checkout_created.connect(note_created, sender=app)
    order_pending.connect(note_pending, sender=app)
    order_abandoned.connect(note_abandoned, sender=app)
    payment_held.connect(note_held, sender=app)
    order_paid.connect(close_paid_order, sender=app)
