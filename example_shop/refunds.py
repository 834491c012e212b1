"""Refunds: the owner gives back what arrived for an order, and the customer who placed it says where it goes.

`paycheckout.refund` takes part in the transaction that changes the order, so that both happen or neither. The extension
keeps the sum: what arrived is never paid back twice. Parts of a payment are refunded on its own pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, abort, flash, redirect, render_template_string, request, session, url_for
from markupsafe import Markup
from sqlalchemy import select

from example_shop import owner
from example_shop.database import Order, db
from example_shop.hooks import hooks
from example_shop.orders import commit_change
from example_shop.payments import paycheckout
from flask_paycheckout import NothingToRefund, RefundTooLarge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flask import Flask
    from werkzeug.wrappers import Response

    from flask_paycheckout import CheckoutMixin, PayoutMixin

MOST_REASON = 300
"""The most characters of a refund's reason."""

# The statuses of payments that count for their order.
_COUNTED = ("paid", "part")

blueprint = Blueprint("refunds", __name__, url_prefix="/owner/refunds")
blueprint.before_request(owner.ask_for_password)

_FORMS = """{% for checkout in checkouts %}<details><summary>Refund {{ checkout.payment.paid }}</summary>
<form class="inline" action="{{ url_for('refunds.refund', checkout_id=checkout.checkout_id) }}" method="post">
  {{ csrf_field() }}<input name="why" required maxlength="300" aria-label="Why {{ order.id }} is refunded">
  <button class="quiet">Refund</button></form></details>{% endfor %}"""


_NOTES = """{% for refund in refunds %}{% set sum = refund.amount ~ " " ~ refund.currency %}
{% if refund.status == "claimable" %}We pay {{ sum }} back to you.
  {% if placed %}<a class="button" href="{{ url_of(refund.reference) }}">Say where it goes</a>
  {% else %}Say where it goes on this page in the browser that ordered, or ask us for the link.{% endif %}
{% elif refund.status == "waiting" %}We pay {{ sum }} back to you, and check where it goes.
  {% if placed %}<a href="{{ url_of(refund.reference) }}">Look at it, or change where it goes</a>.{% endif %}
{% elif refund.status in ("ready", "sending") %}We are sending {{ sum }} back to you.
{% elif refund.status == "sent" %}{{ sum }} are on their way back to you.
{% elif refund.status == "completed" %}We have paid {{ sum }} back to you.
{% else %}We still owe you {{ sum }}, and see to it.{% endif %}
{% endfor %}"""


def refundable(order_id: str) -> Sequence[CheckoutMixin]:
    """The order's payments that were not refunded yet, or only in part; a held one is decided first."""
    row = paycheckout.Checkout
    wanted = (row.order_id == order_id, row.status.in_([*_COUNTED, "rejected"]), row.payback.is_(None))
    return [
        checkout
        for checkout in db.session.scalars(select(row).where(*wanted))
        if checkout.payment and checkout.payment.paid
    ]


@blueprint.post("/<checkout_id>")
def refund(checkout_id: str) -> Response:
    """Refund a payment, and close the order when no other payment of it is left."""
    row, why = paycheckout.Checkout, request.form.get("why", "").strip()
    if not 0 < len(why) <= MOST_REASON:
        abort(400, f"A refund needs a reason, of at most {MOST_REASON} letters. Nothing was refunded.")
    found = select(row.order_id, row.status).where(row.checkout_id == checkout_id)
    order_id, status = db.session.execute(found).one_or_none() or abort(404)
    order = db.session.get_one(Order, order_id, with_for_update=True)
    try:
        paycheckout.refund(checkout_id, by="the owner", why=why)
    except (NothingToRefund, RefundTooLarge):
        abort(409, "Nothing of this payment is left to refund.")
    unpaid = order.state == "open"
    if status in _COUNTED and all(checkout.status not in _COUNTED for checkout in refundable(order_id)):
        order.state = "refunded"
    if unpaid:
        # Its jars were kept for the rest.
        commit_change(order)
    else:
        db.session.commit()
    flash("It is refunded as soon as the customer has said where to, and you have approved that under Payouts.")
    return redirect(url_for("owner.desk"), 303)


def order_note(order: Order) -> str | None:
    """Tell how the order's refunds stand, and ask who placed it where the money goes.

    Others may know the order's number, and would say that it goes to them. A customer with another browser gets the
    link from the owner, who finds it under Payouts.
    """
    row = paycheckout.Payout
    wanted = (row.order_id == order.id, row.kind == "refund", row.status != "cancelled")
    told: list[PayoutMixin] = []
    for one in db.session.scalars(select(row).where(*wanted).order_by(row.id)):
        # A refund to another destination takes the place of the one that failed.
        failed = ("failed", one.refund_of, one.counts)
        told = [other for other in told if (other.status, other.refund_of, other.counts) != failed] + [one]
    placed = order.id in session.get("placed", [])
    notes = render_template_string(_NOTES, refunds=told, placed=placed, url_of=paycheckout.refund_url)
    return Markup(notes) or None  # noqa: S704 - the template escapes


def desk_note(order: Order) -> str | None:
    forms = render_template_string(_FORMS, order=order, checkouts=refundable(order.id))
    return Markup(forms) or None  # noqa: S704 - the template escapes


def init_app(app: Flask) -> None:
    app.register_blueprint(blueprint)
    hooks(app).order_notes.insert(0, order_note)
    hooks(app).desk_notes.append(desk_note)
