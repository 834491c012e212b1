"""The two databases of a run, and reading them with plain SQL into rows for JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tests.postgres import empty_database, running_server

KINDS = ("sqlite", "postgresql")
Row = dict[str, Any]


@dataclass(frozen=True)
class Databases:
    """Addresses of the shop's database and of the sandbox's database."""

    shop: str
    sandbox: str
    #: SQLAlchemy's options for the engine of the shop's database.
    options: dict[str, Any] = field(default_factory=dict)
    #: Settings for single processes of the shop, by the process's name.
    own: dict[str, dict[str, Any]] = field(default_factory=dict)


@contextmanager
def databases(kind: str, folder: Path) -> Iterator[Databases]:
    """Two empty databases, removed afterwards: files in the folder, or on a PostgreSQL server for this run."""
    if kind == "sqlite":
        yield Databases(f"sqlite:///{folder / 'shop.db'}", f"sqlite:///{folder / 'sandbox.db'}")
        return
    with ExitStack() as parts:
        server = parts.enter_context(running_server())
        shop, sandbox = (parts.enter_context(empty_database(server)) for _ in range(2))
        yield Databases(shop, sandbox)


class Reader:
    """Reads one database while other processes use it."""

    def __init__(self, address: str, options: dict[str, Any] | None = None) -> None:
        usual = {"connect_args": {"timeout": 30}} if address.startswith("sqlite") else {}
        self._engine = sa.create_engine(address, **(options or usual))

    def rows(self, statement: str, **values: Any) -> list[Row]:
        """The rows of a SELECT as dictionaries; times become ISO 8601 text in UTC, exact numbers text."""
        parameters = {name: self._moment(value) for name, value in values.items()}
        with self._engine.connect() as connection:
            result = connection.execute(sa.text(statement), parameters).mappings()
            return [{str(name): _plain(value) for name, value in row.items()} for row in result]

    def count(self, table: str, condition: str, **values: Any) -> int:
        (row,) = self.rows(f"SELECT count(*) AS many FROM {table} WHERE {condition}", **values)  # noqa: S608
        return int(row["many"])

    def close(self) -> None:
        self._engine.dispose()

    def _moment(self, value: Any) -> Any:
        if isinstance(value, datetime) and self._engine.dialect.name == "sqlite":
            # SQLAlchemy stores times like this in SQLite.
            return value.strftime("%Y-%m-%d %H:%M:%S.%f")
        return value


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


def json_lines(path: Path) -> list[Row]:
    """The whole lines of a file to which processes append until they are killed."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
