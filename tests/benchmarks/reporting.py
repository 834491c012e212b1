"""Results for people: a block of figures for each row, or the rows of a Markdown table."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from tests.benchmarks.databases import KINDS
from tests.benchmarks.measuring import OURS, Goal, Result, short
from tests.benchmarks.row import Row

TABLE_HEAD = "| Work | Database | Goal | Measured | Rounds | Reached |\n|---|---|---|---|---|---|"


def show(row: Row, result: Result) -> None:
    """Print a result: every contender's median, least and most, and the goals."""
    print(f"\n{row.title}{_on(result)}")
    for name, figures in result.figures.items():
        shown = "; ".join(f"{_spread(values)} {figure}" for figure, values in figures.items())
        print(f"  {name:<16}{shown}")
    for other in (name for name in result.figures if name != OURS):
        ratios = [
            f"{statistics.median(values):.2f} x its {figure}"
            for figure in result.figures[OURS]
            if (values := Goal(figure, over=other).in_rounds(result.figures))
        ]
        print(f"  ours to {other}: {', '.join(ratios)}")
    for goal in result.goals:
        print(f"  goal: {goal}: {_verdict(goal, result)}")
    print(flush=True)


def _on(result: Result) -> str:
    return f"; {KINDS[result.database]}" if result.database else ""


def _spread(values: Sequence[float]) -> str:
    return f"{short(statistics.median(values))} ({short(min(values))} to {short(max(values))})"


def _verdict(goal: Goal, result: Result) -> str:
    values = goal.in_rounds(result.figures)
    if not values:
        return "not measured"
    measured = short(statistics.median(values))
    if not goal.is_judged:
        return measured
    reached = "reached" if goal.is_reached(values) else "NOT reached"
    return f"{measured}, holds in {goal.held(values)} of {len(values)} rounds: {reached}"


def table_rows(row: Row, result: Result) -> Iterator[str]:
    """A row of the table for each goal: the median, in how many rounds the goal holds, and whether that reaches it."""
    for goal in result.goals:
        values = goal.in_rounds(result.figures)
        measured = short(statistics.median(values)) + ("x" if goal.over else "") if values else "not measured"
        held = reached = ""
        if values and goal.is_judged:
            held, reached = f"{goal.held(values)} of {len(values)}", "yes" if goal.is_reached(values) else "no"
        database = KINDS[result.database] if result.database else ""
        yield f"| {' | '.join((row.title, database, str(goal), measured, held, reached))} |"
