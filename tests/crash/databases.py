"""The shop's database as the tests handle it: kept under a name, put back, and looked into by plain SQL."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg import sql

TABLES = (
    *("paycheckout_checkout", "paycheckout_event", "paycheckout_payout", "paycheckout_booking"),
    *("paycheckout_request", "paycheckout_deed"),
    *("fulfilment", "owed", "shop_order"),
)

Rows = dict[str, list[dict[str, Any]]]


class _SQLite:
    """A database in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # Of a transaction that has not ended.
        self._journal = Path(f"{path}-journal")

    def keep(self, name: str) -> None:
        for file in (self._path, self._journal):
            kept = file.with_suffix(f".{name}{file.suffix}")
            kept.unlink(missing_ok=True)
            if file.exists():
                shutil.copyfile(file, kept)

    def put_back(self, name: str) -> None:
        for file in (self._path, self._journal):
            kept = file.with_suffix(f".{name}{file.suffix}")
            file.unlink(missing_ok=True)
            if kept.exists():
                shutil.copyfile(kept, file)


# What is known of the service's failures is no result, but decides which statements run.
_KEPT = (*TABLES, "paycheckout_service")


class _PostgreSQL:
    """A database of a server; other schemas in it hold the rows to put back."""

    def __init__(self, address: sa.URL) -> None:
        self._address = address.set(drivername="postgresql").render_as_string(hide_password=False)

    def keep(self, name: str) -> None:
        with psycopg.connect(self._address) as connection:
            schema = sql.Identifier(name)
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
            for table in map(sql.Identifier, _KEPT):
                connection.execute(sql.SQL("CREATE TABLE {0}.{1} AS SELECT * FROM {1}").format(schema, table))

    def put_back(self, name: str) -> None:
        with psycopg.connect(self._address) as connection:
            schema = sql.Identifier(name)
            for table in map(sql.Identifier, _KEPT):
                # Waits here until the server has noticed that the last process is dead.
                connection.execute(sql.SQL("DELETE FROM {}").format(table))
                connection.execute(sql.SQL("INSERT INTO {1} SELECT * FROM {0}.{1}").format(schema, table))


Database = _SQLite | _PostgreSQL


def database_at(address: str) -> Database:
    url = sa.make_url(address)
    return _SQLite(Path(str(url.database))) if url.get_backend_name() == "sqlite" else _PostgreSQL(url)


def rows_at(address: str) -> Rows:
    """All rows, in the order of their ids, or in that in which they came."""
    engine = sa.create_engine(address, poolclass=sa.NullPool)
    place = sa.text("rowid" if engine.dialect.name == "sqlite" else "ctid")
    found: Rows = {}
    with engine.connect() as connection:
        for table in TABLES:
            asked = sa.select(sa.text("*")).select_from(sa.text(table)).order_by(place)
            all_rows = [dict(row) for row in connection.execute(asked).mappings()]
            found[table] = sorted(all_rows, key=lambda row: row.get("id", 0))
    return found
