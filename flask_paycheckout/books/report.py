"""The state of all payments of the shop at one moment: the report for people, and the figures for monitoring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Table, func, select

from flask_paycheckout.books import (  # noqa: F401 - they register their alarms
    order_alarms,
    payment_alarms,
    payout_alarms,
    service_alarms,
)
from flask_paycheckout.books.alarms import REGISTERED, Alarm, AlarmContext, Severity, Waiting, count_waiting
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.database.connections import read_rows
from flask_paycheckout.errors import payout_status_text
from flask_paycheckout.payouts.payout_states import PayoutStatus
from flask_paycheckout.text import moment_text, plain, table_lines, visible

# The maximum numbers of examples and accounts that the text lists; JSON has more.
_EXAMPLES, _ACCOUNTS = 10, 100
Counts = dict[str | None, dict[str, int]]
"""The counts by account and state; None stands for all accounts that are not listed."""


@dataclass(frozen=True)
class AccountCounts:
    """The checkouts and payouts of one merchant account."""

    account: str
    """The account's name; "" for the account of the settings."""

    checkouts: dict[str, int]
    """The number of checkouts in each state, zeros included."""

    payouts: dict[str, int]
    """The number of payouts and refunds in each state, zeros included."""


@dataclass(frozen=True)
class Report:
    """The state of all payments at one moment."""

    at: datetime
    account: str | None
    """The merchant account that this report is limited to; None if it covers all."""

    alarms: tuple[Alarm, ...]
    """The alarms, the most urgent first, and among equally urgent ones the oldest first."""

    checkouts: dict[str, int]
    """The number of checkouts in each state, zeros included."""

    payouts: dict[str, int]
    """The number of payouts and refunds in each state, zeros included."""

    accounts: tuple[AccountCounts, ...]
    """The counts of each account; empty for a shop that uses only the account of the settings."""

    least: Severity
    """The mildest severity whose alarms are listed."""

    @property
    def exit_code(self) -> int:
        """2 if somebody must act on an alarm now, 1 if today, otherwise 0."""
        return 2 - self.alarms[0].severity.rank if self.alarms else 0

    def as_dict(self) -> dict[str, Any]:
        """Convert to JSON-ready values, with times as ISO 8601 text."""
        return {**plain(asdict(self)), "alarms": [alarm.as_dict() for alarm in self.alarms]}


def report(context: AlarmContext, least: Severity = Severity.NOTE) -> Report:
    """Report on all payments and payouts, from the stored rows alone; the service is not called.

    :param least: only alarms that are at least as urgent.
    """
    account = context.account
    names = context.merchants.names() if account is None else [account]
    checkouts = _count(context, context.models.checkouts, Status, names)
    payouts = _count(context, context.models.payouts, PayoutStatus, names)
    listed = names if account is not None or any(names) else []
    accounts = tuple(AccountCounts(name, checkouts[name], payouts[name]) for name in listed)
    alarms = tuple(alarm for alarm in find_alarms(context) if alarm.severity.rank <= least.rank)
    sums = _sums(checkouts, Status), _sums(payouts, PayoutStatus)
    return Report(context.now, account, alarms, *sums, accounts, least)


def _count(context: AlarmContext, table: Table, states: type[StrEnum], listed: Sequence[str]) -> Counts:
    """Count the rows of a table by account and status, every state by its name.

    :param listed: the accounts that are counted separately.
    """
    c, zeros = table.c, dict.fromkeys(map(str, states), 0)
    rows = select(c.account, c.status, func.count()).where(*context.of_account(c.account)).group_by(c.account, c.status)
    # Include zeros for the account of the settings before its first row, so that alerts find it.
    counts: Counts = {of_account: dict(zeros) for of_account in ("", *listed)}
    for name, status, count in read_rows(context.engine, rows):
        of_account = counts.setdefault(name if name in listed else None, dict(zeros))
        of_account[status] = of_account.get(status, 0) + count
    return counts


def _sums(counts: Counts, states: type[StrEnum]) -> dict[str, int]:
    return {state.value: sum(of_account[state] for of_account in counts.values()) for state in states}


def find_alarms(context: AlarmContext) -> tuple[Alarm, ...]:
    """All alarms, the most urgent first, and among equally urgent ones the oldest first."""
    waiting, lasting = dict[str, Waiting](), dict[str, Iterable[Alarm]]()
    for name, kind in REGISTERED.items():
        alarms_or_rows = kind.find(context)
        if isinstance(alarms_or_rows, Waiting):
            waiting[name] = alarms_or_rows if context.account is None else alarms_or_rows.of(context.account)
        else:
            lasting[name] = alarms_or_rows
    for name, count, *figures in count_waiting(context.engine, waiting):
        if count:
            lasting[name] = [waiting[name].alarm(context, count, *figures)]
    alarms = (
        replace(alarm, kind=name, severity=Severity.NOTE if alarm.is_note else kind.severity, page=kind.page)
        for name, alarms in lasting.items()
        for kind in [REGISTERED[name]]
        for alarm in alarms
    )
    return tuple(sorted(alarms, key=lambda alarm: (alarm.severity.rank, alarm.since, alarm.key)))


@dataclass(frozen=True)
class Gauges:
    """The figures of one moment."""

    checkouts: Counts
    payouts: Counts
    alarms: Mapping[tuple[str, Severity], int]
    """The number of rows that each alarm counts, by kind and severity; zeros included."""


def read_gauges(context: AlarmContext, accounts: int | Sequence[str]) -> Gauges:
    """Read the figures from the stored rows.

    :param accounts: the merchant accounts to list, or their maximum number.
    """
    names = context.merchants.names(accounts) if isinstance(accounts, int) else accounts
    alarms = Counter({(name, kind.severity): 0 for name, kind in REGISTERED.items()})
    for alarm in find_alarms(context):
        alarms[alarm.kind, alarm.severity] += alarm.count
    return Gauges(
        _count(context, context.models.checkouts, Status, names),
        _count(context, context.models.payouts, PayoutStatus, names),
        alarms,
    )


def report_lines(report: Report) -> Iterator[tuple[Severity | None, str]]:
    """The report's lines for people, with control characters escaped; the first line of an alarm has its severity."""
    for severity, line in _lines(report):
        yield severity, visible(line)


def _lines(report: Report) -> Iterator[tuple[Severity | None, str]]:
    of = f" of account {report.account}" if report.account else ""
    counted = ", ".join(f"{count} {state}" for state, count in report.checkouts.items())
    yield None, f"Checkouts{of} at {moment_text(report.at)}: {counted}."
    if any(report.payouts.values()):
        stand = [f"{payout_status_text(state)} {count}" for state, count in report.payouts.items() if count]
        yield None, f"Payouts{of}: {', '.join(each.removeprefix('is ') for each in stand)}."
    if report.account is None and report.accounts:
        yield from ((None, line) for line in ("", *_account_lines(report)))
    if not report.exit_code:
        yield None, f"Nothing needs a person{' at once' if report.least is Severity.NOW else ''}."
    if report.alarms:
        yield None, ""
        yield None, f"{'':5}  {'SINCE':20}  {'COUNT':>6}  WHAT"
    for alarm in report.alarms:
        yield from _alarm_lines(alarm)


def _account_lines(report: Report) -> Iterator[str]:
    """A table of the accounts, with a column for each state that any of them has."""
    of_payouts = [state for state, count in report.payouts.items() if count]
    states = [state for state, count in report.checkouts.items() if count]
    rows = [["account", *states, *(f"payouts {state}" for state in of_payouts)]]
    for counts in report.accounts[:_ACCOUNTS]:
        numbers = [counts.checkouts[state] for state in states] + [counts.payouts[state] for state in of_payouts]
        rows.append([counts.account or "(settings)", *map(str, numbers)])
    yield from table_lines(rows, left=1)
    if len(report.accounts) > _ACCOUNTS:
        yield "... and more; see one with: flask paycheckout report --account NAME"


def _alarm_lines(alarm: Alarm) -> Iterator[tuple[Severity | None, str]]:
    yield alarm.severity, f"{alarm.severity.upper():5}  {moment_text(alarm.since)}  {alarm.count:6}  {alarm.what}"
    for example in alarm.examples[:_EXAMPLES]:
        yield None, f"       {example}"
    listed = min(len(alarm.examples), _EXAMPLES)
    if listed and alarm.count > listed and all(example.order_id or example.reference for example in alarm.examples):
        yield None, f"       ... and {alarm.count - listed} more"
    for remedy in alarm.remedies:
        yield None, f"    -> {remedy}"
