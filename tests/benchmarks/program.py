"""The command line, and the run over the rows that it names."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial

from tests.benchmarks.databases import KINDS, database_kinds
from tests.benchmarks.measuring import Options, Result
from tests.benchmarks.peers import peers_python
from tests.benchmarks.reporting import TABLE_HEAD, show, table_rows
from tests.benchmarks.row import Row

_QUICK_SCALE, _QUICK_ROUNDS = 0.2, 3


def main(rows: Sequence[Row], argv: Sequence[str] | None = None) -> int:
    """Measure these rows as the command line says; the usual faults of a machine are told in one line."""
    try:
        return _run(rows, argv)
    except subprocess.CalledProcessError as failed:
        print(f"A program that is needed failed: {failed}", file=sys.stderr)
        return 2


def _run(rows: Sequence[Row], argv: Sequence[str] | None) -> int:
    given = _parser(rows).parse_args(argv)
    chosen = [row for row in rows if given.only is None or row.name in given.only]
    options = Options(
        rounds=given.rounds or (_QUICK_ROUNDS if given.quick else 5),
        scale=given.scale or (_QUICK_SCALE if given.quick else 1.0),
        databases=tuple(given.database),
        peers=None if given.peers is None else peers_python(given.peers),
        tell=partial(print, file=sys.stderr if given.markdown else sys.stdout, flush=True),
    )
    if given.markdown:
        print(TABLE_HEAD, flush=True)
    for row, result in _measured(chosen, options):
        if given.markdown:
            print(*table_rows(row, result), sep="\n", flush=True)
        else:
            show(row, result)
    return 0


def _measured(rows: Sequence[Row], options: Options) -> Iterator[tuple[Row, Result]]:
    """Each result as soon as it is there."""
    with database_kinds(_kinds(rows, options.databases)) as databases:
        for row in rows:
            if not row.databases:
                yield row, row.measured(options, None, None)
            for kind, database in databases.items():
                if kind in row.databases:
                    yield row, row.measured(options, kind, database)


def _kinds(rows: Sequence[Row], wanted: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(kind for kind in wanted if any(kind in row.databases for row in rows))


def _parser(rows: Sequence[Row]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description="Measures every row of the table, side by side with floors and peers.",
    )
    parser.add_argument("--rounds", type=int, help="turns of each contender (5)")
    parser.add_argument("--quick", action="store_true", help="a fifth of the work, 3 rounds")
    parser.add_argument("--scale", type=float, help="part of the full amount of work in each round (1.0)")
    parser.add_argument("--database", choices=KINDS, nargs="+", default=list(KINDS), help="for the rows that use one")
    parser.add_argument(
        "--peers",
        nargs="?",
        const="build/benchmark-peers",
        metavar="FOLDER",
        help="measure the peers too; they are installed there when they are missing (%(const)s)",
    )
    parser.add_argument("--markdown", action="store_true", help="print the rows of a table")
    names = [row.name for row in rows]
    parser.add_argument("--only", choices=names, nargs="+", metavar="ROW", help=", ".join(names))
    return parser
