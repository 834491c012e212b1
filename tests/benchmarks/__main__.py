"""Prints the rows of a table, each measured side by side with floors and peers: python -m tests.benchmarks"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from tests.benchmarks import client_call, imports, sandbox_order, sandbox_writes, web
from tests.benchmarks.databases import KINDS, POSTGRESQL
from tests.benchmarks.measuring import Figures, Options, Row, short
from tests.benchmarks.peers import peers_python
from tests.postgres import running_server

#: The rounds and the share of the work of a full measurement, and of a quick one.
_FULL, _QUICK = (5, 1.0), (3, 0.2)

ROWS = {
    row.name: row for row in (*web.ROWS, client_call.ROW, imports.ROW, sandbox_writes.ROW, sandbox_order.ROW)
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    arguments = _parser().parse_args(argv)
    rounds, scale = _QUICK if arguments.quick else _FULL
    options = Options(rounds, scale, None if arguments.peers is None else peers_python(arguments.peers))
    print("| Work | Database | Figure | Median (least to most) |\n|---|---|---|---|", flush=True)
    with ExitStack() as stack:
        servers = {
            kind: stack.enter_context(running_server(durable=True)) if kind == POSTGRESQL else None
            for kind in arguments.database
        }
        for row in map(ROWS.__getitem__, arguments.only):
            for kind, server in servers.items() if row.on_databases else [("", None)]:
                print(*_cells(row, KINDS.get(kind, ""), row.measured(options, server)), sep="\n", flush=True)


def _cells(row: Row, database: str, figures: Figures) -> Iterator[str]:
    for figure in row.shown:
        values, unit = figure.in_rounds(figures), "x" if figure.over else ""
        measured = "not measured"
        if values:
            median, least, most = (f"{short(of(values))}{unit}" for of in (statistics.median, min, max))
            measured = f"{median} ({least} to {most})"
        yield f"| {row.title} | {database} | {figure} | {measured} |"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Measures the rows of a table.")
    parser.add_argument("--quick", action="store_true", help="measure roughly, with fewer rounds and less work")
    parser.add_argument("--database", choices=KINDS, nargs="+", default=list(KINDS), help="for the rows that use one")
    parser.add_argument(
        "--peers",
        nargs="?",
        const="build/benchmark-peers",
        metavar="FOLDER",
        help="measure the peers too; they are installed there when they are missing (%(const)s)",
    )
    names = list(ROWS)
    parser.add_argument("--only", choices=names, nargs="+", default=names, metavar="ROW", help=", ".join(names))
    return parser


if __name__ == "__main__":
    main()
