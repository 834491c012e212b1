"""The database's plan for each statement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa


@contextmanager
def plans(engine: sa.Engine) -> Iterator[list[tuple[str, str]]]:
    """Every query with its plan, which on PostgreSQL includes the number of rows that were actually read."""
    words = "EXPLAIN QUERY PLAN" if engine.dialect.name == "sqlite" else "EXPLAIN (ANALYZE, TIMING OFF)"
    seen: list[tuple[str, str]] = []

    def explain(connection: sa.Connection, cursor: Any, statement: str, parameters: Any, *_: object) -> None:
        cursor.execute(f"{words} {statement}", parameters)
        seen.append((statement, "\n".join(str(row[-1]) for row in cursor.fetchall())))

    sa.event.listen(engine, "before_cursor_execute", explain)
    yield seen
    sa.event.remove(engine, "before_cursor_execute", explain)


def rows_taken(plan: str) -> int:
    """The most rows that a step of PostgreSQL's plan took from a table or index."""
    return max(int(number) for number in re.findall(r"actual rows=(\d+)", plan))
