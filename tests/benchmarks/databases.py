"""The databases of a run: SQLite files with and without WAL, and a PostgreSQL server whose commits reach the disk."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.postgres import empty_database, running_server as running_postgres

SQLITE, SQLITE_WITHOUT_WAL, POSTGRESQL = "sqlite", "sqlite-without-wal", "postgresql"

#: Every kind, with its name for people. README's recipe sets WAL; SQLite's own default is the other one.
KINDS = {SQLITE: "SQLite, WAL", SQLITE_WITHOUT_WAL: "SQLite, no WAL", POSTGRESQL: "PostgreSQL"}

_ROLLBACK = "a rollback journal"


@contextmanager
def database_kinds(kinds: tuple[str, ...]) -> Iterator[dict[str, str | None]]:
    """What `fresh_database` wants for each kind."""
    files = {SQLITE: None, SQLITE_WITHOUT_WAL: _ROLLBACK}
    if POSTGRESQL not in kinds:
        yield {kind: files[kind] for kind in kinds}
        return
    with running_postgres(durable=True) as server:
        yield {kind: files.get(kind, server) for kind in kinds}


@contextmanager
def fresh_database(wanted: str | None) -> Iterator[str]:
    """The address of an empty database: on this PostgreSQL server, or else a SQLite file, in WAL mode by default.

    The journal mode is the file's own, so every program that opens it has the same.
    """
    if wanted not in (None, _ROLLBACK):
        with empty_database(str(wanted)) as address:
            yield address
        return
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        file = Path(folder) / "shop.db"
        if wanted is None:
            connection = sqlite3.connect(file)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.close()
        yield f"sqlite:///{file}"
