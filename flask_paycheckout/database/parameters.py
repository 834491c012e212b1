"""Names of the parameters in prepared statements: `new_...` is a column's new value, `of_...` the one it must have.

Building a statement, and finding its compiled form again, costs more than the database takes to run it. So each is
built once and run with parameters.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Table, bindparam


def parameter(table: Table, name: str, column: str) -> BindParameter[Any]:
    """A parameter of this name with the type of a column."""
    return bindparam(name, type_=table.c[column].type)


def is_of(table: Table, column: str) -> ColumnElement[bool]:
    """Whether a column has the value `of_...`."""
    return table.c[column] == parameter(table, f"of_{column}", column)


def new_values(table: Table, columns: Collection[str]) -> dict[str, Any]:
    """The `new_...` parameters of columns, for the `values` of an update."""
    return {name: parameter(table, f"new_{name}", name) for name in columns}
