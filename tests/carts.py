"""A shop whose orders are carts that their customers may change, and which locks them as the documentation says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import sqlalchemy as sa
from flask import Flask

from flask_paycheckout import Pay, order_paid
from tests.scripted import Shop


def add_carts(db: Any) -> None:
    """Add the shop's own table."""
    sa.Table(
        "cart",
        db.metadata,
        sa.Column("order_id", sa.String(64), primary_key=True),
        sa.Column("total", sa.String(32), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("shipped", sa.String(32)),
    )


class Carts:
    """The carts of a shop that was opened with `add_carts`."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self._table = shop.db.metadata.tables["cart"]
        self._numbers = count(1)
        self.order_id = self.checkout_id = ""
        #: How many times the receiver that ships still fails.
        self.failures = 0
        self.parts = False
        shop.paycheckout.order_total(self.order_total)

    def order_total(self, order_id: str) -> Pay | None:
        """Lock the cart, and return its price while it is open."""
        cart = sa.select(self._table).where(self._table.c.order_id == order_id).with_for_update()
        row = self.shop.db.session.execute(cart).one_or_none()
        if row is None or row.state != "open":
            return None
        return Pay(row.total, "USD", parts=self.parts)

    def close(self, app: Flask, *, order_id: str, **extra: object) -> None:
        """The atomic receiver of `order_paid`."""
        closed = self._change(order_id, state="paid").where(self._table.c.state == "open")
        if self._count(closed) != 1:
            raise LookupError(f"cart {order_id} is not open")

    def ship(self, app: Flask, *, order_id: str, **extra: object) -> None:
        """The receiver that ships the goods that are in the cart at that time."""
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the warehouse is closed")
        self.shop.db.session.execute(self._change(order_id, shipped=self._table.c.total))

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """Connect `close` and `ship` during the block."""
        close = self.shop.paycheckout.atomic(lambda app, **told: self.close(app, **told))
        with order_paid.connected_to(close, self.shop.app), order_paid.connected_to(self.ship, self.shop.app):
            yield

    def fill(self, total: str = "12.50") -> None:
        """Make an order for a new cart, which its customer pays on the payment page."""
        self.order_id = f"cart-{next(self._numbers)}"
        with self.shop.app.app_context():
            row = {"order_id": self.order_id, "total": total, "state": "open"}
            self.shop.db.session.execute(self._table.insert(), row)
            self.shop.db.session.commit()
        self.checkout_id = self.shop.starts(self.order_id)
        self.shop.service.says(self.checkout_id, "completed")

    def change(self, **values: str) -> bool:
        """Change the cart as a view of the shop does for its customer; False when the cart is not open any more."""
        with self.shop.app.app_context():
            changed = self._count(self._change(self.order_id, **values).where(self._table.c.state == "open"))
            self.shop.db.session.commit()
            return changed == 1

    def settle(self) -> None:
        self.shop.settles(self.checkout_id)

    @property
    def cart(self) -> Any:
        with self.shop.app.app_context():
            query = sa.select(self._table).where(self._table.c.order_id == self.order_id)
            return self.shop.db.session.execute(query).one()

    @property
    def checkout(self) -> Any:
        return self.shop.attempt(self.checkout_id)

    def nothing_is_shipped_unpaid(self) -> None:
        """Goods are shipped only as paid for; money for anything else is held."""
        cart, checkout = self.cart, self.checkout
        assert checkout.status in ("paid", "held"), (checkout.status, checkout.problem)
        if checkout.status == "paid":
            assert (cart.state, cart.total) == ("paid", "12.50")
        else:
            assert (cart.state, cart.total) != ("open", "12.50"), "nothing had changed"
            assert cart.state != "paid"
        assert cart.shipped in (None, "12.50")

    def _count(self, statement: Any) -> int:
        result: Any = self.shop.db.session.execute(statement)
        return int(result.rowcount)

    def _change(self, order_id: str, **values: Any) -> Any:
        return self._table.update().where(self._table.c.order_id == order_id).values(**values)
