"""The shop's tables: orders and their lines. Features have tables of their own."""

from __future__ import annotations

import secrets
from datetime import datetime
from decimal import Decimal

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from example_shop.database import Model, Moment, Money

# Without 0, O, 1 and I, which people confuse.
_ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"


def new_order_id() -> str:
    """Make an id such as `K7QM-2XHB-9TRE`, with 60 random bits, because anybody who knows the id may see the order."""
    letters = "".join(secrets.choice(_ALPHABET) for _ in range(12))
    return "-".join((letters[:4], letters[4:8], letters[8:]))


class Order(Model):
    """An order; its `state` in the shop is open, paid, refunded or cancelled."""

    __tablename__ = "orders"

    id: Mapped[str] = mapped_column(String(14), primary_key=True, default=new_order_id)
    name: Mapped[str] = mapped_column(String(100))
    email: Mapped[str] = mapped_column(String(200))
    state: Mapped[str] = mapped_column(String(10), default="open")
    placed_at: Mapped[datetime] = mapped_column(Moment)
    lines: Mapped[list[Line]] = relationship(
        back_populates="order", cascade="all, delete-orphan", order_by="Line.id", lazy="selectin"
    )

    @property
    def total(self) -> Decimal:
        return sum((line.total for line in self.lines), Decimal(0))

    @property
    def consigned(self) -> bool:
        """Whether a line is consigned, so that the shop must receive the full price."""
        return any(line.consigned for line in self.lines)


class Line(Model):
    """One kind of jar in an order, with the price and the name at the time of ordering."""

    __tablename__ = "lines"

    id: Mapped[int] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(ForeignKey("orders.id"))
    slug: Mapped[str] = mapped_column(String(40))
    name: Mapped[str] = mapped_column(String(100))
    price: Mapped[Decimal] = mapped_column(Money)
    quantity: Mapped[int]
    consigned: Mapped[bool]
    order: Mapped[Order] = relationship(back_populates="lines")

    @property
    def total(self) -> Decimal:
        return self.price * self.quantity
