"""The command that exports the books."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, fields
from decimal import Decimal

import click
from flask.cli import with_appcontext

from flask_paycheckout.books.export import Export, Format, Totals
from flask_paycheckout.cli.group import paycheckout
from flask_paycheckout.cli.options import period_options, read_period
from flask_paycheckout.runtime import runtime
from flask_paycheckout.text import moment_text, visible


@paycheckout.command(short_help="Export every movement of money, with fees and totals.")
@period_options
@click.option(
    "--format",
    "form",
    type=click.Choice([form.value for form in Format]),
    default=Format.CSV.value,
    show_default=True,
    help="CSV for spreadsheets, or one JSON object per line.",
)
@with_appcontext
def export(start: str | None, end: str | None, account: str | None, form: str) -> None:
    """Write every movement of money once, oldest first: payments, held money, fees, refunds, payouts, and returns.

    The time is the one at which the movement was stored, in UTC. A period that is over exports byte for byte the same
    again.
    Totals by account and currency, and whatever is missing, go to standard error. The service is not called.

    Exit code 0: exported. 2: the dates, or the account, cannot be used.
    """
    period = read_period(start, end, account)
    found = runtime().for_reading("the export").books.export(period)
    _write(found, Format(form))
    for line in (*_totals(found), *_notes(found)):
        click.echo(visible(line), err=True)


def _write(found: Export, form: Format) -> None:
    """Write an export to standard output, with a progress bar when only that is not a terminal."""
    out = sys.stdout.buffer
    shown = sys.stderr.isatty() and not sys.stdout.isatty()
    with _bar(found.books.count(found.period) if shown else 0, "Exporting", shown=shown) as progress:
        for part in found.text(form, progress):
            out.write(part.encode())
        # Now, so that a full disk or a closed pipe is noticed before any total is told.
        out.flush()


@contextmanager
def _bar(count: int, label: str, *, shown: bool) -> Iterator[Callable[[int], object] | None]:
    if not shown:
        yield None
        return
    with click.progressbar(length=count, label=label, file=sys.stderr) as bar:
        yield bar.update


def _totals(found: Export) -> Iterator[str]:
    """The table of totals."""
    names = [one.name for one in fields(Totals)]
    rows = [["account", "currency", *names]]
    for (account, currency), sums in sorted(found.sums.totals.items()):
        rows.append([account or "(settings)", currency, *(f"{Decimal(amount):f}" for amount in astuple(sums))])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    since = "the beginning" if found.period.start is None else moment_text(found.period.start)
    count = found.sums.lines
    lines = "1 line" if count == 1 else f"{count} lines"
    yield f"{lines} from {since} to {'now' if found.period.end is None else moment_text(found.period.end)}"
    if len(rows) > 1:
        for row in rows:
            text = [cell.ljust(width) for cell, width in zip(row[:2], widths, strict=False)]
            numbers = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
            yield "  ".join(["", *text, *numbers]).rstrip()


def _notes(found: Export) -> Iterator[str]:
    incomplete, named = found.sums.incomplete, found.sums.incomplete_named
    if incomplete:
        yield f"INCOMPLETE: {incomplete} of the lines lack an amount, fee or currency that the service left out:"
        yield f"  {', '.join(named)}{' and more' if incomplete > len(named) else ''}"
    if not found.closed():
        yield (
            "NOT CLOSED: movements may still be stored in this period. Export it again some minutes after its end,"
            " when no transaction of that time is open any more."
        )
