"""The table of facts about the installation that owns the database, each stored once."""

from __future__ import annotations

from sqlalchemy import Column, String, Table, Text

from flask_paycheckout.database.mapping import MOMENT

_NAME = "paycheckout_installation"


def installation_table(beside: Table) -> Table:
    """The table, defined by the first call in another table's metadata, for migrations and `create_all`."""
    return Table(
        _NAME,
        beside.metadata,
        Column("fact", String(32), primary_key=True),
        Column("value", Text, nullable=False),
        # The time when it was stored; NULL for the key.
        Column("since", MOMENT),
        schema=beside.schema,
        keep_existing=True,
    )
