"""The suppliers: who catches the weather, their share of a jar's price, and the account that they are paid to.

A real shop keeps this in its database. The accounts and the wallet are invented.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from example_shop.models import Order

_CENT = Decimal("0.01")


@dataclass(frozen=True)
class BankAccount:
    """A bank account to pay a supplier."""

    bank: str
    number: str = field(repr=False)
    country: str = "United States"


@dataclass(frozen=True)
class Wallet:
    """A wallet to pay a supplier; `token` is `<symbol>-<network>`."""

    token: str
    address: str


@dataclass(frozen=True)
class Supplier:
    """A supplier of jars.

    `share` is the supplier's part of a jar's price, and `jars` has the slugs of the supplier's products.
    """

    slug: str
    name: str
    email: str
    address: str
    city: str
    post_code: str
    share: Decimal
    jars: frozenset[str]
    account: BankAccount | Wallet

    def part_of(self, order: Order) -> Decimal:
        """This supplier's share of a paid order, in whole cents."""
        sold = sum((line.total for line in order.lines if line.slug in self.jars), Decimal(0))
        return (sold * self.share).quantize(_CENT, ROUND_DOWN)


SUPPLIERS = (
    Supplier(
        *("maren", "Maren of the Lighthouse", "maren@lighthouse.example", "The Lighthouse", "End of the Map", "99999"),
        share=Decimal(1),  # consigned: she gets the full price
        jars=frozenset({"northern-lights", "full-moon", "sea-breeze"}),
        account=BankAccount("Harbor Savings Bank", "7700554411"),
    ),
    Supplier(
        *("highland", "Highland Catchers Ltd", "books@highland.example", "3 Windy Pass", "Upper Gale", "10412"),
        share=Decimal("0.45"),
        jars=frozenset({"first-snow", "morning-fog", "north-wind", "october-gust", "golden-hour"}),
        account=BankAccount("First Sandbox Bank", "4000987650"),
    ),
    Supplier(
        *("puddle", "Puddle & Sons, on the road", "sons@puddle.example", "A blue van", "Anywhere", "00000"),
        share=Decimal("0.4"),
        jars=frozenset({"summer-drizzle", "distant-thunder", "small-rainbow", "pocket-hail"}),
        account=Wallet("usdc-polygon", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"),
    ),
)

BY_SLUG = {supplier.slug: supplier for supplier in SUPPLIERS}
