"""The command that removes old histories, delivered events, and abandoned checkouts that never had money."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta

import click
from flask.cli import with_appcontext

from flask_paycheckout.books.pruning import Progress, Pruned
from flask_paycheckout.cli.group import paycheckout
from flask_paycheckout.runtime import runtime
from flask_paycheckout.text import moment_text, plain

__all__ = ["prune"]

# A hundred years; no shop is older.
_MOST_DAYS = 36_500
_STEPS = 1000


@paycheckout.command(short_help="Remove old histories, delivered events and abandoned checkouts.")
@click.option(
    "--older-than",
    "days",
    type=click.IntRange(1, _MOST_DAYS),
    required=True,
    metavar="DAYS",
    help="Only what was decided and delivered more than so many days ago.",
)
@click.option("--dry-run", is_flag=True, help="Only count what would be removed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@with_appcontext
def prune(days: int, dry_run: bool, as_json: bool) -> None:
    """Remove what is decided, delivered and old; the books stay as they are.

    Histories and delivered events go first; decisions of people stay in the histories. An abandoned checkout goes as a
    whole when no payment method was ever picked, and no link to its order can be valid any more. Whatever has money, or
    could still get some, stays; so does every payout.

    Runs beside the shop, in short transactions. It can be stopped and repeated safely.

    Exit code 0: removed, or counted.
    """
    with _progress() as progress:
        pruned = runtime().for_writing("prune()").pruning.run(timedelta(days=days), dry_run=dry_run, progress=progress)
    click.echo(json.dumps(plain(asdict(pruned))) if as_json else _text(pruned))


def _text(pruned: Pruned) -> str:
    counts = (
        _number(pruned.checkout_histories, "history", "histories") + " of checkouts",
        f"{pruned.payout_histories} of payouts",
        _number(pruned.events, "delivered event", "delivered events"),
        _number(pruned.checkouts, "abandoned checkout", "abandoned checkouts"),
    )
    verb = "Would remove" if pruned.dry_run else "Removed"
    text = f"{verb} what ended before {moment_text(pruned.before)}: {', '.join(counts)}."
    if pruned.left:
        rows = _number(
            pruned.left,
            "row that is in use, or that another table refers to",
            "rows that are in use, or that other tables refer to",
        )
        text += f"\nLeft {rows}; run it again later."
    return text


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A progress bar on a terminal; a log gets the result only."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=_STEPS, label="Pruning", file=sys.stderr) as bar:
        yield lambda place, end: bar.update(_STEPS * place // max(end, 1) - bar.pos)
