"""The suppliers: their share of each paid order is a payout, stored with the mark that the receiver has run.

The extension sends and follows the payouts, and pays none twice. Its pages offer the decisions about payouts that have
failed, that may have been sent, or that wait for PAYCHECKOUT_APPROVE_OVER. A real shop keeps suppliers in its database,
and their bank accounts at the service, as recipients whose ids `ToRecipient` takes. The accounts and the wallet are
invented.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING, Any

from example_shop.payments import paid_order, paycheckout
from example_shop.products import CURRENCY
from flask_paycheckout import ToBank, ToWallet, order_paid

if TYPE_CHECKING:
    from flask import Flask

    from example_shop.database import Order
    from flask_paycheckout import CheckoutMixin

_CENT = Decimal("0.01")


@dataclass(frozen=True)
class Supplier:
    """A supplier of jars.

    `share` is the supplier's part of a jar's price, and `jars` has the slugs of the supplier's products. A wallet is
    paid one dollar token for each dollar.
    """

    slug: str
    share: Decimal
    jars: frozenset[str]
    account: ToBank | ToWallet
    currency: str = CURRENCY

    def part_of(self, order: Order) -> Decimal:
        """This supplier's share of a paid order, in whole cents."""
        sold = sum((line.total for line in order.lines if line.slug in self.jars), Decimal(0))
        return (sold * self.share).quantize(_CENT, ROUND_DOWN)


SUPPLIERS = (
    Supplier(
        "maren",
        share=Decimal(1),  # consigned: she gets the full price
        jars=frozenset({"northern-lights", "full-moon", "sea-breeze"}),
        account=ToBank("Maren of the Lighthouse", "7700554411", "us_harbor_savings", "Harbor Savings Bank"),
    ),
    Supplier(
        "highland",
        share=Decimal("0.45"),
        jars=frozenset({"first-snow", "morning-fog", "north-wind", "october-gust", "golden-hour"}),
        account=ToBank("Highland Catchers Ltd", "4000987650", "us_first_sandbox", "First Sandbox Bank"),
    ),
    Supplier(
        "puddle",
        share=Decimal("0.4"),
        jars=frozenset({"summer-drizzle", "distant-thunder", "small-rainbow", "pocket-hail"}),
        account=ToWallet("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"),
        currency="usdc-polygon",
    ),
)


def pay_suppliers(app: Flask, *, order_id: str, checkout: CheckoutMixin, **extra: Any) -> None:
    order = paid_order(order_id, checkout)
    for supplier in SUPPLIERS:
        if share := supplier.part_of(order):
            paycheckout.pay_out(
                f"{supplier.slug}-{order_id}",
                share,
                supplier.currency,
                supplier.account,
                note="Fair & Foul, jars sold",
                order_id=order_id,
                account=checkout.account,
            )


def init_app(app: Flask) -> None:
    order_paid.connect(pay_suppliers, sender=app)
