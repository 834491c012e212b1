"""Jars are reserved while somebody pays for them, taken once they are paid, and free again when nobody pays.

Never oversold: a jar leaves the free ones by one conditional UPDATE, and where it changes nothing, nothing is left.
All five signals lead to the same function, which looks at how the order stands now: signals that come late, twice or
in another order do no harm. Money that arrives late, when the jars of an abandoned order were free again, is taken
while there still are enough of them; else the payment is held for the owner, because `against_paying` objects.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from flask import Blueprint, abort, flash, redirect, render_template_string, request, url_for
from sqlalchemy import CheckConstraint, Connection, ForeignKey, String, Table, delete, event, insert, select, update
from sqlalchemy.orm import Mapped, mapped_column

from example_shop import owner
from example_shop.basket import quantity_in
from example_shop.database import Model, changed, db
from example_shop.hooks import hooks
from example_shop.models import Order
from example_shop.payments import payment_status
from example_shop.products import SHELF, Product
from flask_paycheckout import checkout_created, order_abandoned, order_paid, order_pending, payment_held

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Response

#: What is caught at the start, of each jar.
OPENING = 40
_RARE = {"northern-lights": 11}

_RESERVING = ("created", "pending", "held")

blueprint = Blueprint("stock", __name__, url_prefix="/owner/stock")
blueprint.before_request(owner.ask_for_password)


class SoldOut(Exception):
    """Fewer jars are free than an order wants; nothing was reserved."""


class Stock(Model):
    """The free jars of a kind: those on the shelf that nobody has reserved."""

    __tablename__ = "stock"

    slug: Mapped[str] = mapped_column(String(40), primary_key=True)
    free: Mapped[int] = mapped_column(CheckConstraint("free >= 0"))


class Reservation(Model):
    """So many jars are kept for an order, or `taken`: gone from the shelf for good."""

    __tablename__ = "reservations"

    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"), primary_key=True)
    slug: Mapped[str] = mapped_column(ForeignKey("stock.slug"), primary_key=True, index=True)
    quantity: Mapped[int]
    taken: Mapped[bool] = mapped_column(default=False)


@event.listens_for(Stock.__table__, "after_create")
def fill_the_shelf(table: Table, connection: Connection, **_: object) -> None:
    opening = [{"slug": jar.slug, "free": _RARE.get(jar.slug, OPENING)} for jar in SHELF]
    connection.execute(insert(table), opening)


def wanted(order: Order) -> Counter[str]:
    jars: Counter[str] = Counter()
    for line in order.lines:
        jars[line.slug] += line.quantity
    return jars


def kept(order_id: str) -> dict[str, Reservation]:
    """What is reserved or taken for an order, by jar."""
    rows = db.session.scalars(select(Reservation).where(Reservation.order_id == order_id))
    return {row.slug: row for row in rows}


def free_of(slug: str) -> int:
    return db.session.scalar(select(Stock.free).where(Stock.slug == slug)) or 0


def move(slug: str, jars: int) -> None:
    """Take so many from the free jars, or give them back when negative; in one statement, so never too many.

    :raises SoldOut: there are not so many.
    """
    enough = Stock.free >= jars
    if not changed(update(Stock).where(Stock.slug == slug, enough).values(free=Stock.free - jars)):
        raise SoldOut(f"There are not enough free jars of {slug}.")


def reserve(order: Order) -> None:
    """Keep what the order wants, no more and no less; all of it or none.

    :raises SoldOut: there is too little of a jar.
    """
    jars, before = wanted(order), kept(order.id)
    with db.session.begin_nested():
        # In one order for everybody, so that two orders with the same jars never wait for each other.
        for slug in sorted(jars.keys() | before.keys()):
            row = before.get(slug)
            move(slug, jars[slug] - (row.quantity if row else 0))
            if row and not jars[slug]:
                db.session.delete(row)
            elif row:
                row.quantity = jars[slug]
            else:
                db.session.add(Reservation(order_id=order.id, slug=slug, quantity=jars[slug]))


def take(order: Order) -> None:
    """The jars are the customer's.

    :raises SoldOut: they were released, and are gone. The extension calls again, ever more rarely, until the owner has
        caught new ones; `flask paycheckout report` shows it meanwhile.
    """
    reserve(order)
    for row in kept(order.id).values():
        row.taken = True


def release(order_id: str) -> None:
    for slug, row in sorted(kept(order_id).items()):
        # Who deletes the row gives its jars back, and only one can delete it.
        if changed(delete(Reservation).where(Reservation.order_id == order_id, Reservation.slug == slug)):
            move(slug, -row.quantity)


def follow_payment(app: Flask, *, order_id: str, **extra: Any) -> None:
    """What is to be done with the jars follows from how the order stands now, whichever signal told of it."""
    # One at a time for each order; SQLite has only one writer anyway. The lock comes before the look.
    order = db.session.get_one(Order, order_id, with_for_update=True)
    status = payment_status(order_id)
    if status == "paid":
        take(order)
    elif status not in _RESERVING:
        release(order_id)
    else:
        try:
            reserve(order)
        except SoldOut:
            # Somebody was faster. Should the money come, `too_few` holds it for the owner.
            release(order_id)


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
    for signal in (checkout_created, order_pending, payment_held, order_paid, order_abandoned):
        signal.connect(follow_payment, sender=app)
    app.register_blueprint(blueprint)
    attached = hooks(app)
    attached.against_paying.append(too_few)
    attached.against_sending.append(not_taken)
    attached.jar_notes.append(jar_note)
    attached.desk_notes.append(desk_note)
    attached.desk_pages.append(("stock.shelf", "Stock"))
