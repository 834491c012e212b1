"""The shop's currency, and the format of its amounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal

    from flask import Flask

CURRENCY = "USD"


def show_money(amount: Decimal) -> str:
    """Format an amount like `$1,234.50`, always with two decimals."""
    return f"${amount:,.2f}"


def init_app(app: Flask) -> None:
    app.add_template_filter(show_money, "money")
