"""How SQLite and PostgreSQL go about what a sandbox asks them, told in the same words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from flask import Flask

from flask_paycheckout.sandbox.world.database import db

_SQLITE = re.compile(r"(SCAN|SEARCH) (\w+)(?: USING (?:COVERING )?(?:INDEX (\w+)|INTEGER PRIMARY KEY))?(?: \((.*)\))?")


@dataclass(frozen=True)
class Read:
    """One table read, from an index or, when `index` is None, by looking at all of it."""

    statement: str
    table: str
    index: str | None
    condition: str


@dataclass(frozen=True)
class Sort:
    """Rows put in order because no index gives them so."""

    statement: str


@dataclass(frozen=True)
class Plan:
    reads: list[Read]
    sorts: list[Sort]

    def scanned(self, *tables: str) -> list[str]:
        """The statements that look at all of one of these tables."""
        return [read.statement for read in self.reads if read.table in tables and read.index is None]

    def of(self, table: str) -> list[Read]:
        return [read for read in self.reads if read.table == table]


def plan_of(app: Flask, action: Callable[[], object], *tables: str) -> Plan:
    """The plans of every statement about these tables that an action makes. What it changes may be undone by it."""
    asked: list[tuple[str, Any]] = []
    about = re.compile(rf"\b({'|'.join(tables)})\b")

    def note(_c: Any, _cursor: Any, statement: str, parameters: Any, _x: Any, _many: bool) -> None:
        if statement.startswith(("SELECT", "UPDATE", "DELETE")) and about.search(statement):
            asked.append((statement, parameters))

    with app.app_context():
        engine = db.engine
        sa.event.listen(engine, "before_cursor_execute", note)
        try:
            action()
        finally:
            sa.event.remove(engine, "before_cursor_execute", note)
        assert asked
        explain = _explained_by_postgresql if engine.dialect.name == "postgresql" else _explained_by_sqlite
        with engine.connect() as connection:
            steps = [step for statement, given in asked for step in explain(connection, statement, given)]
    return Plan([step for step in steps if isinstance(step, Read)], [step for step in steps if isinstance(step, Sort)])


def _explained_by_sqlite(connection: sa.Connection, statement: str, parameters: Any) -> Iterator[Read | Sort]:
    for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters):
        if "TEMP B-TREE" in row.detail:
            yield Sort(statement)
        elif found := _SQLITE.match(row.detail):
            kind, table, index, condition = found.groups()
            # The table itself is in the order of its numbers, and can be looked up by them.
            index = index or ("primary key" if kind == "SEARCH" else None)
            yield Read(statement, table, index, condition or "")


def _explained_by_postgresql(connection: sa.Connection, statement: str, parameters: Any) -> Iterator[Read | Sort]:
    (explained,) = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", parameters).scalar_one()
    return _steps(statement, explained["Plan"], "")


def _steps(statement: str, node: dict[str, Any], table: str) -> Iterator[Read | Sort]:
    kind, table = node["Node Type"], node.get("Relation Name", table)
    if kind in {"Sort", "Incremental Sort"}:
        yield Sort(statement)
    elif kind == "Seq Scan":
        yield Read(statement, table, None, "")
    elif "Index Name" in node:
        yield Read(statement, table, node["Index Name"], node.get("Index Cond", ""))
    for below in node.get("Plans", ()):
        yield from _steps(statement, below, table)
