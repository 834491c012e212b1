"""The databases of a run: SQLite files in WAL mode, and a PostgreSQL server whose commits reach the disk."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from tests.postgres import empty_database, running_server as running_postgres

SQLITE, POSTGRESQL = "sqlite", "postgresql"

#: Every kind, with its name for people.
KINDS = {SQLITE: "SQLite, WAL", POSTGRESQL: "PostgreSQL"}


@contextmanager
def database_kinds(kinds: tuple[str, ...]) -> Iterator[dict[str, str | None]]:
    """What `fresh_database` wants for each kind."""
    if POSTGRESQL not in kinds:
        yield dict.fromkeys(kinds)
        return
    with running_postgres(durable=True) as server:
        yield {kind: server if kind == POSTGRESQL else None for kind in kinds}


@contextmanager
def fresh_database(wanted: str | None) -> Iterator[str]:
    """The address of an empty database: on this PostgreSQL server, or else a SQLite file in WAL mode.

    The journal mode is the file's own, so every program that opens it has the same.
    """
    if wanted is not None:
        with empty_database(wanted) as address:
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
