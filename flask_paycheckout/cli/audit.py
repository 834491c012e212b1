"""The command that compares the shop's rows with the service."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click
from flask.cli import with_appcontext

from flask_paycheckout.cli.accounts import known_account
from flask_paycheckout.cli.group import paycheckout
from flask_paycheckout.cli.periods import read_moment, require_period
from flask_paycheckout.clock import as_utc
from flask_paycheckout.operations.app import operations
from flask_paycheckout.reports.audit.audit import FIRST, Audit, Batch, ServiceDown
from flask_paycheckout.reports.audit.findings import Finding, Verdict
from flask_paycheckout.reports.audit.reading import Reads, Stopped
from flask_paycheckout.reports.audit.results_file import ResultsFile, UnusableFile
from flask_paycheckout.reports.audit.rows import AuditRows, Scope
from flask_paycheckout.rules.text import account_text, visible
from flask_paycheckout.runtime import runtime

# Of an account that cannot be read, people need not see every deposit.
_MOST_UNREADABLE = 20
# With more rows than this an audit takes minutes.
_LONG = 5000


@paycheckout.command(short_help="Compare all payments and payouts with the service.")
@click.option(
    "--from",
    "since",
    metavar="DATE",
    callback=read_moment,
    help="The beginning of the period; default: the first payment.",
)
@click.option(
    "--to", "until", metavar="DATE", callback=read_moment, help="The end of the period, not included; default: now."
)
@click.option("--account", metavar="NAME", help="Only this merchant account; '' is the one of the settings.")
@click.option(
    "--resume",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep the findings in FILE; repeat the command with it to go on after a stop.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of everything that was compared.")
@with_appcontext
def audit(
    since: datetime | None, until: datetime | None, account: str | None, file: Path | None, as_json: bool
) -> None:
    """Read deposits and disbursements again, and name what does not agree with the shop's rows.

    Changes nothing, neither here nor at the service. Dates and times are UTC. Payouts in tokens are left out, since the
    service does not show them again; their number is printed.

    With --resume FILE an audit that was stopped, killed, or ended by an outage goes on when the command is repeated
    with the same FILE, with or without the other options. A finished one is printed again from the file.

    Exit code 0: everything agrees. 1: something does not, could not be read, or is left to do. 2: an option cannot be
    used.
    """
    require_period(since, until)
    if since is not None and since > runtime().clock():
        raise click.UsageError("--from must be before now.")
    account = known_account(account)
    operations().allow_reading("the audit")
    with ExitStack() as opened:
        kept = None if file is None else opened.enter_context(_opened(file))
        asked = {"from": _text(since), "to": _text(until), "account": account}
        begun: Mapping[str, Any] | None = None if kept is None else kept.about
        if begun is None:
            # The end is not included, but this very moment is.
            started = runtime().clock() + timedelta(microseconds=1)
            begun = asked | {"started": started.isoformat()}
            if kept is not None:
                kept.begin(begun)
        elif any(asked.values()) and asked != {name: begun[name] for name in asked}:
            raise click.BadParameter(_other_audit(begun), param_hint="--resume")
        output = opened.enter_context(_JsonOutput() if as_json else _TextOutput())
        stopped = opened.enter_context(_until_stopped())
        done = _run(_audit(begun, stopped, goes_on_later=kept is not None), kept, output)
    raise SystemExit(0 if done and output.agrees else 1)


def _run(compared: Audit, kept: ResultsFile | None, output: _Output) -> bool:
    """Run an audit, and print its findings as they come; whether it came to its end."""
    place = FIRST
    if kept is not None:
        place = kept.place
        for finding in kept.findings():
            compared.remember(finding)
            output.add(finding)
    try:
        with _progress(compared, kept, output) as advance:
            for batch in compared.run(place):
                if kept is not None:
                    _keep(kept, batch)
                for finding in batch.findings:
                    output.add(finding)
                advance(batch.compared)
    except Stopped:
        output.notes.append(_not_finished("It was stopped", kept))
        return False
    except ServiceDown as error:
        output.notes.append(_not_finished(f"The service does not answer ({error})", kept))
        return False
    tokens = compared.rows.count_tokens()
    if tokens:
        output.notes.append(
            f"Left out: {tokens} payouts in tokens, which the service does not show again. Compare them with the chain"
            " or with its dashboard."
        )
    return True


def _audit(begun: Mapping[str, Any], stopped: threading.Event, *, goes_on_later: bool) -> Audit:
    shop = runtime()
    started = datetime.fromisoformat(begun["started"])
    until = _moment(begun["to"])
    scope = Scope(_moment(begun["from"]), started if until is None else min(until, started), begun["account"])
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
        goes_on_later=goes_on_later,
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
def _progress(compared: Audit, kept: ResultsFile | None, output: _Output) -> Iterator[Callable[[int], object]]:
    """Show a progress bar with the time left on a terminal."""
    if not sys.stderr.isatty() or not (length := compared.rows.count()):
        yield lambda more: None
        return
    if length > _LONG and kept is None:
        click.echo(f"{length} reads take a while. With --resume FILE an audit can go on after a stop.", err=True)
    with click.progressbar(length=length, label="Reading the service", show_pos=True, file=sys.stderr) as bar:
        bar.update(0 if kept is None else kept.compared)
        output.clear = lambda: click.echo("\r\x1b[K", nl=False, err=True)
        try:
            yield bar.update
        finally:
            output.clear = lambda: None


def _not_finished(why: str, kept: ResultsFile | None) -> str:
    if kept is None:
        return f"{why} before everything was compared. An audit with --resume FILE can go on after a stop."
    return f"{why} before everything was compared. Repeat the command with the same FILE to go on."


def _other_audit(begun: Mapping[str, Any]) -> str:
    period = f"from {begun['from'] or 'the first payment'} to {begun['to'] or begun['started']}"
    of = "of all accounts" if begun["account"] is None else f"of account {begun['account']!r}"
    remedy = "Leave the other options out to go on with it, or give another file"
    return f"the file is of another audit: {period}, {of}. {remedy}"


# The file and the signals


def _keep(kept: ResultsFile, batch: Batch) -> None:
    try:
        kept.add(batch)
    except OSError as error:
        remedy = "Make room, and repeat the command with the same FILE to go on."
        raise click.ClickException(visible(f"the findings cannot be kept: {error}. {remedy}")) from None


@contextmanager
def _opened(file: Path) -> Iterator[ResultsFile]:
    try:
        kept = ResultsFile(file)
    except (UnusableFile, OSError) as error:
        raise click.BadParameter(visible(str(error)), param_hint="--resume") from None
    with kept:
        yield kept


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


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _moment(text: str | None) -> datetime | None:
    return None if text is None else as_utc(datetime.fromisoformat(text))
