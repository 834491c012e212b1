"""The shop's database as the tests handle it: kept under a name, put back, and looked into by plain SQL."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg import sql
from psycopg.rows import dict_row

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

    def rows(self) -> Rows:
        connection = sqlite3.connect(self._path)
        try:
            connection.row_factory = sqlite3.Row
            return {
                table: [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY rowid")]  # noqa: S608
                for table in TABLES
            }
        finally:
            connection.close()


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

    def rows(self) -> Rows:
        with psycopg.connect(self._address) as connection:
            cursor = connection.cursor(row_factory=dict_row)
            return {table: self._all(cursor, table) for table in TABLES}

    def _all(self, cursor: psycopg.Cursor[dict[str, Any]], table: str) -> list[dict[str, Any]]:
        found = cursor.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(table))).fetchall()
        # By their own ids, or by what they hold; a table of a server has no order.
        return sorted(found, key=lambda row: (row.get("id", 0), str(row)))


Database = _SQLite | _PostgreSQL


def database_at(address: str) -> Database:
    url = sa.make_url(address)
    return _SQLite(Path(str(url.database))) if url.get_backend_name() == "sqlite" else _PostgreSQL(url)
