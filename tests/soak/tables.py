"""The tables of the soak's shop, and the extensions that all of its modules use.

No constraint prevents a repeated delivery: `Fulfilment` and `Note` accept every row, so that repetitions show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_paycheckout import PayCheckout


class Base(DeclarativeBase):
    """The base of every table of the shop, with the shop's metadata."""


db = SQLAlchemy(model_class=Base)
paycheckout = PayCheckout()

if TYPE_CHECKING:
    Model = Base
else:
    Model = db.Model


class Total:
    """The columns of a total."""

    kind: Mapped[str] = mapped_column(String(8))
    amount: Mapped[str] = mapped_column(String(40))
    currency: Mapped[str] = mapped_column(String(40))
    other_currency: Mapped[str | None] = mapped_column(String(40))


class Order(Total, Model):
    """The current state of an order."""

    __tablename__ = "shop_order"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    version: Mapped[int] = mapped_column(default=1)
    open: Mapped[bool] = mapped_column(default=True)
    paid: Mapped[bool] = mapped_column(default=False)


class Version(Total, Model):
    """The state of an order from a point in time on."""

    __tablename__ = "shop_version"

    id: Mapped[int] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(String(40), index=True)
    open: Mapped[bool]
    since: Mapped[str] = mapped_column(String(40))


class Fulfilment(Model):
    """A parcel that was sent."""

    __tablename__ = "shop_fulfilment"

    id: Mapped[int] = mapped_column(primary_key=True)
    order_id: Mapped[str] = mapped_column(String(40), index=True)
    event_id: Mapped[str] = mapped_column(String(40))
    #: The price of the order when the parcel was packed.
    amount: Mapped[str] = mapped_column(String(40))


class Note(Model):
    """An event of any kind that the shop received."""

    __tablename__ = "shop_note"

    id: Mapped[int] = mapped_column(primary_key=True)
    event_id: Mapped[str] = mapped_column(String(40), index=True)
    order_id: Mapped[str] = mapped_column(String(40))
