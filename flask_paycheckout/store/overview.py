"""An overview of the stored payments: counts, and short lists of what may need a person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, func, select

from flask_paycheckout.clock import as_utc
from flask_paycheckout.rules.states import OPEN, Status
from flask_paycheckout.store.models import Models
from flask_paycheckout.store.payments import PAYMENT_COLUMNS, Amount, payment_of

__all__ = [
    "LISTED",
    "PATIENCE",
    "Backlog",
    "HeldPayment",
    "Overview",
    "UndeliveredEvent",
    "UnheardPayment",
    "Unreadable",
    "UnsettledPayment",
]

LISTED = 100
"""The most entries of each list; counts cover all rows."""

PATIENCE = timedelta(minutes=5)
"""In a healthy shop webhooks, reconcile rounds and second deliveries have happened by then."""

_RECENT = 1000
# The most different problems that are listed.
_GROUPS = 10
_COMPLETED = "completed"


@dataclass(frozen=True)
class HeldPayment:
    """A held payment, which waits for a person's decision."""

    checkout_id: str
    order_id: str
    reason: str | None
    since: datetime
    asked: str
    """The total that the customer was asked for."""

    paid: Amount | None
    """The amount that the customer paid; None when the service did not report it, or it is not stored."""


@dataclass(frozen=True)
class UndeliveredEvent:
    """An event that has not reached all of its receivers."""

    event_id: str
    name: str
    checkout_id: str
    order_id: str
    """The order that it is about; empty for a payout that belongs to no order."""

    payout_reference: str | None
    """The payout that it is about; None for an event of a checkout."""

    occurred_at: datetime
    attempts: int
    last_error: str | None

    @property
    def subject(self) -> str:
        """The order or payout that it is about, for people."""
        return f"order {self.order_id}" if self.payout_reference is None else f"payout {self.payout_reference}"


@dataclass(frozen=True)
class UnheardPayment:
    """A payment that was found without a webhook."""

    checkout_id: str
    order_id: str
    paid_at: datetime
    found_by: str | None
    """The caller whose read found the payment: status page, reconcile or settle."""


@dataclass(frozen=True)
class Backlog:
    """Reads that have been due for more than five minutes: reconcile does not run, or does not keep up."""

    overdue: int
    since: datetime | None


@dataclass(frozen=True)
class UnsettledPayment:
    """A payment that is completed at the service, but neither paid nor held here, since applying it failed."""

    checkout_id: str
    order_id: str
    since: datetime
    problem: str
    """The error; for a failed receiver it includes the receiver's name."""


@dataclass(frozen=True)
class Unreadable:
    """Checkouts that have failed for more than five minutes with one common error, in the read or in applying it."""

    count: int
    since: datetime
    """The time of the first of these failures."""

    problem: str
    """The error that all of these have in common."""


class Overview:
    """The overview of one app's payments at a moment.

    :param connection: of the transaction that reads.
    """

    def __init__(self, connection: Connection, models: Models, now: datetime) -> None:
        self._connection = connection
        self._checkouts = models.checkouts
        self._events = models.events
        self._now = now

    def count_by_status(self) -> dict[str, int]:
        """How many checkouts have each status; every status is named."""
        status = self._checkouts.c.status
        rows = self._connection.execute(select(status, func.count()).group_by(status))
        counted = {row[0]: row[1] for row in rows}
        return {state.value: counted.get(state.value, 0) for state in Status}

    def count_held(self) -> int:
        """How many payments are held."""
        held = select(func.count()).where(self._checkouts.c.status == Status.HELD.value)
        return int(self._connection.execute(held).scalar_one())

    def held(self) -> tuple[HeldPayment, ...]:
        """The held payments, the longest held first."""
        c = self._checkouts.c
        columns = [c.checkout_id, c.order_id, c.reason, c.moved_at, c.total_amount, c.total_currency]
        held = select(*columns, *(c[name] for name in PAYMENT_COLUMNS)).where(c.status == Status.HELD.value)
        return tuple(
            HeldPayment(
                row["checkout_id"],
                row["order_id"],
                row["reason"],
                as_utc(row["moved_at"]),
                f"{row['total_amount']} {row['total_currency']}",
                payment.paid if (payment := payment_of(row)) else None,
            )
            for row in self._connection.execute(held.order_by(c.moved_at).limit(LISTED)).mappings()
        )

    def backlog(self) -> Backlog:
        """The reads that reconcile should have made more than five minutes ago."""
        due = self._checkouts.c.next_read_at
        overdue = select(func.count(), func.min(due)).where(due <= self._now - PATIENCE)
        count, since = self._connection.execute(overdue).one()
        return Backlog(count, since and as_utc(since))

    def unsettled(self) -> tuple[UnsettledPayment, ...]:
        """Completed deposits that could not be applied, the longest first."""
        c = self._checkouts.c
        columns = select(c.checkout_id, c.order_id, c.problem_since, c.problem)
        longest_first = columns.where(*self._has_problem, self._is_completed).order_by(c.problem_since).limit(LISTED)
        return tuple(
            UnsettledPayment(row.checkout_id, row.order_id, as_utc(row.problem_since), row.problem or "")
            for row in self._connection.execute(longest_first)
        )

    def unreadable(self) -> tuple[Unreadable, ...]:
        """Other checkouts whose reads have failed for more than five minutes, grouped by their problem."""
        # By the last success, not by the next due read: each failed read sets a new due time, so it is never overdue.
        c = self._checkouts.c
        since = func.min(c.problem_since)
        columns = select(func.count(), since, c.problem).group_by(c.problem)
        failing = columns.where(*self._has_problem, c.problem_since <= self._now - PATIENCE, ~self._is_completed)
        rows = self._connection.execute(failing.order_by(since).limit(_GROUPS)).all()
        return tuple(Unreadable(row[0], as_utc(row[1]), row[2] or "") for row in rows)

    def recently_paid(self, limit: int = _RECENT) -> list[tuple[UnheardPayment, int]]:
        """The newest payments, each with its number of webhooks.

        Payments of the last five minutes are left out, since their webhooks may still arrive.
        """
        c = self._checkouts.c
        columns = select(c.checkout_id, c.order_id, c.moved_at, c.found_by, c.webhooks)
        paid = columns.where(c.status == Status.PAID.value, c.moved_at <= self._now - PATIENCE)
        rows = self._connection.execute(paid.order_by(c.moved_at.desc()).limit(limit))
        return [
            (UnheardPayment(row.checkout_id, row.order_id, as_utc(row.moved_at), row.found_by), row.webhooks)
            for row in rows
        ]

    def newest_checkout_at(self) -> datetime | None:
        """When the newest checkout was made; None without any."""
        c = self._checkouts.c
        newest = select(c.created_at).where(c.id == select(func.max(c.id)).scalar_subquery())
        made = self._connection.execute(newest).scalar()
        return None if made is None else as_utc(made)

    def count_undelivered(self) -> int:
        """How many events are neither delivered nor superseded."""
        waiting = select(func.count()).where(self._events.c.next_attempt_at.is_not(None))
        return int(self._connection.execute(waiting).scalar_one())

    def undelivered(self) -> tuple[UndeliveredEvent, ...]:
        """Events that wait for delivery, those that failed first."""
        c = self._events.c
        columns = select(
            *(c.event_id, c.name, c.checkout_id, c.order_id, c.payout_reference),
            *(c.occurred_at, c.attempts, c.last_error),
        )
        waiting = columns.where(c.next_attempt_at.is_not(None)).order_by(c.last_error.is_(None), c.id).limit(LISTED)
        return tuple(
            UndeliveredEvent(*row[:5], as_utc(row.occurred_at), row.attempts, row.last_error)
            for row in self._connection.execute(waiting)
        )

    @property
    def _has_problem(self) -> tuple[ColumnElement[bool], ...]:
        c = self._checkouts.c
        return c.problem_since.is_not(None), c.status.in_(OPEN)

    @property
    def _is_completed(self) -> ColumnElement[bool]:
        """Whether the deposit is completed according to its last read."""
        return func.coalesce(self._checkouts.c.deposit_status, "") == _COMPLETED
