"""The check that the ids of deleted orders are never used again."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from flask_paycheckout.database.models import Models
from flask_paycheckout.doctor.checks import Check, warning


def check_order_ids(connection: Connection, models: Models) -> Iterator[Check]:
    """Warn of tables in which SQLite reuses the number of a deleted row, unless order ids are not numbers."""
    newest = connection.scalars(select(models.checkouts.c.order_id).order_by(models.checkouts.c.id.desc()).limit(1))
    if connection.dialect.name != "sqlite" or not (newest.one_or_none() or "0").isdecimal():
        return
    tables = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    definitions = {name: sql.upper() for name, sql in tables}
    reusing = [
        table.name
        for table in models.checkouts.metadata.sorted_tables
        if table not in models.tables
        and table.autoincrement_column is not None
        and "AUTOINCREMENT" not in definitions.get(table.name, "AUTOINCREMENT")
    ]
    if reusing:
        yield warning(
            "order ids",
            f"SQLite gives the number of the newest row again when it is deleted, in {', '.join(reusing)}: if an order"
            " has it, the payment of the deleted one pays it",
            'Make the ids of orders unique for ever: __table_args__ = {"sqlite_autoincrement": True}, or no numbers.',
        )
