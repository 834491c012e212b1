"""Results for people: a block of figures for each row, or the rows of a Markdown table."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from tests.benchmarks.measuring import OURS, Goal, Result
from tests.benchmarks.row import Row


def show(row: Row, result: Result) -> None:
    """Print a result: every contender's median, least and most, and the goals."""
    print(f"\n{row.title}{_on(result)}")
    for name, figures in result.figures.items():
        shown = "; ".join(f"{_spread(values)} {figure}" for figure, values in figures.items())
        print(f"  {name:<16}{shown}")
    for other in (name for name in result.figures if name != OURS):
        ratios = [
            f"{measured:.2f} x its {figure}"
            for figure in result.figures[OURS]
            if (measured := Goal(figure, over=other).measured(result.figures)) is not None
        ]
        print(f"  ours to {other}: {', '.join(ratios)}")
    for goal in result.goals:
        print(f"  goal: {goal}: {_verdict(goal, result)}")


def _on(result: Result) -> str:
    return f", {result.database}" if result.database else ""


def _spread(values: Sequence[float]) -> str:
    return f"{_short(statistics.median(values))} ({_short(min(values))} to {_short(max(values))})"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _verdict(goal: Goal, result: Result) -> str:
    measured = goal.measured(result.figures)
    if measured is None:
        return "not measured"
    if not goal.is_judged:
        return _short(measured)
    return f"{_short(measured)}, {'reached' if goal.is_reached(measured) else 'NOT reached'}"


def as_markdown(rows: Mapping[str, Row], results: Sequence[Result]) -> str:
    """The rows of a table: work, database, goal, what was measured, and whether that reaches the goal."""
    lines = ["| Work | Database | Goal | Measured | Reached |", "|---|---|---|---|---|"]
    for result in results:
        for goal in result.goals:
            measured = goal.measured(result.figures)
            shown = "not measured" if measured is None else _short(measured) + ("x" if goal.over else "")
            reached = "" if measured is None or not goal.is_judged else "yes" if goal.is_reached(measured) else "no"
            cells = (rows[result.row].title, result.database or "", str(goal), shown, reached)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
