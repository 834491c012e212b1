"""Statements of every call, compiled once for each kind of database and executed by its driver.

SQLAlchemy takes several times as long to execute a statement as SQLite does. So the few statements that most calls need
are compiled once. They see neither the ORM's objects nor what limits a team to its accounts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import Connection, Dialect, Select
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.orm import Session
from sqlalchemy.sql.selectable import ReturnsRows
from sqlalchemy.types import TypeEngine

Item = TypeVar("Item")
Work = Session | Connection
"""A transaction in which statements are executed: with the ORM's session or, at less cost, without it."""
_KEPT = 256
_Convert = Callable[[Any], Any]


class Compiled(NamedTuple):
    """A statement in the words of one kind of database."""

    text: str
    names: tuple[str, ...]
    """The names of its parameters, in their order where the driver takes them by position."""
    is_positional: bool
    has_rows: bool
    fixed: dict[str, Any]
    """Parameters whose values are part of the statement."""
    sent: dict[str, _Convert]
    """How values of parameters are converted for the driver, by name."""
    read: tuple[tuple[int, _Convert], ...]
    """How values of columns are converted from the driver's, by place."""


def send(cursor: DBAPICursor, text: str, parameters: Any) -> None:
    """Execute a statement with the driver. All prepared statements pass here, where tests observe them."""
    cursor.execute(text, parameters)


class Prepared:
    """A statement that is compiled once; it has no parameters that expand, such as those of `in_`.

    :param columns: names of the columns that an INSERT gives values to.
    """

    def __init__(self, statement: ReturnsRows, columns: Iterable[str] | None = None) -> None:
        self._statement = statement
        self._columns = None if columns is None else list(columns)
        self._compiled: dict[str, Compiled] = {}

    def rows(self, on: Work, **asked: Any) -> list[tuple[Any, ...]]:
        """Execute it with these parameters, and return all of its rows; none when it returns no rows.

        What the session has not written yet is written first.
        """
        compiled, found = self.execute(on, asked)
        return [_converted(row, compiled.read) for row in found] if compiled.read else found

    def execute(self, on: Work, asked: dict[str, Any]) -> tuple[Compiled, list[tuple[Any, ...]]]:
        """Execute it, and return its rows as the driver gives them."""
        if isinstance(on, Session):
            on.flush()
            on = on.connection()
        compiled = self._compiled.get(on.dialect.name) or self._compile(on.dialect)
        values = compiled.fixed | asked
        for name, convert in compiled.sent.items():
            values[name] = convert(values[name])
        cursor = on.connection.cursor()
        send(
            cursor, compiled.text, tuple(values[name] for name in compiled.names) if compiled.is_positional else values
        )
        return compiled, list(cursor.fetchall()) if compiled.has_rows else []

    def _compile(self, dialect: Dialect) -> Compiled:
        statement = self._statement.compile(dialect=dialect, column_keys=self._columns)
        fixed = statement.params
        kinds = {bind: statement.binds[bind].type for bind in fixed}
        sent = {name: _own(kind, dialect).bind_processor(dialect) for name, kind in kinds.items()}
        read = (
            _own(column.type, dialect).result_processor(dialect, None) for column in self._statement.exported_columns
        )
        compiled = Compiled(
            str(statement),
            tuple(statement.positiontup or fixed),
            statement.positional,
            len(self._statement.exported_columns) > 0,
            fixed,
            {name: convert for name, convert in sent.items() if convert is not None},
            tuple((place, convert) for place, convert in enumerate(read) if convert is not None),
        )
        self._compiled[dialect.name] = compiled
        return compiled


class PreparedObjects(Generic[Item]):
    """A prepared query for objects that no session tracks. Equal rows give the same object, which nobody may change.

    :param make: called with the columns of a row, by name.
    """

    def __init__(self, statement: Select[Any], make: Callable[..., Item]) -> None:
        names = statement.selected_columns.keys()
        self._prepared = Prepared(statement)
        # By what the driver returns, in which amounts that are equal may still be written differently.
        self._made = lru_cache(maxsize=_KEPT)(
            lambda row, read: make(**dict(zip(names, _converted(row, read), strict=True)))
        )

    def all(self, on: Work, **asked: Any) -> list[Item]:
        """Execute the query with these parameters."""
        compiled, found = self._prepared.execute(on, asked)
        return [self._made(row, compiled.read) for row in found]


@contextmanager
def session_of(work: Work) -> Iterator[Session]:
    """A session for the ORM within this transaction, which the caller ends."""
    if isinstance(work, Session):
        yield work
        return
    with Session(work, expire_on_commit=False) as session:
        yield session
        session.flush()


def _own(kind: TypeEngine[Any], dialect: Dialect) -> TypeEngine[Any]:
    return kind.dialect_impl(dialect)


def _converted(row: tuple[Any, ...], how: tuple[tuple[int, _Convert], ...]) -> tuple[Any, ...]:
    values = list(row)
    for place, convert in how:
        values[place] = convert(values[place])
    return tuple(values)
