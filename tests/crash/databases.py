"""The shop's database in the tests: saved under a name, restored, and read with plain SQL."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa
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
        # The journal of an unfinished transaction.
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
        with closing(sqlite3.connect(self._path)) as connection:
            connection.row_factory = sqlite3.Row
            return {table: _sorted(connection.execute(_all_of(table, "rowid"))) for table in TABLES}


# The stored failures of the service are no result, but they decide which statements run.
_KEPT = (*TABLES, "paycheckout_service", "paycheckout_installation")


class _PostgreSQL:
    """A database of a server; further schemas hold the rows to restore."""

    def __init__(self, address: sa.URL) -> None:
        plain = address.set(drivername="postgresql").render_as_string(hide_password=False)
        # A dying child leaves the connection open, and must not use it. Several statements at once cannot be prepared.
        self._connection: psycopg.Connection[dict[str, Any]] = psycopg.connect(
            plain, autocommit=True, prepare_threshold=None, row_factory=dict_row
        )

    def keep(self, name: str) -> None:
        self._for_each_table(f"CREATE SCHEMA {name};", "CREATE TABLE {kept}.{table} AS SELECT * FROM {table};", name)

    def put_back(self, name: str) -> None:
        """Restore the rows, after waiting until the server has noticed that the last process is dead."""
        self._for_each_table("", "DELETE FROM {table}; INSERT INTO {table} SELECT * FROM {kept}.{table};", name)

    def rows(self) -> Rows:
        return {table: _sorted(self._connection.execute(_all_of(table, "ctid").encode())) for table in TABLES}

    def _for_each_table(self, first: str, statements: str, kept: str) -> None:
        """Run the statements for each table, as one transaction."""
        of_tables = [statements.format(table=table, kept=kept) for table in _KEPT]
        self._connection.execute("".join([first, *of_tables]).encode())


Database = _SQLite | _PostgreSQL


def database_at(address: str) -> Database:
    url = sa.make_url(address)
    return _SQLite(Path(str(url.database))) if url.get_backend_name() == "sqlite" else _PostgreSQL(url)


def _all_of(table: str, place: str) -> str:
    return f"SELECT * FROM {table} ORDER BY {place}"  # noqa: S608 - no words of others


def _sorted(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows in the order of their ids, or of their insertion."""
    return sorted(map(dict, rows), key=lambda row: row.get("id", 0))
