"""Tables whose rows have a state: each change of a row, and each claim, is one conditional statement.

Among any number of processes, exactly one makes a change, or claims a row. Building a statement, and looking up its
compiled form, takes longer than the database needs to run it, so each statement is built once and run with parameters:
`new_...` is a column's new value, and `of_...` its required present value. A row's history is lines of JSON, each
appended in the statement that makes the change.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from importlib import import_module
from operator import itemgetter
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Connection,
    Engine,
    Table,
    Text,
    bindparam,
    case,
    false,
    func,
    select,
    update,
)

from flask_paycheckout.database.connections import autocommit, lost_races_ignored
from flask_paycheckout.database.models import Models, table_of
from flask_paycheckout.errors import PayCheckoutError
from flask_paycheckout.text import is_order_id


def is_of(table: Table, column: str) -> ColumnElement[bool]:
    """Whether a column has the value `of_...`."""
    return table.c[column] == bindparam(f"of_{column}", type_=table.c[column].type)


Subject = TypeVar("Subject")
Row = Mapping[Any, Any]

Book = Callable[[Connection, Row, Row, datetime], None]
"""Books the money that a change of a row moves, in its transaction; takes the row before and after, and the time."""


@dataclass(frozen=True, eq=False)
class StateTable(Generic[Subject]):
    """The rows of one table, as detached objects.

    It uses its own connections, unless a caller passes one, so it never commits the shop's changes in `db.session`.
    """

    engine: Callable[[], Engine]
    models: Models

    mapped: ClassVar[str]
    """The attribute of `Models` with the mapped class of the objects."""

    key: ClassVar[str]
    """The column of the id or reference that identifies a row for others."""

    unknown: ClassVar[type[PayCheckoutError]]
    """The error for an id or reference without a row."""

    unmoved: ClassVar[tuple[str, ...]]
    """The columns that must still have their loaded values when a row is changed."""

    _changes: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def model(self) -> type[Subject]:
        """The mapped class of the objects."""
        mapped: type[Subject] = getattr(self.models, self.mapped)
        return mapped

    @cached_property
    def table(self) -> Table:
        return table_of(self.model)

    def made(self, row: Row) -> Subject:
        """Make the object of a row, given the values of all columns by name."""
        return self.models.of_row(self.model, row)

    def planned(self, columns: frozenset[str]) -> dict[str, Any]:
        """The new values of columns: a parameter `new_...` for each."""
        return {name: bindparam(f"new_{name}", type_=self.table.c[name].type) for name in columns}

    @cached_property
    def single(self) -> Engine:
        """The engine for single statements."""
        return autocommit(self.engine())

    # Queries

    def rows(self, statement: Any, connection: Connection | None = None, **parameters: Any) -> Sequence[Any]:
        """The rows of a query.

        :param connection: the connection of the caller's transaction; None for a connection of our own.
        """
        if connection is not None:
            return connection.execute(statement, parameters).all()
        with self.single.connect() as own:
            return own.execute(statement, parameters).all()

    def loaded(self, statement: Any, connection: Connection | None = None, **parameters: Any) -> list[Subject]:
        """The objects of a query for whole rows."""
        rows = self.rows(statement, connection, **parameters)
        return [self.made(row._mapping) for row in rows] if rows else []

    def of(self, column: str, value: str, connection: Connection | None = None) -> list[Subject]:
        """The objects with this value in a column, oldest first."""
        if column not in self._changes:
            self._changes[column] = select(self.table).where(is_of(self.table, column)).order_by(self.table.c.id)
        return self.loaded(self._changes[column], connection, **{f"of_{column}": value})

    def find(self, name: str, connection: Connection | None = None) -> Subject | None:
        """The object of this id or reference, detached from any session; no query for text that cannot be stored.

        :param connection: the connection of the caller's transaction; None for a connection of our own.
        """
        return next(iter(self.of(self.key, name, connection)), None) if is_order_id(name) else None

    def require(self, name: str, connection: Connection | None = None) -> Subject:
        """The object of this id or reference; otherwise like `find`.

        :raises PayCheckoutError: no such row is stored; the error class is `unknown`.
        """
        subject = self.find(name, connection)
        if subject is None:
            raise self.unknown(name)
        return subject

    def of_order(self, order_id: str) -> Sequence[Subject]:
        """All objects of an order, oldest first."""
        return self.of("order_id", order_id)

    # Changes

    def change(
        self,
        connection: Connection,
        before: Row,
        values: Mapping[str, Any],
        entry: str | None = None,
        *,
        always: bool = False,
    ) -> dict[str, Any] | None:
        """Change a row that was loaded before.

        :param before: the whole row as it was loaded.
        :param entry: a line for the history.
        :param always: whether the line is stored even if the history is already long.
        :returns: the whole row; None if it has changed meanwhile.
        """
        parameters = {f"of_{name}": value for name, value in before.items()} | {"entry": entry}
        parameters |= {f"new_{name}": value for name, value in values.items()}
        statement = self._change(frozenset(values), entry is not None, always)
        changed = connection.execute(statement, parameters).mappings().one_or_none()
        return None if changed is None else {**before, **values, **changed}

    def _change(self, columns: frozenset[str], recorded: bool, always: bool) -> Any:
        key = columns, recorded, always
        if key not in self._changes:
            table, values = self.table, self.planned(columns)
            if recorded:
                values["history"] = appended(table.c.history, bindparam("entry", type_=Text()), always=always)
            # Return only the values that the caller does not know, because each returned column takes time.
            assigned = {name for name, value in values.items() if isinstance(value, BindParameter)}
            unknown = [column for column in table.c if column.name not in assigned]
            unmoved = [is_of(table, name) for name in self.unmoved]
            self._changes[key] = update(table).where(*unmoved).values(values).returning(*unknown)
        return self._changes[key]

    def lock_writer(self, connection: Connection) -> None:
        """Take SQLite's only write lock, before the shop reads an order that must not change before the commit.

        A database server locks rows instead.
        """
        if connection.dialect.name == "sqlite":
            connection.execute(self._change_nothing)

    @cached_property
    def _change_nothing(self) -> Any:
        return update(self.table).where(false()).values(id=self.table.c.id)

    # Claims

    def claimed(self, ids: Any, values: Mapping[str, Any]) -> list[Subject]:
        """Change rows, except rows that another transaction has locked, because it is already handling them.

        :param ids: the query for the ids of the rows.
        :returns: the changed objects, sorted by id; empty if other processes were first.
        """
        # SQLite has no row locks, and one writer. PostgreSQL runs a common table expression once; it may repeat a plain
        # subquery with LIMIT, and then skip the rows that it has just locked.
        free = select(ids.with_for_update(skip_locked=True).cte("due").c.id)
        changing = update(self.table).where(self.table.c.id.in_(free)).values(values).returning(*self.table.c)
        with lost_races_ignored():
            with self.single.begin() as connection:
                rows = connection.execute(changing).mappings().all()
            return [self.made(row) for row in sorted(rows, key=itemgetter("id"))]
        return []


# Made once, because `json.dumps` makes an encoder for each call with options other than the defaults.
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
# The length of a history in characters after which only moves are recorded. A year of reads fits.
_MAX_CHARACTERS = 40_000
# The maximum number of characters that are shown of a line that another program wrote.
_SHOWN = 200


class Entry(StrEnum):
    """The kinds of entries; stored, and part of what `explain` returns."""

    CREATED = "created"
    WEBHOOK = "webhook"
    READ = "read"
    NO_ANSWER = "no answer"
    NOT_APPLIED = "not applied"
    MOVED = "moved"
    RESOLVED = "resolved"
    PAYBACK = "payback"
    UNREADABLE = "unreadable"


def line(at: datetime, what: Entry, **facts: object) -> str:
    """Encode one entry: its time, its kind, and the facts, each a short text, number or list."""
    entry: dict[str, object] = {"at": _moment(at), "what": what}
    entry |= {name: fact if isinstance(fact, (int, list)) else str(fact) for name, fact in facts.items() if fact}
    return _encode(entry) + "\n"


def _moment(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds")


def appended(column: Column[str], entry: str | ColumnElement[str], *, always: bool) -> ColumnElement[str]:
    """The SQL expression that appends an entry, so that concurrent writers lose none."""
    longer = column + entry
    return longer if always else case((func.length(column) < _MAX_CHARACTERS, longer), else_=column)


def lines(history: str) -> list[dict[str, Any]]:
    """Decode the entries, oldest first; an invalid line, written by another program, becomes an entry `unreadable`."""
    return [_read(entry) for entry in history.splitlines()]


def reduced(history: str, facts: frozenset[str], at: datetime | None = None) -> str:
    """The history with only these facts of each entry, and without lines of other programs.

    :param at: the time of the entries that are reduced, while all other entries stay unchanged; None for all.
    """
    entries, moment = list[str](), at and _moment(at)
    for each in history.splitlines():
        entry = _read(each)
        if moment not in (None, entry.get("at")):
            entries.append(each)
        elif "line" not in entry:
            entries.append(_encode({name: fact for name, fact in entry.items() if name in facts}))
    return "".join(f"{each}\n" for each in entries)


def _read(entry: str) -> dict[str, Any]:
    try:
        read = json.loads(entry)
        datetime.fromisoformat(read["at"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return {"what": Entry.UNREADABLE.value, "line": entry[:_SHOWN]}
    return {"what": Entry.UNREADABLE.value} | dict(read)


def insert_in(bind: Connection | Engine, into: Any) -> Any:
    """Build an INSERT in the dialect of this connection or engine, which can skip or change an existing row.

    :param into: the table, or its mapped class.
    """
    # Imported when needed, because the module of a database that the shop does not use is large.
    return import_module(f"sqlalchemy.dialects.{bind.dialect.name}").insert(into)
