"""Stock: jars are reserved while an order is being paid, sold when it is paid, and released if no payment arrives.

All signals call one function, which reads the order's present status, because they may come late, twice or in another
order. A payment that arrives after the jars of its order were released is accepted if there are enough jars; otherwise
a receiver of `against_paying` objects, and the payment is held for the owner.

The pay button costs nothing, so pressing it reserves nothing. Picking a payment method does reserve jars, for as long
as PAYCHECKOUT_PENDING_FOR allows that method, because a customer who may already be sending money must get them. Unpaid
reservations of a kind are at most half of its jars, so that nobody can empty the shop without paying. An order without
a reservation gets its jars from the free half, first come, first served. A deposit takes jars off the shelf like a
payment of the whole.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from flask import abort, flash, redirect, render_template, request, url_for
from sqlalchemy import CheckConstraint, Connection, ForeignKey, String, Table, event, insert, select, update
from sqlalchemy.orm import Mapped, mapped_column

from example_shop import owner
from example_shop.basket import quantity_in
from example_shop.database import Model, Order, db
from example_shop.hooks import against_paying, against_sending, order_changed
from example_shop.payments import paid_order, paycheckout
from example_shop.products import SHELF, find
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

NO_JARS = Counter[str]()


class SoldOut(Exception):
    """An order needs more jars than are free, or may be reserved; nothing was reserved."""


class Stock(Model):
    """The numbers of free, reserved (for unpaid orders) and sold jars of a kind."""

    __tablename__ = "stock"

    slug: Mapped[str] = mapped_column(String(40), primary_key=True)
    free: Mapped[int] = mapped_column(CheckConstraint("free >= 0"))
    reserved: Mapped[int] = mapped_column(default=0)
    sold: Mapped[int] = mapped_column(default=0)


class Reservation(Model):
    """The jars of one kind that are reserved for an order, or sold to it."""

    __tablename__ = "reservations"

    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"), primary_key=True)
    slug: Mapped[str] = mapped_column(ForeignKey("stock.slug"), primary_key=True, index=True)
    reserved: Mapped[int]
    sold: Mapped[int]


@event.listens_for(Stock.__table__, "after_create")
def fill_the_shelf(table: Table, connection: Connection, **_: object) -> None:
    opening = [{"slug": jar.slug, "free": _RARE.get(jar.slug, OPENING)} for jar in SHELF]
    connection.execute(insert(table), opening)


def wanted(order: Order) -> Counter[str]:
    return Counter({line.slug: line.quantity for line in order.lines})


def reservations_of(order: Order) -> dict[str, Reservation]:
    rows = db.session.scalars(select(Reservation).where(Reservation.order_id == order.id))
    return {row.slug: row for row in rows}


def free_jars(slug: str) -> int:
    return db.session.scalar(select(Stock.free).where(Stock.slug == slug)) or 0


def move(slug: str, *, reserved: int, sold: int) -> None:
    """Reserve and sell this many more jars of a kind (fewer if negative), in one conditional statement.

    :raises SoldOut: too few jars are free, or more jars would be reserved than free.
    """
    free = Stock.free - reserved - sold
    enough = free >= (Stock.reserved + reserved if reserved > 0 else 0)
    moved = {"free": free, "reserved": Stock.reserved + reserved, "sold": Stock.sold + sold}
    if not db.session.scalar(update(Stock).where(Stock.slug == slug, enough).values(moved).returning(Stock.slug)):
        raise SoldOut(f"There are not enough free jars of {slug}.")


def allot(order: Order, *, reserved: Counter[str] = NO_JARS, sold: Counter[str] = NO_JARS) -> None:
    """Reserve for a locked order, and sell to it, exactly these jars, all or none; its other jars become free.

    :raises SoldOut: there are too few jars of a kind.
    """
    rows = reservations_of(order)
    with db.session.begin_nested():
        # Sorted, so that two orders with the same jars cannot deadlock.
        for slug in sorted(reserved.keys() | sold.keys() | rows.keys()):
            row = rows.get(slug) or Reservation(order_id=order.id, slug=slug, reserved=0, sold=0)
            move(slug, reserved=reserved[slug] - row.reserved, sold=sold[slug] - row.sold)
            row.reserved, row.sold = reserved[slug], sold[slug]
            db.session.add(row)


@paycheckout.atomic
def take_jars(app: Flask, *, order_id: str, checkout: CheckoutMixin, **extra: Any) -> None:
    """Sell the jars in the transaction that marks the payment, or its part, as paid, so that both happen or neither.

    :raises SoldOut: another order was faster. The payment is then compared again, and held because of `too_few`.
    """
    order = paid_order(order_id, checkout, lock=True)
    try:
        allot(order, sold=wanted(order))
    except SoldOut:
        # A person accepted this payment although jars are missing; `follow_payment` waits for new ones.
        if checkout.reason is None:
            raise


def follow_payment(app: Flask, *, order_id: str, **extra: Any) -> None:
    """Reserve, sell or free jars according to the order's present status, regardless of the signal.

    Not atomic, because it locks the order: in a transaction that has already moved a payment, this would break the
    order of locks. Only a transaction that marks a payment as paid locks the order first, with `order_total`.

    :raises SoldOut: the order is paid, and its jars were freed and sold to others. The extension calls the receiver
        again until there are new ones; `flask paycheckout report` lists it meanwhile.
    """
    # Lock before reading the status, so that only one transaction at a time handles this order.
    order = db.session.get_one(Order, order_id, with_for_update=True)
    if order.state == "paid":
        allot(order, sold=wanted(order))
    else:
        keep_jars(app, order=order)


def keep_jars(app: Flask, *, order: Order) -> None:
    """Reserve, sell or free the jars of a locked order, according to its status; a paid order keeps its jars."""
    status = paycheckout.order_status(order.id)
    if status == "paid":
        return
    balance = paycheckout.balance(order.id) if order.state == "open" else None
    is_awaited = status == "held" or (status in ("pending", "part") and order.state == "open")
    try:
        if balance and balance.paid:
            allot(order, sold=wanted(order))
        else:
            allot(order, reserved=wanted(order) if is_awaited else NO_JARS)
    except SoldOut:
        # Too few jars are left, or may be reserved. A later payment gets free jars, or is held because of `too_few`.
        allot(order)


def too_few(app: Flask, *, order: Order) -> str | None:
    """The reason why this order cannot be paid: fewer jars are free, or its own, than it needs."""
    own = Counter({slug: row.reserved + row.sold for slug, row in reservations_of(order).items()})
    short = [line.name for line in order.lines if free_jars(line.slug) + own[line.slug] < line.quantity]
    return f"We do not have enough left of {' and '.join(short)}." if short else None


def is_sold(order: Order) -> bool:
    """Whether all jars of an order are sold to it."""
    return Counter({slug: row.sold for slug, row in reservations_of(order).items()}) == wanted(order)


def not_sold(app: Flask, *, order: Order) -> str | None:
    return None if is_sold(order) else "Its jars are not on the shelf."


@owner.blueprint.get("/stock/")
def shelf() -> str:
    # A product that was added after the table was filled has no row until it gets jars.
    stock = {product.slug: Stock(free=0, reserved=0, sold=0) for product in SHELF}
    stock |= {row.slug: row for row in db.session.scalars(select(Stock))}
    return render_template("stock/shelf.html", products=SHELF, stock=stock)


@owner.blueprint.post("/stock/")
def add_jars() -> Response:
    product = find(request.form["slug"]) or abort(404)
    stock = db.session.get(Stock, product.slug) or Stock(slug=product.slug, free=0)
    db.session.add(stock)
    db.session.flush()
    stock.free = Stock.free + quantity_in("jars")
    db.session.commit()
    flash("The new jars are on the shelf.")
    return redirect(url_for("owner.shelf"))


def init_app(app: Flask) -> None:
    for signal in (order_part_paid, order_paid):
        signal.connect(take_jars, sender=app)
    for signal in (checkout_created, order_pending, payment_held, order_part_paid, order_paid, order_abandoned):
        signal.connect(follow_payment, sender=app)
    order_changed.connect(keep_jars, sender=app)
    against_paying.connect(too_few, sender=app)
    against_sending.connect(not_sold, sender=app)
    app.add_template_global(free_jars)
    app.add_template_global(is_sold)
