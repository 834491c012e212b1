"""The contents of a shop's database, and their restoration."""

from __future__ import annotations

from typing import Any

from tests.scripted import Shop


def contents(shop: Shop) -> list[tuple[Any, list[Any]]]:
    """Every table of the shop's database with its rows; referenced tables come first."""
    with shop.engine.connect() as connection:
        tables = shop.db.metadata.sorted_tables
        return [(table, list(connection.execute(table.select()).mappings())) for table in tables]


def restores(shop: Shop, backup: list[tuple[Any, list[Any]]]) -> None:
    """Restore these contents of the database."""
    with shop.engine.begin() as connection:
        for table, _ in reversed(backup):
            connection.execute(table.delete())
        for table, rows in backup:
            if rows:
                connection.execute(table.insert(), rows)
