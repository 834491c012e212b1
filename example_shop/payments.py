"""The connection to flask_paycheckout: the total of an order, and closing an order that is paid.

Order and payment change together. `order_total` locks the order in the same transaction that moves the payment, and
`close_paid_order` is atomic: it closes the order in that transaction too. Code that changes or cancels an order takes
the same lock first (`orders.lock_open_order`). A change therefore comes either before the payment, which is then
compared with the new total, or after it, and is refused.

Locks are always taken in this order: the shop's order, the extension's payment, the jars sorted by name.

Orders with only lighthouse jars are paid into the account of the shop's second brand at the service. Its keys are in a
table of the shop, encrypted with BRAND_KEYS. A brand without a row, and an order with jars of several brands, use the
account of the PAYCHECKOUT_ settings.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from flask import session, url_for
from sqlalchemy import String, delete, select
from sqlalchemy.orm import Mapped, mapped_column

from example_shop.database import Model, Order, Sealed, db
from example_shop.hooks import against_paying, reasons
from example_shop.products import CURRENCY
from flask_paycheckout import Account, Described, Line, Pay, PayCheckout, Receive, order_paid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    import httpx
    from flask import Flask

    from flask_paycheckout import CheckoutMixin

paycheckout = PayCheckout()

DEPOSIT_FROM = Decimal("200.00")
"""The total from which an order is paid in two parts: a fifth at once, and the rest before its jars are sent."""

# A session cookie holds about 4 KB.
_MOST_REMEMBERED = 20


class NotWhatWasPaid(Exception):
    """The order has changed since it was paid, so nothing may be sent or booked for it."""


@paycheckout.order_total
def order_total(order_id: str) -> Pay | Receive | None:
    """The order's total, or None if it cannot be paid now. Locks the order."""
    order = db.session.get(Order, order_id, with_for_update=True)
    if order is None or order.state != "open" or reasons(against_paying, order):
        return None
    return price_of(order)


def price_of(order: Order) -> Pay | Receive:
    if order.consigned:
        # The consignor must receive the full price, so the customer pays the payment method's fee on top.
        return Receive(order.total, CURRENCY, pay_in=CURRENCY)
    return Pay(order.total, CURRENCY, now=deposit_of(order))


def deposit_of(order: Order) -> Decimal | None:
    """The deposit for a big order; None for other orders, and as soon as anything is paid."""
    if order.consigned or order.total < DEPOSIT_FROM or paycheckout.balance(order.id):
        return None
    return round(order.total / 5, 2)


def due_now(order: Order) -> Decimal:
    """The amount that the order's next payment page asks for, without a fee on top."""
    balance = paycheckout.balance(order.id)
    return balance.left if balance else deposit_of(order) or order.total


def paid_order(order_id: str, checkout: CheckoutMixin, *, lock: bool = False) -> Order:
    """Load the order, and check that it has not changed since it was paid, before a receiver sends or books anything.

    :raises NotWhatWasPaid: it has changed. The extension calls the receiver again; `flask paycheckout report` lists it.
    """
    order = db.session.get_one(Order, order_id, with_for_update=lock)
    # A payment with a reason was held, and a person has accepted it for the present order. The extension has compared
    # a part, and the sum of several payments that have paid the order, with the present total.
    several = checkout.status == "part" or checkout.excess is not None
    if checkout.reason is None and not several and checkout.total != price_of(order):
        raise NotWhatWasPaid(f"Order {order.id} costs {price_of(order)}, and {checkout.total} was paid.")
    return order


@paycheckout.order_url
def order_page(order_id: str) -> str | None:
    """The link from the payment pages back to the order, for visitors who have seen the order in this session.

    Status links may be passed on to other people, who must not get the order's own URL, with which it can be changed.
    """
    return url_for("orders.show", order_id=order_id) if order_id in session.get("seen", []) else None


@paycheckout.describe_orders
def describe_orders(order_ids: Sequence[str]) -> dict[str, Described]:
    """The customer and the lines of each order, for the owner's pages and the customer's receipt."""
    return {
        order.id: Described(
            customer=order.name,
            email=order.email,
            url=url_for("orders.show", order_id=order.id),
            lines=[Line(line.name, line.total, line.quantity) for line in order.lines],
        )
        for order in db.session.scalars(select(Order).where(Order.id.in_(order_ids)))
    }


@paycheckout.find_orders
def find_orders(text: str, limit: int) -> list[str]:
    """The newest orders whose name or e-mail address contains the text."""
    fits = Order.name.icontains(text, autoescape=True) | Order.email.icontains(text, autoescape=True)
    return list(db.session.scalars(select(Order.id).where(fits).order_by(Order.placed_at.desc()).limit(limit)))


def remember(key: str, order_id: str) -> None:
    """Remember in the session that this visitor has "seen" the order's page, or has "placed" the order."""
    order_ids: list[str] = session.get(key, [])
    if order_id not in order_ids:
        session[key] = [*order_ids, order_id][-_MOST_REMEMBERED:]


@paycheckout.atomic
def close_paid_order(app: Flask, *, order_id: str, checkout: CheckoutMixin, **extra: Any) -> None:
    """Close the order, so that it can no longer be changed, cancelled or paid."""
    paid_order(order_id, checkout, lock=True).state = "paid"


def init_app(app: Flask, *, transport: httpx.BaseTransport | None, clock: Callable[[], datetime] | None) -> None:
    paycheckout.init_app(app, db, transport=transport, clock=clock)
    # sender=app ignores the events of other apps in the same process.
    order_paid.connect(close_paid_order, sender=app)


LIGHTHOUSE = "lighthouse"


class BrandAccount(Model):
    """The keys of a brand's account."""

    __tablename__ = "brand_accounts"

    brand: Mapped[str] = mapped_column(String(40), primary_key=True)
    client_id: Mapped[str] = mapped_column(String(100))
    client_secret: Mapped[str] = mapped_column(Sealed)
    access_token: Mapped[str] = mapped_column(Sealed)


@paycheckout.account_of
def account_of(order_id: str) -> str:
    """The brand's account for an order with only its jars, as soon as its keys are stored; else the shop's own."""
    order = db.session.get(Order, order_id)
    is_only = order is not None and all(line.consigned for line in order.lines)
    keys = db.session.get(BrandAccount, LIGHTHOUSE) if is_only else None
    return keys.brand if keys else ""


@paycheckout.account
def account(name: str) -> Account | None:
    brand = db.session.get(BrandAccount, name)
    return Account(brand.client_id, brand.client_secret, access_token=brand.access_token) if brand else None


def keep_keys(keys: BrandAccount) -> None:
    """Store or replace a brand's keys; payments that begin from now on use its account."""
    # Do not load the earlier row, which may be encrypted with a lost key.
    db.session.execute(delete(BrandAccount).where(BrandAccount.brand == keys.brand))
    db.session.add(keys)
    db.session.commit()
