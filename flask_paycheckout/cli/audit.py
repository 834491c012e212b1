"""The command that compares the shop's rows with the service."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import click
from flask.cli import with_appcontext

from flask_paycheckout.books.audit.audit import Audit
from flask_paycheckout.books.audit.findings import Finding, Verdict
from flask_paycheckout.books.audit.reading import Reads, Stopped
from flask_paycheckout.books.audit.results import AuditResult, store_audit
from flask_paycheckout.books.audit.rows import AuditRows, Scope
from flask_paycheckout.books.periods import Period
from flask_paycheckout.cli.group import paycheckout
from flask_paycheckout.cli.options import period_options, read_period
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
    runtime().for_reading("the audit")
    with _JsonOutput() if as_json else _TextOutput() as output, _until_stopped() as stopped:
        done = _run(compared := _audit(period, stopped), output)
    if done and keep:
        shop, counts = runtime(), {verdict.value: output.counts[verdict] for verdict in Verdict}
        result = AuditResult(shop.clock(), period.start, compared.rows.scope.until, period.account, counts)
        store_audit(shop.engine(), shop.models.services, period, result)
    raise SystemExit(0 if done and output.agrees else 1)


def _run(compared: Audit, output: _Output) -> bool:
    """Run an audit, and print its findings as they come; whether it came to its end."""
    try:
        with _progress(compared, output) as advance:
            for findings, count in compared.run():
                for finding in findings:
                    output.add(finding)
                advance(count)
    except Stopped:
        output.notes.append("It was stopped before everything was compared. Compare the rest with --from and --to.")
        return False
    tokens = compared.rows.count(compared.rows.tokens)
    if tokens:
        output.notes.append(
            f"Left out: {tokens} payouts in tokens, which the service does not show again. Compare them with the chain"
            " or with its dashboard."
        )
    return True


def _audit(period: Period, stopped: threading.Event) -> Audit:
    shop = runtime()
    # The end is not included, but this very moment is.
    now = shop.clock() + timedelta(microseconds=1)
    scope = Scope(period.start, now if period.end is None else min(period.end, now), period.account)
    pending = shop.settings.pending_for
    longest = max(pending.values()) if not isinstance(pending, timedelta) else pending
    # The other half of the readers is for reconcile, which runs beside it.
    readers = max(1, shop.settings.reconcile_readers // 2)
    return Audit(
        AuditRows(shop.engine, shop.models, scope, longest + shop.settings.watch_for),
        scope,
        Reads(readers, stopped.is_set),
        shop.accounts,
        shop.payout_calls,
        shop.settlement.reading,
        shop.clock,
    )


# What is printed


class _Output:
    """Prints findings, and counts them."""

    def __init__(self) -> None:
        self.counts: Counter[Verdict] = Counter()
        self.notes: list[str] = []
        """Sentences for the end, on standard error."""

        self.clear: Callable[[], object] = lambda: None
        """Takes a progress bar off the line."""

    def __enter__(self) -> _Output:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self.end()
        for note in self.notes:
            click.echo(visible(note), err=True)

    @property
    def agrees(self) -> bool:
        """Whether everything agrees so far."""
        return set(self.counts) <= {Verdict.AGREED}

    def add(self, finding: Finding) -> None:
        self.counts[finding.verdict] += 1
        self.show(finding)

    def show(self, finding: Finding) -> None:
        """Print a finding."""

    def end(self) -> None:
        """Print what stands at the end."""


class _TextOutput(_Output):
    def __init__(self) -> None:
        super().__init__()
        self._unreadable: Counter[str] = Counter()

    def show(self, finding: Finding) -> None:
        if finding.verdict is Verdict.AGREED:
            return
        if finding.verdict is Verdict.UNREADABLE:
            self._unreadable[finding.account] += 1
            if self._unreadable[finding.account] > _MOST_UNREADABLE:
                return
        self.clear()
        click.echo(str(finding))

    def end(self) -> None:
        self.clear()
        for account, count in self._unreadable.items():
            if count > _MOST_UNREADABLE:
                more = f"unreadable: {count - _MOST_UNREADABLE} more{account_text(account)}; --json names all"
                click.echo(visible(more))
        counted = ", ".join(f"{verdict} {self.counts[verdict]}" for verdict in Verdict)
        click.echo(f"compared {self.counts.total()}: {counted}")


class _JsonOutput(_Output):
    """One list, written element by element."""

    def show(self, finding: Finding) -> None:
        self.clear()
        click.echo(("[" if self.counts.total() == 1 else ",\n ") + json.dumps(finding.as_dict()), nl=False)

    def end(self) -> None:
        self.clear()
        click.echo("]" if self.counts else "[]")


@contextmanager
def _progress(compared: Audit, output: _Output) -> Iterator[Callable[[int], object]]:
    """Show a progress bar with the time left on a terminal."""
    if not sys.stderr.isatty() or not (length := compared.count()):
        yield lambda more: None
        return
    with click.progressbar(length=length, label="Reading the service", show_pos=True, file=sys.stderr) as bar:
        output.clear = lambda: click.echo("\r\x1b[K", nl=False, err=True)
        try:
            yield bar.update
        finally:
            output.clear = lambda: None


@contextmanager
def _until_stopped() -> Iterator[threading.Event]:
    """Yield an event that the first SIGINT or SIGTERM sets; a second one ends the process as usual."""
    stopped = threading.Event()
    before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def stop(number: int, frame: object) -> None:
        stopped.set()
        signal.signal(number, before[number])

    for number in before:
        signal.signal(number, stop)
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
