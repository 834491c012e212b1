"""The state of the shop in figures, for monitoring: counts by state and account, what waits, and the alarms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from sqlalchemy import Connection, Table, case, func, literal_column, select

from flask_paycheckout.books.account_names import stored_accounts
from flask_paycheckout.books.alarms import REGISTERED, Look, Severity
from flask_paycheckout.books.report import find_alarms
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.clock import as_utc
from flask_paycheckout.payouts.payout_states import PayoutStatus

__all__ = ["Counts", "Gauges", "read_gauges"]

Counts = Mapping[tuple[str | None, str], int]
"""By account and state; None stands for all accounts that are not listed."""

# Before any time that is stored.
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Gauges:
    """The figures of one moment."""

    at: datetime
    checkouts: Counts
    payouts: Counts
    undelivered: int
    """The number of events that wait for delivery."""

    undelivered_seconds: float
    """The seconds since the oldest of them happened; 0 without any."""

    due_read_seconds: float
    """The seconds for which the longest waiting read has been due; 0 when none is due."""

    alarms: Mapping[tuple[str, Severity], int]
    """By kind and severity, how many things each alarm counts; zeros included."""


def read_gauges(look: Look, accounts: int | Sequence[str]) -> Gauges:
    """Read the figures from the stored rows.

    :param accounts: the merchant accounts that are listed, or how many of them.
    """
    models = look.models
    events, due = models.events.c, models.checkouts.c.next_read_at
    with look.engine.connect() as connection:
        listed = stored_accounts(connection, models, accounts) if isinstance(accounts, int) else accounts
        checkouts = _counts(connection, models.checkouts, listed, Status)
        payouts = _counts(connection, models.payouts, listed, PayoutStatus)
        # A range, along which SQLite reads the index; for "is not NULL" it could read all events.
        waiting = select(func.count(), func.min(events.occurred_at)).where(events.next_attempt_at >= _FIRST)
        undelivered, since = connection.execute(waiting).one()
        due_at = connection.execute(select(func.min(due))).scalar()
    alarms = Counter({(kind, severity): 0 for kind, (severity, _) in REGISTERED.items()})
    for alarm in find_alarms(look):
        alarms[alarm.kind, alarm.severity] += alarm.count
    undelivered_seconds, due_seconds = (
        0.0 if at is None else max(0.0, (look.now - as_utc(at)).total_seconds()) for at in (since, due_at)
    )
    return Gauges(look.now, checkouts, payouts, undelivered, undelivered_seconds, due_seconds, alarms)


def _counts(connection: Connection, table: Table, accounts: Sequence[str], states: type[StrEnum]) -> Counts:
    """Count the rows of a table by account and status; those of all accounts that are not listed under None.

    There is a zero for each state that an account has no row in.
    """
    c = table.c
    # First by what the index is ordered by, so that the list is compared with each account once and not with each row.
    each = select(c.account, c.status, func.count().label("rows")).group_by(c.account, c.status).subquery()
    listed = case((each.c.account.in_(accounts), each.c.account)).label("listed")
    # By the label: PostgreSQL would not recognize the expression, whose parameters it gets twice.
    counting = select(listed, each.c.status, func.sum(each.c.rows)).group_by(literal_column("listed"), each.c.status)
    counted = {(row[0], row[1]): int(row[2]) for row in connection.execute(counting)}
    # The account of the settings has its zeros before its first row, so that alerts find it.
    named = {account for account, _ in counted} | {"", *accounts}
    return {(account, state.value): 0 for account in sorted(named, key=str) for state in states} | counted
