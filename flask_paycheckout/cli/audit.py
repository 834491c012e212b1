"""The command that compares the shop's rows with the service."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict

import click

from flask_paycheckout.books.audit.audit import Audit
from flask_paycheckout.books.audit.findings import Finding, Verdict
from flask_paycheckout.books.audit.reading import Stopped
from flask_paycheckout.books.audit.results import AuditResult, store_audit
from flask_paycheckout.cli import paycheckout
from flask_paycheckout.cli.options import counted, period_options, progress_bar, read_period, tell_each, until_stopped
from flask_paycheckout.runtime import for_reading
from flask_paycheckout.text import visible


@paycheckout.command(short_help="Compare payments, payouts and the books with the service.")
@period_options
@click.option("--keep", is_flag=True, help="Keep how many agree and differ, for the owner's page of the month.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of everything that was compared.")
def audit(start: str | None, end: str | None, account: str | None, keep: bool, as_json: bool) -> None:
    """Read deposits and disbursements again, and name what does not agree with the shop's rows, or with the books.

    Changes nothing, neither here nor at the service, but for what --keep stores. The service is not asked about payouts
    in tokens, since it does not show them again; their number is printed.

    Exit code 0: everything agrees. 1: something does not, could not be read, or is left to do. 2: an option cannot be
    used.
    """
    period = read_period(start, end, account)
    counts: Counter[Verdict] = Counter()
    notes: list[str] = []
    with until_stopped() as stopped:
        shop = for_reading("the audit")
        began = shop.clock()
        compared = Audit(shop, period, stopped, shop.merchants, shop.payout_calls, shop.settlement.reading)
        found = _told(compared, counts, notes, everything=as_json)
        tell_each(as_json, map(asdict, found), map(str, found))
    found_of = {str(verdict): counts[verdict] for verdict in Verdict}
    if not as_json:
        click.echo(f"compared {counts.total()}: {counted(found_of)}")
    for note in notes:
        click.echo(visible(note), err=True)
    done = not stopped.is_set()
    if done and keep:
        store_audit(shop.engine(), shop.models.services, AuditResult(began, compared.rows.period, found_of))
    raise SystemExit(0 if done and set(counts) <= {Verdict.AGREED} else 1)


def _told(compared: Audit, counts: Counter[Verdict], notes: list[str], *, everything: bool) -> Iterator[Finding]:
    """Run an audit and yield its findings as they come, of those that agree only where `everything` is told.

    :param counts: counts all findings.
    :param notes: gets sentences for the end.
    """
    with progress_bar("Reading the service", compared.count) as update:
        try:
            for findings in compared.run():
                for finding in findings:
                    counts[finding.verdict] += 1
                    if everything or finding.verdict is not Verdict.AGREED:
                        if update is not None:
                            # Take the bar off the line.
                            click.echo("\r\x1b[K", nl=False, err=True)
                        yield finding
                if update is not None:
                    update(len(findings))
        except Stopped:
            notes.append("It was stopped before everything was compared. Compare the rest with --from and --to.")
            return
    if tokens := compared.rows.count(compared.rows.payouts(tokens=True)):
        notes.append(
            f"Left out of payouts in tokens, which the service does not show again: {tokens}."
            " Compare them with the chain or with its dashboard."
        )
