"""The command that compares the shop's rows with the service."""

from __future__ import annotations

import json
from collections import Counter

import click
from flask.cli import with_appcontext

from flask_paycheckout.books.audit.audit import Audit
from flask_paycheckout.books.audit.findings import Finding, Verdict
from flask_paycheckout.books.audit.reading import Stopped
from flask_paycheckout.books.audit.results import AuditResult, store_audit
from flask_paycheckout.cli import paycheckout
from flask_paycheckout.cli.options import period_options, progress_bar, read_period, until_stopped
from flask_paycheckout.runtime import runtime
from flask_paycheckout.text import account_text, visible

# Of an account that cannot be read, people need not see every deposit.
_MOST_UNREADABLE = 20


@paycheckout.command(short_help="Compare payments, payouts and the books with the service.")
@period_options
@click.option("--keep", is_flag=True, help="Keep how many agree and differ, for the owner's page of the month.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of everything that was compared.")
@with_appcontext
def audit(start: str | None, end: str | None, account: str | None, keep: bool, as_json: bool) -> None:
    """Read deposits and disbursements again, and name what does not agree with the shop's rows, or with the books.

    Changes nothing, neither here nor at the service, but for what --keep stores. The service is not asked about payouts
    in tokens, since it does not show them again; their number is printed.

    Exit code 0: everything agrees. 1: something does not, could not be read, or is left to do. 2: an option cannot be
    used.
    """
    period = read_period(start, end, account)
    output = _Output(as_json)
    with until_stopped() as stopped:
        shop = runtime().for_reading("the audit")
        compared = Audit(shop.parts, period, stopped.is_set, shop.accounts, shop.payout_calls, shop.settlement.reading)
        done = _run(compared, output)
    output.end()
    if done and keep:
        counts = {verdict.value: output.counts[verdict] for verdict in Verdict}
        result = AuditResult(
            shop.clock(), period.start, compared.rows.period.end or shop.clock(), period.account, counts
        )
        store_audit(shop.engine(), shop.models.services, period, result)
    raise SystemExit(0 if done and output.agrees else 1)


def _run(compared: Audit, output: _Output) -> bool:
    """Run an audit, and print its findings as they come; whether it came to its end."""
    try:
        with progress_bar("Reading the service", compared.count) as bar:
            for findings in compared.run():
                for finding in findings:
                    output.add(finding, over_bar=bar is not None)
                if bar is not None:
                    bar.update(len(findings))
    except Stopped:
        output.notes.append("It was stopped before everything was compared. Compare the rest with --from and --to.")
        return False
    if tokens := compared.rows.count(compared.rows.payouts(tokens=True)):
        output.notes.append(
            f"Left out: {tokens} payouts in tokens, which the service does not show again. Compare them with the chain"
            " or with its dashboard."
        )
    return True


class _Output:
    """Prints findings as text, or as one JSON list, and counts them."""

    def __init__(self, as_json: bool) -> None:
        self.counts: Counter[Verdict] = Counter()
        self.notes: list[str] = []
        """Sentences for the end, on standard error."""

        self._as_json = as_json
        self._unreadable: Counter[str] = Counter()

    @property
    def agrees(self) -> bool:
        """Whether everything agrees so far."""
        return set(self.counts) <= {Verdict.AGREED}

    def add(self, finding: Finding, *, over_bar: bool = False) -> None:
        """Count a finding, and print it.

        :param over_bar: whether a progress bar has to be taken off the line before.
        """
        self.counts[finding.verdict] += 1
        self._unreadable[finding.account] += finding.verdict is Verdict.UNREADABLE
        told = json.dumps(finding.as_dict()) if self._as_json else self._text(finding)
        if told is None:
            return
        if over_bar:
            click.echo("\r\x1b[K", nl=False, err=True)
        comma = ("[" if self.counts.total() == 1 else ",\n ") if self._as_json else ""
        click.echo(comma + told, nl=not self._as_json)

    def _text(self, finding: Finding) -> str | None:
        agrees, unreadable = finding.verdict is Verdict.AGREED, finding.verdict is Verdict.UNREADABLE
        too_many = unreadable and self._unreadable[finding.account] > _MOST_UNREADABLE
        return None if agrees or too_many else str(finding)

    def end(self) -> None:
        """Print what stands at the end."""
        if self._as_json:
            click.echo("]" if self.counts else "[]")
        else:
            for account, count in self._unreadable.items():
                if count > _MOST_UNREADABLE:
                    more = f"unreadable: {count - _MOST_UNREADABLE} more{account_text(account)}; --json names all"
                    click.echo(visible(more))
            counted = ", ".join(f"{verdict} {self.counts[verdict]}" for verdict in Verdict)
            click.echo(f"compared {self.counts.total()}: {counted}")
        for note in self.notes:
            click.echo(visible(note), err=True)
