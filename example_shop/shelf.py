"""The shelf: the free jars of each kind, and the reservations of orders. `stock` decides when jars are reserved.

Jars are never oversold: one conditional UPDATE takes them, and it changes no row when there are too few. The shelf
cannot be emptied by reservations alone: unpaid ones of a kind are at most half of its jars. Callers lock the order
first, and jars are moved sorted by name, so that no two transactions can deadlock.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

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

from example_shop.database import Model, changed, db
from example_shop.products import SHELF

if TYPE_CHECKING:
    from example_shop.models import Order

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
    jars: Counter[str] = Counter()
    for line in order.lines:
        jars[line.slug] += line.quantity
    return jars


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
