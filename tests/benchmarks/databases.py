"""The databases of a run: SQLite files in WAL mode, and a PostgreSQL server whose commits reach the disk."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from tests.postgres import empty_database

POSTGRESQL = "postgresql"

#: Every kind, with its name for people.
KINDS = {"sqlite": "SQLite, WAL", POSTGRESQL: "PostgreSQL"}


@contextmanager
def fresh_database(server: str | None) -> Iterator[str]:
    """The address of an empty database: on this PostgreSQL server, or else a SQLite file in WAL mode.

    The file stores its journal mode, so every program that opens it uses the same mode.
    """
    if server is not None:
        with empty_database(server) as address:
            yield address
        return
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        file = Path(folder) / "shop.db"
        connection = sqlite3.connect(file)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
        yield f"sqlite:///{file}"


@contextmanager
def opened(address: str) -> Iterator[sa.Engine]:
    engine = sa.create_engine(address)
    yield engine
    engine.dispose()
