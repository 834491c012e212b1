"""The command that compares the shop's rows with the service."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from threading import Event

import click

from flask_paycheckout.books.audit.audit import Audit
from flask_paycheckout.books.audit.findings import Finding, Verdict
from flask_paycheckout.books.audit.reading import Reads, Stopped
from flask_paycheckout.books.periods import Period
from flask_paycheckout.cli import paycheckout
from flask_paycheckout.cli.options import (
    counts_text,
    period_options,
    print_each,
    progress_bar,
    read_period,
    until_stopped,
    usable,
)
from flask_paycheckout.runtime import for_reading, for_writing
from flask_paycheckout.text import visible


@paycheckout.command(short_help="Compare payments, payouts and the books with the service.")
@period_options
@click.option("--month", metavar="YYYY-MM", help="Compare a closed month again, for the page Books and its alarm.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of everything that was compared.")
def audit(start: str | None, end: str | None, account: str | None, month: str | None, as_json: bool) -> None:
    """Read deposits and disbursements again, and name what does not agree with the shop's rows, or with the books.

    Changes nothing, neither here nor at the service. With --month it reads what differs again, so that payments and
    payouts are settled by what the service says now, and keeps the result. The service is not asked about payouts in
    tokens, since it does not show them again; their number is printed.

    Exit code 0: everything agrees. 1: something does not, could not be read, or is left to do. 2: an option cannot be
    used.
    """
    if month is not None:
        if start or end or account is not None:
            raise click.UsageError("--month is used without --from, --to and --account.")
        raise SystemExit(_compare_month(month, as_json))
    period = read_period(start, end, account)
    with until_stopped() as stopped:
        raise SystemExit(_compare_period(period, stopped, as_json))


def _compare_month(month: str, as_json: bool) -> int:
    with usable("month"):
        result = for_writing("the audit of a month").month_audits.compare(month)
    if result is None:
        raise click.ClickException("The service does not answer. reconcile goes on with it.")
    findings = result.findings
    print_each(as_json, map(asdict, findings), map(str, findings))
    if not as_json:
        counts = {"agreed": result.found.agreed, "differing": result.found.differing}
        click.echo(f"compared {result.found.total}: {counts_text(counts)}")
    return int(result.found.differing > 0)


def _compare_period(period: Period, stopped: Event, as_json: bool) -> int:
    shop, counts, notes = for_reading("the audit"), Counter[Verdict](), list[str]()
    # The other half of the readers is left to reconcile, which runs at the same time.
    reads = Reads(max(1, shop.settings.reconcile_readers // 2), stopped)
    audit = shop.make(Audit, asked=period, reads=reads)
    findings = _findings(audit, counts, notes, everything=as_json)
    print_each(as_json, map(asdict, findings), map(str, findings))
    if not as_json:
        click.echo(f"compared {counts.total()}: {counts_text({str(verdict): counts[verdict] for verdict in Verdict})}")
    for note in notes:
        click.echo(visible(note), err=True)
    return 0 if not stopped.is_set() and set(counts) <= {Verdict.AGREED} else 1


def _findings(audit: Audit, counts: Counter[Verdict], notes: list[str], *, everything: bool) -> Iterator[Finding]:
    """Run an audit and yield its findings as they come; agreements only if `everything` is set.

    :param counts: counts all findings.
    :param notes: receives sentences to print at the end.
    """
    with progress_bar("Reading the service", audit.count) as update:
        try:
            for _, findings in audit.run():
                for finding in findings:
                    counts[finding.verdict] += 1
                    if everything or finding.verdict is not Verdict.AGREED:
                        if update is not None:
                            # Erase the progress bar from the line.
                            click.echo("\r\x1b[K", nl=False, err=True)
                        yield finding
                if update is not None:
                    update(len(findings))
        except Stopped:
            notes.append("It was stopped before everything was compared. Compare the rest with --from and --to.")
            return
    if tokens := audit.rows.count(audit.rows.payouts(tokens=True)):
        notes.append(
            f"Left out of payouts in tokens, which the service does not show again: {tokens}."
            " Compare them with the chain or with its dashboard."
        )
