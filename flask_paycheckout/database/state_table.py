"""Tables whose rows have a state: each change of a row, and each claim, is one conditional statement.

Among any number of processes exactly one makes a change, or gets a row. Building a statement, and finding its compiled
form again, costs more than the database takes to run it, so each is built once and run with parameters: `new_...` is a
column's new value, `of_...` the one it must have. A row's history is lines of JSON, each appended in the statement that
makes the change.
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
"""Books the money that a change of a row moves, in its transaction, given the row before and after, and the time."""


@dataclass(frozen=True, eq=False)
class StateTable(Generic[Subject]):
    """The rows of one table, as detached objects; it uses connections of its own unless it is given one.

    So it never commits the shop's changes in `db.session`.
    """

    engine: Callable[[], Engine]
    models: Models

    mapped: ClassVar[str]
    """The name in `Models` of the mapped class of the objects."""

    key: ClassVar[str]
    """The column of the id or reference by which others name a row."""

    unknown: ClassVar[type[PayCheckoutError]]
    """The error for a name of which there is no row."""

    unmoved: ClassVar[tuple[str, ...]]
    """The columns that a change requires as they were loaded."""

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
        """Make the object of a row, every column by its name."""
        return self.models.of_row(self.model, row)

    def planned(self, columns: frozenset[str]) -> dict[str, Any]:
        """The new values of columns, of which each has a parameter `new_...`."""
        return {name: bindparam(f"new_{name}", type_=self.table.c[name].type) for name in columns}

    @cached_property
    def single(self) -> Engine:
        """The engine for single statements."""
        return autocommit(self.engine())

    # Queries

    def rows(self, statement: Any, connection: Connection | None = None, **parameters: Any) -> Sequence[Any]:
        """The rows of a query.

        :param connection: the connection of the caller's transaction; None for one of its own.
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
        """The objects with this value in a column, the oldest first."""
        if column not in self._changes:
            self._changes[column] = select(self.table).where(is_of(self.table, column)).order_by(self.table.c.id)
        return self.loaded(self._changes[column], connection, **{f"of_{column}": value})

    def find(self, name: str, connection: Connection | None = None) -> Subject | None:
        """The object of this id or reference, detached from any session; no query for text that cannot be stored.

        :param connection: the connection of the caller's transaction; None for one of its own.
        """
        return next(iter(self.of(self.key, name, connection)), None) if is_order_id(name) else None

    def require(self, name: str, connection: Connection | None = None) -> Subject:
        """The object of this id or reference; otherwise like `find`.

        :raises PayCheckoutError: the error of the class, since no such row is stored.
        """
        found = self.find(name, connection)
        if found is None:
            raise self.unknown(name)
        return found

    def of_order(self, order_id: str) -> Sequence[Subject]:
        """All objects of an order, the oldest first."""
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
        cleared: tuple[str, ...] = (),
    ) -> dict[str, Any] | None:
        """Change a row that was loaded before.

        :param before: the whole row as it was loaded.
        :param entry: a line for the history.
        :param always: whether the line is stored also when the history is long already.
        :param cleared: columns that become NULL, whatever is planned for them.
        :returns: the whole row; None when it has changed meanwhile.
        """
        given = {f"of_{name}": value for name, value in before.items()} | {"entry": entry}
        given |= {f"new_{name}": value for name, value in values.items()}
        statement = self._change(frozenset(values), entry is not None, always, cleared)
        changed = connection.execute(statement, given).mappings().one_or_none()
        return None if changed is None else {**before, **values, **changed}

    def _change(
        self,
        columns: frozenset[str],
        recorded: bool,
        always: bool,
        cleared: tuple[str, ...],
    ) -> Any:
        key = columns, recorded, always, cleared
        if key not in self._changes:
            table, values = self.table, self.planned(columns) | dict.fromkeys(cleared)
            if recorded:
                values["history"] = appended(table.c.history, bindparam("entry", type_=Text()), always=always)
            # Only what the caller does not know, since each column that is returned takes time.
            known = {name for name, value in values.items() if isinstance(value, BindParameter)}
            unknown = [column for column in table.c if column.name not in known]
            same = [is_of(table, name) for name in self.unmoved]
            self._changes[key] = update(table).where(*same).values(values).returning(*unknown)
        return self._changes[key]

    def lock_writer(self, connection: Connection) -> None:
        """Take SQLite's one write lock, before the shop reads an order that must not change before the commit.

        A server locks rows instead.
        """
        if connection.dialect.name == "sqlite":
            connection.execute(self._change_nothing)

    @cached_property
    def _change_nothing(self) -> Any:
        return update(self.table).where(false()).values(id=self.table.c.id)

    # Claims

    def claimed(self, ids: Any, values: Mapping[str, Any]) -> list[Subject]:
        """Change rows, but those that another transaction has locked, which is handling them.

        :param ids: the query for their ids.
        :returns: the changed objects in the order of their ids; none when other processes were first.
        """
        # SQLite has no locks of rows, and one writer. As a common table expression, which PostgreSQL runs once: it may
        # repeat a plain subquery with LIMIT, and then skip the rows that it has just locked.
        free = select(ids.with_for_update(skip_locked=True).cte("due").c.id)
        changing = update(self.table).where(self.table.c.id.in_(free)).values(values).returning(*self.table.c)
        with lost_races_ignored():
            with self.single.begin() as connection:
                found = connection.execute(changing).mappings().all()
            return [self.made(row) for row in sorted(found, key=itemgetter("id"))]
        return []


# Made once, since `json.dumps` makes an encoder for each call with other options than its own.
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
# The length after which reads and webhooks are no longer recorded; moves always are. A year of reads fits.
_MAX_CHARACTERS = 40_000
# The most characters that are shown of a line that another program wrote.
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
    """The history with only these facts of each entry; what another program wrote goes.

    :param at: the time of the entries that are reduced, while all others stay as they are; None for all.
    """
    kept, moment = list[str](), at and _moment(at)
    for each in history.splitlines():
        entry = _read(each)
        if moment not in (None, entry.get("at")):
            kept.append(each)
        elif "line" not in entry:
            kept.append(_encode({name: fact for name, fact in entry.items() if name in facts}))
    return "".join(f"{each}\n" for each in kept)


def _read(entry: str) -> dict[str, Any]:
    try:
        read = json.loads(entry)
        datetime.fromisoformat(read["at"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return {"what": Entry.UNREADABLE.value, "line": entry[:_SHOWN]}
    return {"what": Entry.UNREADABLE.value} | dict(read)


def insert_in(bind: Connection | Engine, into: Any) -> Any:
    """Build an INSERT in the dialect of this connection or engine, which can skip a row that exists, or change it.

    :param into: the table, or a class that is mapped to it.
    """
    # Imported when needed: the module of a database that the shop does not use is large.
    return import_module(f"sqlalchemy.dialects.{bind.dialect.name}").insert(into)
