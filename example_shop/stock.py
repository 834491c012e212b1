"""Jars are reserved while somebody pays for them, taken once they are paid, and free again when nobody pays.

How many are free and kept for whom is in `shelf`, and so is why nothing is oversold.
All signals lead to the same function, which looks at how the order stands now: signals that come late, twice or
in another order do no harm. Money that arrives late, when the jars of an abandoned order were free again, is taken
while there still are enough of them; else the payment is held for the owner, because `against_paying` objects.

No shelf is reserved for free. To press the pay button costs nothing, so it reserves nothing. To pick a way to pay costs
nothing either, but a customer who was told where to send the money must find the jars there: so that reserves, for as
long as PAYCHECKOUT_PENDING_FOR gives that way to pay. All that is reserved of a jar and not paid is at most half of
what there is, so that nobody can empty the shop without paying, however many orders they place. An order for which
nothing could be reserved is paid from the free half, first come, first served.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from flask import Blueprint, abort, flash, redirect, render_template_string, request, url_for
from sqlalchemy import select, update

from example_shop import owner
from example_shop.basket import quantity_in
from example_shop.database import changed, db
from example_shop.hooks import hooks
from example_shop.models import Order
from example_shop.payments import paycheckout, require_paid
from example_shop.products import SHELF, Product
from example_shop.shelf import Reservation, SoldOut, Stock, free_of, kept, release, reserve, take, wanted
from flask_paycheckout import checkout_created, order_abandoned, order_paid, order_pending, payment_held

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Response

    from flask_paycheckout import CheckoutMixin

#: How a payment stands for which jars are kept.
_RESERVING = ("pending", "held")

blueprint = Blueprint("stock", __name__, url_prefix="/owner/stock")
blueprint.before_request(owner.ask_for_password)


@paycheckout.atomic
def take_jars(app: Flask, *, order_id: str, checkout: CheckoutMixin, **extra: Any) -> None:
    """In the transaction that makes the payment count: an order is paid and has its jars, or neither.

    :raises SoldOut: somebody was faster in this moment. The payment is weighed again, and then `too_few` has it held.
    """
    order = db.session.get_one(Order, order_id, with_for_update=True)
    require_paid(order, checkout)
    try:
        take(order)
    except SoldOut:
        # A person took this money although jars were missing: `follow_payment` waits for the next catch.
        if checkout.reason is None:
            raise


def follow_payment(app: Flask, *, order_id: str, **extra: Any) -> None:
    """What is to be done with the jars follows from how the order stands now, whichever signal told of it.

    Not atomic: it locks the order, and in a transaction that has already moved a payment that lock would come too late.
    Only where a payment counts is the order locked first, by `order_total`.
    """
    # One at a time for each order; SQLite has only one writer anyway. The lock comes before the look.
    order = db.session.get_one(Order, order_id, with_for_update=True)
    if paycheckout.order_status(order_id) == "paid":
        take(order)
    else:
        keep(order)


def keep(order: Order) -> None:
    """Reserve for a locked order that is not paid, or release, as it stands now."""
    status = paycheckout.order_status(order.id)
    called_off = order.state == "cancelled" and status == "pending"
    if status not in _RESERVING or called_off:
        release(order.id)
        return
    try:
        reserve(order)
    except SoldOut:
        # Somebody was faster, or it is too much. Money that comes takes what is free, or is held because of `too_few`.
        release(order.id)


def too_few(order: Order) -> str | None:
    """Why this order cannot be paid: what is free, and what is reserved for it, is less than what it wants."""
    own = kept(order.id)
    names = {line.slug: line.name for line in order.lines}
    short = [
        names[slug]
        for slug, jars in wanted(order).items()
        if free_of(slug) + (own[slug].quantity if slug in own else 0) < jars
    ]
    return f"We do not have enough left of {' and '.join(short)}." if short else None


def not_taken(order: Order) -> str | None:
    own = kept(order.id)
    if all(slug in own and own[slug].taken and own[slug].quantity == jars for slug, jars in wanted(order).items()):
        return None
    return "Its jars are not on the shelf."


def jar_note(product: Product) -> str | None:
    free = free_of(product.slug)
    if free > 5:
        return None
    return f"Only {free} left." if free else "All gone for now. We are out catching more."


def desk_note(order: Order) -> str | None:
    return "Paid, but sold out: catch more, or pay back." if order.state == "paid" and not_taken(order) else None


_PAGE = """{% extends "base.html" %}
{% block title %}Stock{% endblock %}
{% block main %}
<p class="back"><a href="{{ url_for('owner.desk') }}">The owner's desk</a></p>
<h1>Stock</h1>
<table class="orders">
  <thead><tr><th scope="col">Jar</th><th scope="col" class="number">Free</th>
    <th scope="col" class="number">Reserved</th>
    <th scope="col" class="number">Sold</th><th scope="col" class="number">Caught more</th></tr></thead>
  <tbody>
    {% for product, free, reserved, sold in rows %}
    <tr>
      <th scope="row">{{ product.name }}</th>
      <td class="number" data-label="Free">{{ free }}</td>
      <td class="number" data-label="Reserved">{{ reserved }}</td>
      <td class="number" data-label="Sold">{{ sold }}</td>
      <td data-label="Caught more"><form class="inline" method="post">{{ csrf_field() }}
        <input type="hidden" name="slug" value="{{ product.slug }}">
        <input type="number" name="jars" min="1" max="20" value="1" required
          aria-label="New jars of {{ product.name }}">
        <button class="quiet">Shelve</button></form></td>
    </tr>
    {% endfor %}
  </tbody>
</table>
{% endblock %}"""


@blueprint.get("/")
def shelf() -> str:
    free = {row.slug: row.free for row in db.session.scalars(select(Stock))}
    gone: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for row in db.session.scalars(select(Reservation)):
        gone[row.taken][row.slug] += row.quantity
    rows = [(jar, free.get(jar.slug, 0), gone[False][jar.slug], gone[True][jar.slug]) for jar in SHELF]
    return render_template_string(_PAGE, rows=rows)


@blueprint.post("/")
def add_jars() -> Response:
    jars, slug = quantity_in(request.form, "jars"), request.form.get("slug", "")
    if not changed(update(Stock).where(Stock.slug == slug).values(free=Stock.free + jars)):
        abort(404)
    db.session.commit()
    flash("The new jars are on the shelf.")
    return redirect(url_for("stock.shelf"), 303)


def init_app(app: Flask) -> None:
    order_paid.connect(take_jars, sender=app)
    for signal in (checkout_created, order_pending, payment_held, order_paid, order_abandoned):
        signal.connect(follow_payment, sender=app)
    app.register_blueprint(blueprint)
    attached = hooks(app)
    attached.against_paying.append(too_few)
    attached.against_sending.append(not_taken)
    attached.order_changes.append(keep)
    attached.jar_notes.append(jar_note)
    attached.desk_notes.append(desk_note)
    attached.desk_pages.append(("stock.shelf", "Stock"))
