"""The installation's key, which service references are derived with; it is in the database, and so in each backup."""

from __future__ import annotations

import secrets
from typing import Any

from sqlalchemy import Connection, Table, select

__all__ = ["insert_of", "installation_key"]

# A row of the table of failing calls, whose `words` is the key; it never fails, so no report shows it.
_ROW = {"account": "", "operation": "installation key"}


def installation_key(connection: Connection, services: Table) -> bytes:
    """The key, which the first caller makes in its own transaction.

    :param services: the table of `database.service_table`.
    """
    stored = select(services.c.words).filter_by(**_ROW)
    found = connection.execute(stored).scalar_one_or_none()
    if found is None:
        made = insert_of(connection.dialect.name)(services).values(**_ROW, words=secrets.token_hex(32), count=0)
        connection.execute(made.on_conflict_do_nothing())
        found = connection.execute(stored).scalar_one()
    return bytes.fromhex(found)


def insert_of(dialect: str) -> Any:
    """The INSERT of a database, whose conflicts may be skipped."""
    # Imported when needed: the module of a database that the shop does not use is large.
    if dialect == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as insert_in_postgresql

        return insert_in_postgresql
    from sqlalchemy.dialects.sqlite import insert as insert_in_sqlite

    return insert_in_sqlite
