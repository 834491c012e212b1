"""A diary for the owner: one line for each event of an order's payment, written exactly once.

A receiver writes through `db.session` without committing; the extension commits the line together with the mark that
the receiver has run.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from flask import render_template_string
from markupsafe import Markup
from sqlalchemy import ForeignKey, String, select
from sqlalchemy.orm import Mapped, mapped_column

from example_shop.database import Model, Moment, db
from example_shop.hooks import hooks, now
from example_shop.payments import HELD_BECAUSE, of_orders
from flask_paycheckout import (
    checkout_created,
    order_abandoned,
    order_paid,
    order_pending,
    payment_held,
    payment_resolved,
    payout_completed,
    payout_failed,
    payout_sent,
    payout_unknown,
    refund_claimed,
)

if TYPE_CHECKING:
    from flask import Flask

    from example_shop.database import Order
    from flask_paycheckout import CheckoutMixin, PayoutMixin

_NOTE = """<details><summary>Diary of {{ order.id }}</summary>
<ol>{% for entry in entries %}
  <li><time datetime="{{ entry.at.isoformat() }}">{{ entry.at.strftime("%d %b, %H:%M:%S") }}</time>
    {{ entry.text }}</li>
{% endfor %}</ol></details>"""


class Entry(Model):
    """A line of an order's diary."""

    __tablename__ = "diary"

    id: Mapped[int] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"), index=True)
    event_id: Mapped[str] = mapped_column(String(64), unique=True)
    at: Mapped[datetime] = mapped_column(Moment)
    text: Mapped[str] = mapped_column(String(300))


def entries(order_id: str) -> list[Entry]:
    """The order's diary, oldest line first."""
    return list(db.session.scalars(select(Entry).where(Entry.order_id == order_id).order_by(Entry.id)))


def note(order_id: str, event_id: str, text: str) -> None:
    db.session.add(Entry(order_id=order_id, event_id=event_id, at=now(), text=text[:300]))


@of_orders
def note_created(app: Flask, *, order_id: str, event_id: str, **extra: Any) -> None:
    note(order_id, event_id, "A payment page was opened.")


@of_orders
def note_pending(app: Flask, *, order_id: str, event_id: str, **extra: Any) -> None:
    note(order_id, event_id, "The customer chose how to pay; the money is awaited.")


ENDED_BECAUSE: dict[str | None, str] = {
    "never_picked": "The payment page ran out unused.",
    "deposit_closed": "The payment failed.",
    "stalled": "The money that was awaited did not come.",
}
"""The diary's text for an abandoned checkout, by its `reason`."""


@of_orders
def note_abandoned(app: Flask, *, order_id: str, checkout: CheckoutMixin, event_id: str, **extra: Any) -> None:
    note(order_id, event_id, ENDED_BECAUSE.get(checkout.reason, "The payment came to nothing."))


@of_orders
def note_held(app: Flask, *, order_id: str, event_id: str, reason: str, **extra: Any) -> None:
    note(order_id, event_id, f"Money arrived and is held: {HELD_BECAUSE.get(reason, reason)}.")


@of_orders
def note_resolved(app: Flask, *, order_id: str, event_id: str, accepted: bool, by: str, why: str, **extra: Any) -> None:
    note(order_id, event_id, f"The held money was {'accepted' if accepted else 'rejected'} by {by}: {why}")


@of_orders
def note_paid(app: Flask, *, order_id: str, event_id: str, **extra: Any) -> None:
    note(order_id, event_id, "The order is paid.")


@of_orders
def note_payout(app: Flask, *, order_id: str | None, payout: PayoutMixin, event_id: str, **extra: Any) -> None:
    if order_id is None:
        return  # it belongs to no order
    why = f": {payout.problem}" if payout.problem else ""
    note(order_id, event_id, f"The {payout.kind} {payout.reference} of {payout.amount} is {payout.status}{why}.")


def desk_note(order: Order) -> str | None:
    found = entries(order.id)
    if not found:
        return None
    return Markup(render_template_string(_NOTE, order=order, entries=found))  # noqa: S704 - the template escapes


def init_app(app: Flask) -> None:
    # With sender=app, so that events of another app in the same process are ignored.
    checkout_created.connect(note_created, sender=app)
    order_pending.connect(note_pending, sender=app)
    order_abandoned.connect(note_abandoned, sender=app)
    payment_held.connect(note_held, sender=app)
    payment_resolved.connect(note_resolved, sender=app)
    order_paid.connect(note_paid, sender=app)
    for signal in (refund_claimed, payout_sent, payout_completed, payout_failed, payout_unknown):
        signal.connect(note_payout, sender=app)
    hooks(app).desk_notes.append(desk_note)
