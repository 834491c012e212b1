"""The commands that export the books, list deeds, erase personal data, and remove old records without money."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta

import click

from flask_paycheckout.books.alarms import number
from flask_paycheckout.books.export import TOTALS, Books, Format, Sums, UnreadableBookings
from flask_paycheckout.books.lists import deeds_of
from flask_paycheckout.books.periods import Period
from flask_paycheckout.cli import paycheckout, system_user
from flask_paycheckout.cli.options import (
    counts_text,
    decision_options,
    json_option,
    period_options,
    print_each,
    print_facts,
    progress_bar,
    read_period,
    time_options,
    usable,
)
from flask_paycheckout.database.deeds import Deed
from flask_paycheckout.runtime import for_reading, for_writing, runtime
from flask_paycheckout.text import moment_text, table_lines, visible

# A hundred years; no shop is older.
_MOST_DAYS = 36_500


@paycheckout.command(short_help="Export every movement of money, with fees and totals.")
@period_options
@click.option(
    "--format",
    "form",
    type=click.Choice([form.value for form in Format]),
    default=Format.CSV.value,
    show_default=True,
    help="CSV with every column, one JSON object per line, or a file for bookkeepers and spreadsheets.",
)
@click.option("--delimiter", metavar="C", help="The character between the columns of the file for bookkeepers.")
def export(start: str | None, end: str | None, account: str | None, form: str, delimiter: str | None) -> None:
    """Write every movement of money once, oldest first: payments, held money, fees, refunds, payouts, and returns.

    The time is the one at which the movement was stored, in UTC; the file for bookkeepers has the date in
    PAYCHECKOUT_TIME_ZONE. A period that is over exports byte for byte the same again.
    Totals by account and currency, and whatever is missing, go to standard error. The service is not called.

    Exit code 0: exported. 1: some bookings cannot be read; all others are exported. 2: the dates, or the account,
    cannot be used.
    """
    period, chosen = read_period(start, end, account), Format(form)
    _require_delimiter(delimiter, chosen)
    if sys.stdout is None:
        raise click.ClickException("standard output is closed. Write the export into a file: ... > books.csv")
    shop, unreadable = for_reading("the export"), ""
    books, now = shop.books, shop.clock()
    books.record_export(period, system_user())
    try:
        _write(books, period, chosen, delimiter)
    except UnreadableBookings as error:
        unreadable = f"UNREADABLE: {error}"
    sums = books.sums(period)
    for line in (*_totals(period, sums), *_notes(sums, books.is_closed(period, now)), unreadable):
        click.echo(visible(line), err=True, nl=bool(line))
    sys.exit(bool(unreadable))


def _require_delimiter(delimiter: str | None, form: Format) -> None:
    if delimiter is None:
        return
    if form is not Format.ACCOUNTING:
        raise click.UsageError("--delimiter is for --format accounting only.")
    # A program cannot read a control character, or half of one, as a delimiter, except for the tab.
    is_mark = len(delimiter) == 1 and (delimiter.isprintable() or delimiter == "\t")
    if not is_mark or delimiter.isalnum() or delimiter in "\"'.-+":
        raise click.BadParameter(
            "it must be one character that no number has, such as ; , or a tab", param_hint="--delimiter"
        )


def _write(books: Books, period: Period, form: Format, delimiter: str | None) -> None:
    """Write an export to standard output; with a progress bar, unless standard output is a terminal."""
    out = sys.stdout.buffer
    count = (lambda: 0) if sys.stdout.isatty() else lambda: books.count(period)
    with progress_bar("Exporting", count) as update:
        for part in books.text(period, form, update, delimiter):
            out.write(part.encode())
        # Flush now, so that a full disk or a closed pipe is noticed before totals are printed.
        out.flush()


def _totals(period: Period, period_sums: Sums) -> Iterator[str]:
    """The table of totals."""
    rows = [["account", "currency", *TOTALS]]
    for (account, currency), sums in sorted(period_sums.totals.items()):
        rows.append([account or "(settings)", currency, *(f"{sums[name]:f}" for name in TOTALS)])
    yield f"{number(period_sums.lines, 'line', 'lines')} from {period.text}"
    if len(rows) > 1:
        yield from (f"  {line}" for line in table_lines(rows, left=2))


def _notes(sums: Sums, is_closed: bool) -> Iterator[str]:
    if incomplete := sums.incomplete:
        yield f"INCOMPLETE: {incomplete} of the lines lack an amount, fee or currency that the service left out."
    if not is_closed:
        yield (
            "NOT CLOSED: movements may still be stored in this period. Export it again some minutes after its end,"
            " when no transaction of that time is open any more."
        )


@paycheckout.command(short_help="List who viewed, decided, approved, exported and erased what.")
@time_options
@json_option
def deeds(start: str | None, end: str | None, as_json: bool) -> None:
    """List the deeds of people, oldest first, with the door that each came through: page, command or call.

    Exit code 0: listed. 2: the dates cannot be used.
    """
    period = read_period(start, end)
    shop = for_reading("the deeds")
    listed = deeds_of(shop.engine(), shop.models, period)
    print_each(as_json, (deed._asdict() for deed in listed), map(_deed_line, listed))


def _deed_line(deed: Deed) -> str:
    why = f": {deed.why}" if deed.why else ""
    door = f"{deed.through} of {deed.system_user}" if deed.system_user else deed.through
    return visible(f"{moment_text(deed.at)}  {deed.by} {deed.deed} {deed.subject} ({door}){why}")


@paycheckout.command(short_help="Erase what is stored about the persons of an order.")
@click.argument("order_id")
@click.option("--dry-run", is_flag=True, help="Only tell what would be erased.")
@decision_options
@json_option
def erase(order_id: str, by: str, why: str, dry_run: bool, as_json: bool) -> None:
    """Erase names, masked destinations, notes and reasons of an order; the money and the books stay as they are.

    Recipients that were made of what a customer typed are deleted at the service. The reference of a payout or refund,
    in place of the order's id, erases what is stored about its receiver.

    Exit code 0: erased, or counted. 1: nothing is stored about it, or something must stay for now; erase again later.
    2: an argument cannot be used.
    """
    erasing = for_writing("erase()").erasing
    with usable():
        erased = erasing.erase(order_id, None, by, why, dry_run=dry_run)
        if not erased.found and (of_payout := erasing.erase(None, order_id, by, why, dry_run=dry_run)).found:
            erased = of_payout
    facts, verb = asdict(erased), "Would erase" if dry_run else "Erased"
    counts = {name: facts[name] for name in ("checkouts", "payouts", "recipients")}
    kept = (f"KEPT: {subject}: {reason}" for subject, reason in erased.kept.items())
    done = f"{verb} the persons of {order_id}: {counts_text(counts)}."
    print_facts(as_json, facts, done if erased.found else f"Nothing is stored about {order_id}.", *kept)
    sys.exit(bool(erased.kept) or not erased.found)


@paycheckout.command(short_help="Remove old histories, delivered events and abandoned checkouts.")
@click.option(
    "--older-than",
    "days",
    type=click.IntRange(1, _MOST_DAYS),
    metavar="DAYS",
    help="Only what was decided and delivered more than so many days ago; PAYCHECKOUT_PRUNE_AFTER if left out.",
)
@click.option("--dry-run", is_flag=True, help="Only count what would be removed.")
@json_option
def prune(days: int | None, dry_run: bool, as_json: bool) -> None:
    """Remove what is decided, delivered and old; the books stay as they are.

    Histories and delivered events go first; the deeds of people stay. An abandoned checkout goes as a
    whole when no payment method was ever picked, and no link to its order can be valid any more. Whatever has money, or
    could still get some, stays; so does every payout.

    Runs beside the shop, in short transactions. It can be stopped and repeated safely.

    Exit code 0: removed, or counted.
    """
    age = runtime().settings.prune_after if days is None else timedelta(days=days)
    if age is None:
        raise click.UsageError("Say how old with --older-than DAYS, or set PAYCHECKOUT_PRUNE_AFTER.")
    pruned = for_writing("prune()").pruning.run(age, dry_run=dry_run)
    facts, verb = asdict(pruned), "Would remove" if dry_run else "Removed"
    counts = {name: count for name, count in facts.items() if name not in ("before", "dry_run")}
    print_facts(as_json, facts, f"{verb} what ended before {moment_text(pruned.before)}: {counts_text(counts)}.")
