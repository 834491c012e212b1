"""Stock: jars are reserved while an order is being paid, sold when it is paid, and released when no payment comes.

All signals lead to one function. It looks at the
order's present status, so that signals may come late, twice or in another order. A payment that arrives after the jars
of its order were released is accepted while there are enough jars; otherwise `against_paying` objects, and the payment
is held for the owner.

The pay button costs nothing, so pressing it reserves nothing. Picking a payment method does reserve jars, for as long
as PAYCHECKOUT_PENDING_FOR allows that method, because a customer who may already be sending money must get them. Unpaid
reservations of a kind are at most half of its jars, so that nobody can empty the shop without paying. An order for
which nothing could be reserved is served from the free half, first come, first served.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from flask import Blueprint, abort, flash, redirect, render_template_string, request, url_for
from sqlalchemy import (
    CheckConstraint,
    Connection,
    ForeignKey,
    String,
    Table,
    delete,
    event,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.orm import Mapped, mapped_column

from example_shop import owner
from example_shop.basket import quantity_in
from example_shop.database import Model, Order, changed, db
from example_shop.hooks import hooks
from example_shop.payments import paid_order, paycheckout
from example_shop.products import SHELF, Product
from flask_paycheckout import (
    checkout_created,
    order_abandoned,
    order_paid,
    order_part_paid,
    order_pending,
    payment_held,
)

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Response

    from flask_paycheckout import CheckoutMixin

OPENING = 40
"""The initial stock of each kind."""

_RARE = {"northern-lights": 11}


class SoldOut(Exception):
    """An order wants more jars than are free, or may be reserved; nothing was reserved."""


class Stock(Model):
    """The number of free jars of a kind, which nobody has reserved."""

    __tablename__ = "stock"

    slug: Mapped[str] = mapped_column(String(40), primary_key=True)
    free: Mapped[int] = mapped_column(CheckConstraint("free >= 0"))


class Reservation(Model):
    """Jars of one kind that are reserved for an order, or, when `taken`, sold to it."""

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
    return Counter({line.slug: line.quantity for line in order.lines})


def kept(order_id: str) -> dict[str, Reservation]:
    """The reserved and taken jars of an order, by kind."""
    rows = db.session.scalars(select(Reservation).where(Reservation.order_id == order_id))
    return {row.slug: row for row in rows}


def free_of(slug: str) -> int:
    return db.session.scalar(select(Stock.free).where(Stock.slug == slug)) or 0


def move(slug: str, jars: int) -> None:
    """Take free jars, or give them back when negative, in one conditional statement.

    :raises SoldOut: there are too few.
    """
    enough = Stock.free >= jars
    if not changed(update(Stock).where(Stock.slug == slug, enough).values(free=Stock.free - jars)):
        raise SoldOut(f"There are not enough free jars of {slug}.")


def leave_half(slug: str) -> None:
    """Check that unpaid reservations of a kind are no more than its free jars.

    The transaction has just moved jars of this kind, so its row is locked and the numbers cannot change.

    :raises SoldOut: they are more.
    """
    unpaid = select(func.sum(Reservation.quantity)).where(Reservation.slug == slug, Reservation.taken.is_(False))
    if (db.session.scalar(unpaid) or 0) > free_of(slug):
        raise SoldOut(f"So many jars of {slug} cannot be reserved.")


def reserve(order: Order, *, paid: bool = False) -> None:
    """Reserve exactly the jars that the order wants, all or none.

    :param paid: the order is paid, so the limit for unpaid reservations does not apply.
    :raises SoldOut: there are too few of a kind.
    """
    jars, before = wanted(order), kept(order.id)
    with db.session.begin_nested():
        # Sorted, so that two orders with the same jars cannot deadlock.
        for slug in sorted(jars.keys() | before.keys()):
            row = before.get(slug)
            more = jars[slug] - (row.quantity if row else 0)
            move(slug, more)
            if row and not jars[slug]:
                db.session.delete(row)
            elif row:
                row.quantity = jars[slug]
            else:
                db.session.add(Reservation(order_id=order.id, slug=slug, quantity=jars[slug]))
            if more > 0 and not paid:
                leave_half(slug)


def take(order: Order) -> None:
    """Mark the order's jars as sold.

    :raises SoldOut: they were released and sold to others. The extension calls the receiver again until there are new
        ones; `flask paycheckout report` lists it meanwhile.
    """
    reserve(order, paid=True)
    for row in kept(order.id).values():
        row.taken = True


def release(order_id: str) -> None:
    for slug, row in sorted(kept(order_id).items()):
        # Only one transaction can delete the row, and that one gives its jars back.
        if changed(delete(Reservation).where(Reservation.order_id == order_id, Reservation.slug == slug)):
            move(slug, -row.quantity)


# The payment's statuses in which an order keeps its jars.
_RESERVING = ("pending", "held", "part")

blueprint = Blueprint("stock", __name__, url_prefix="/owner/stock")
blueprint.before_request(owner.ask_for_password)


@paycheckout.atomic
def take_jars(app: Flask, *, order_id: str, checkout: CheckoutMixin, **extra: Any) -> None:
    """Sell the jars in the transaction that marks the payment as paid, so that both happen or neither.

    :raises SoldOut: another order was faster. The payment is then compared again, and held because of `too_few`.
    """
    order = paid_order(order_id, checkout, lock=True)
    try:
        take(order)
    except SoldOut:
        # A person accepted this payment although jars are missing; `follow_payment` waits for new ones.
        if checkout.reason is None:
            raise


def follow_payment(app: Flask, *, order_id: str, **extra: Any) -> None:
    """Reserve, sell or release jars according to the order's present status, whichever signal caused the call.

    Not atomic: it locks the order, and in a transaction that has already moved a payment that would break the order of
    locks. Only a transaction that marks a payment as paid locks the order first, by `order_total`.
    """
    # Lock before reading the status, so that only one transaction at a time handles this order.
    order = db.session.get_one(Order, order_id, with_for_update=True)
    if paycheckout.order_status(order_id) == "paid":
        take(order)
    else:
        keep(order)


def keep(order: Order) -> None:
    """Reserve or release the jars of a locked, unpaid order according to its present status."""
    status = paycheckout.order_status(order.id)
    called_off = order.state in ("cancelled", "refunded") and status != "held"
    if status not in _RESERVING or called_off:
        release(order.id)
        return
    try:
        reserve(order)
    except SoldOut:
        # Too few jars are left, or may be reserved. A later payment gets free jars, or is held because of `too_few`.
        release(order.id)


def too_few(order: Order) -> str | None:
    """The reason why this order cannot be paid: fewer jars are free or reserved for it than it wants."""
    own = kept(order.id)
    short = [
        line.name
        for line in order.lines
        if free_of(line.slug) + (own[line.slug].quantity if line.slug in own else 0) < line.quantity
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
    for signal in (checkout_created, order_pending, payment_held, order_part_paid, order_paid, order_abandoned):
        signal.connect(follow_payment, sender=app)
    app.register_blueprint(blueprint)
    attached = hooks(app)
    attached.against_paying.append(too_few)
    attached.against_sending.append(not_taken)
    attached.order_changes.append(keep)
    attached.jar_notes.append(jar_note)
    attached.desk_notes.append(desk_note)
    attached.desk_pages.append(("stock.shelf", "Stock"))
