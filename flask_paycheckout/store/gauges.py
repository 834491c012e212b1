"""Figures for monitoring, each read along an index, with as many rows as there are accounts with a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, Table, case, func, literal_column, select

from flask_paycheckout.clock import as_utc
from flask_paycheckout.store.models import Models

__all__ = ["Oldest", "count_by_state", "oldest"]

# Before any time that is stored.
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Oldest:
    """What has waited for the longest time."""

    undelivered: int
    """The number of events that wait for delivery."""

    undelivered_since: datetime | None
    """The time when the oldest of them happened."""

    due_read: datetime | None
    """The time when the next read of a deposit is due, or was."""


def count_by_state(connection: Connection, table: Table, accounts: Sequence[str]) -> dict[tuple[str | None, str], int]:
    """Count the rows of a table by account and status; those of all accounts that are not listed under None."""
    c = table.c
    # First by what the index is ordered by, so that the list is compared with each account once and not with each row.
    each = select(c.account, c.status, func.count().label("rows")).group_by(c.account, c.status).subquery()
    listed = case((each.c.account.in_(accounts), each.c.account)).label("listed")
    # By the label: PostgreSQL would not recognize the expression, whose parameters it gets twice.
    counted = select(listed, each.c.status, func.sum(each.c.rows)).group_by(literal_column("listed"), each.c.status)
    return {(row[0], row[1]): int(row[2]) for row in connection.execute(counted)}


def oldest(connection: Connection, models: Models) -> Oldest:
    """The events that wait for delivery, and the read that has been due for the longest time."""
    events, checkouts = models.events.c, models.checkouts.c
    # A range, along which SQLite reads the index; for "is not NULL" it could read all events.
    waiting = select(func.count(), func.min(events.occurred_at)).where(events.next_attempt_at >= _FIRST)
    undelivered, since = connection.execute(waiting).one()
    due = connection.execute(select(func.min(checkouts.next_read_at))).scalar()
    return Oldest(undelivered, since and as_utc(since), due and as_utc(due))
