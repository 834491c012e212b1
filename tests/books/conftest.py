"""Fixtures of the tests of the books: the shop that pays out, of the tests of payouts; and what a database holds."""

from __future__ import annotations

from typing import Any

from tests.payouts import conftest as payouts
from tests.scripted import Shop

open_payer, payer = payouts.open_payer, payouts.payer


def contents(shop: Shop) -> list[tuple[Any, list[Any]]]:
    """Every table of the shop's database with its rows; those that others refer to come first."""
    with shop.engine.connect() as connection:
        tables = shop.db.metadata.sorted_tables
        return [(table, list(connection.execute(table.select()).mappings())) for table in tables]
