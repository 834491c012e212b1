"""The suppliers: who catches the weather, their share of a jar's price, and where they are paid to.

A real shop keeps this in its database, and the bank accounts at the service, as recipients whose ids `ToRecipient`
takes. The accounts and the wallet are invented.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING

from example_shop.money import CURRENCY
from flask_paycheckout import ToBank, ToWallet

if TYPE_CHECKING:
    from example_shop.models import Order

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
