"""The shelf: how many jars are free, and how many are kept for whom. What is done with them when, is in `stock`.

Never oversold: a jar leaves the free ones by one conditional UPDATE, and where it changes nothing, nothing is left.
Never reserved empty: all that is reserved of a jar and not paid is at most half of what there is.
Whoever moves jars has locked their order first, and moves them in the order of their names, so that nobody waits for
somebody who waits for them.
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

#: What is caught at the start, of each jar.
OPENING = 40
_RARE = {"northern-lights": 11}


class SoldOut(Exception):
    """Fewer jars are free, or may be reserved, than an order wants; nothing was reserved."""


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


def leave_half(slug: str) -> None:
    """Of a jar that was moved by this transaction; so nobody else can, and what is read here stays true.

    :raises SoldOut: more is reserved for orders that are not paid than is free.
    """
    unpaid = select(func.sum(Reservation.quantity)).where(Reservation.slug == slug, Reservation.taken.is_(False))
    if (db.session.scalar(unpaid) or 0) > free_of(slug):
        raise SoldOut(f"So many jars of {slug} cannot be reserved.")


def reserve(order: Order, *, paid: bool = False) -> None:
    """Keep what the order wants, no more and no less; all of it or none.

    :param paid: the jars are taken for good, so that the half that must stay free does not matter.
    :raises SoldOut: there is too little of a jar.
    """
    jars, before = wanted(order), kept(order.id)
    with db.session.begin_nested():
        # In one order for everybody, so that two orders with the same jars never wait for each other.
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
    """The jars are the customer's.

    :raises SoldOut: they were released, and are gone. The extension calls again, ever more rarely, until the owner has
        caught new ones; `flask paycheckout report` shows it meanwhile.
    """
    reserve(order, paid=True)
    for row in kept(order.id).values():
        row.taken = True


def release(order_id: str) -> None:
    for slug, row in sorted(kept(order_id).items()):
        # Who deletes the row gives its jars back, and only one can delete it.
        if changed(delete(Reservation).where(Reservation.order_id == order_id, Reservation.slug == slug)):
            move(slug, -row.quantity)
