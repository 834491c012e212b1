"""Results for people: a block of figures for each row, or the rows of a Markdown table."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from tests.benchmarks.databases import KINDS
from tests.benchmarks.measuring import OURS, Figure, Result, short
from tests.benchmarks.row import Row

TABLE_HEAD = "| Work | Database | Figure | Measured |\n|---|---|---|---|"


def show(row: Row, result: Result) -> None:
    """Print a result: every contender's median, least and most, and our ratio to each."""
    print(f"\n{row.title}{_on(result)}")
    for name, figures in result.figures.items():
        shown = "; ".join(f"{_spread(values)} {figure}" for figure, values in figures.items())
        print(f"  {name:<16}{shown}")
    for other in (name for name in result.figures if name != OURS):
        ratios = [
            f"{statistics.median(values):.2f} x its {figure}"
            for figure in result.figures[OURS]
            if (values := Figure(figure, over=other).in_rounds(result.figures))
        ]
        print(f"  ours to {other}: {', '.join(ratios)}")
    print(flush=True)


def _on(result: Result) -> str:
    return f"; {KINDS[result.database]}" if result.database else ""


def _spread(values: Sequence[float]) -> str:
    return f"{short(statistics.median(values))} ({short(min(values))} to {short(max(values))})"


def table_rows(row: Row, result: Result) -> Iterator[str]:
    """A row of the table for each figure: the median."""
    for figure in result.shown:
        values = figure.in_rounds(result.figures)
        measured = short(statistics.median(values)) + ("x" if figure.over else "") if values else "not measured"
        database = KINDS[result.database] if result.database else ""
        yield f"| {row.title} | {database} | {figure} | {measured} |"
