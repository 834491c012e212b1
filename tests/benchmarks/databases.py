"""The databases of a run: a SQLite file that writes ahead, and a PostgreSQL server whose commits reach the disk."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.postgres import empty_database
from tests.postgres import running_server as running_postgres


@contextmanager
def database_kinds(kinds: tuple[str, ...]) -> Iterator[dict[str, str | None]]:
    """What `fresh_database` wants for each kind."""
    if "postgresql" not in kinds:
        yield dict.fromkeys(kinds)
        return
    with running_postgres(durable=True) as server:
        yield {kind: server if kind == "postgresql" else None for kind in kinds}


@contextmanager
def fresh_database(server: str | None) -> Iterator[str]:
    """The address of an empty database: on that PostgreSQL server, or else a SQLite file in WAL mode."""
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
