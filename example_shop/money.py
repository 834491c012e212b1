"""The shop's one currency, and how an amount of it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal

    from flask import Flask

CURRENCY = "USD"


def show_money(amount: Decimal) -> str:
    """`$1,234.50`: always two decimals, because a price without them looks like a mistake."""
    return f"${amount:,.2f}"


def init_app(app: Flask) -> None:
    app.add_template_filter(show_money, "money")
