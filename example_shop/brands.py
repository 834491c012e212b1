"""The shop's second brand: orders of lighthouse jars alone are paid into the lighthouse's own account at the service.

The keys of the account are in a table of the shop, encrypted with BRAND_KEYS. A brand without a row, and an order with
jars of several brands, use the account of the PAYCHECKOUT_ settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import String, delete, select
from sqlalchemy.orm import Mapped, mapped_column

from example_shop.database import Model, Sealed, db
from example_shop.models import Order
from example_shop.payments import paycheckout
from example_shop.products import find
from flask_paycheckout import Account

if TYPE_CHECKING:
    from flask import Flask

LIGHTHOUSE = "lighthouse"


class BrandAccount(Model):
    """The keys of a brand's account."""

    __tablename__ = "brand_accounts"

    brand: Mapped[str] = mapped_column(String(40), primary_key=True)
    client_id: Mapped[str] = mapped_column(String(100))
    client_secret: Mapped[str] = mapped_column(Sealed)
    access_token: Mapped[str] = mapped_column(Sealed)


def brand_of(order: Order) -> str:
    """The brand of all jars of an order; empty when they are of several, or of the shop itself."""
    brands = {LIGHTHOUSE if (product := find(line.slug)) and product.consigned else "" for line in order.lines}
    return brands.pop() if len(brands) == 1 else ""


def account_of(order_id: str) -> str:
    brand = brand_of(db.session.get_one(Order, order_id))
    return db.session.scalar(select(BrandAccount.brand).where(BrandAccount.brand == brand)) or ""


def account(name: str) -> Account | None:
    found = db.session.get(BrandAccount, name)
    return Account(found.client_id, found.client_secret, access_token=found.access_token) if found else None


def keep_keys(brand: str, client_id: str, client_secret: str, access_token: str) -> None:
    """Store a brand's keys in the place of earlier ones; payments that begin from now on use its account."""
    # Without loading the earlier row, which may be encrypted with a key that is lost.
    db.session.execute(delete(BrandAccount).where(BrandAccount.brand == brand))
    keys = BrandAccount(brand=brand, client_id=client_id, client_secret=client_secret, access_token=access_token)
    db.session.add(keys)
    db.session.commit()


def init_app(app: Flask) -> None:
    app.config.setdefault("BRAND_KEYS", [])
    paycheckout.account_of(account_of)
    paycheckout.account(account)
