"""An overview of the stored payments: counts, and short lists of what may need a person."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, Connection, func, select

from flask_paycheckout.clock import as_utc
from flask_paycheckout.rules.states import OPEN, Status
from flask_paycheckout.rules.text import account_text
from flask_paycheckout.store.models import Models
from flask_paycheckout.store.payments import PAYMENT_COLUMNS, Amount, payment_of

__all__ = [
    "LISTED",
    "PATIENCE",
    "SILENT",
    "Backlog",
    "HeldPayment",
    "OverdueReads",
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

SILENT = 5
"""With so many paid orders in a row without a webhook, webhooks do not arrive at all."""

_RECENT = 1000
# Before any time that is stored.
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
# The most different problems of an account that are listed.
_GROUPS = 10
_COMPLETED = "completed"


@dataclass(frozen=True)
class HeldPayment:
    """A held payment, which waits for a person's decision."""

    checkout_id: str
    order_id: str
    account: str
    """The merchant account's name; "" is the one of the settings."""

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

    account: str
    """The merchant account's name; "" is the one of the settings."""

    payout_reference: str | None
    """The payout that it is about; None for an event of a checkout."""

    occurred_at: datetime
    attempts: int
    last_error: str | None

    @property
    def subject(self) -> str:
        """The order or payout that it is about, for people."""
        about = f"order {self.order_id}" if self.payout_reference is None else f"payout {self.payout_reference}"
        return about + account_text(self.account)


@dataclass(frozen=True)
class UnheardPayment:
    """A payment that was found without a webhook."""

    checkout_id: str
    order_id: str
    account: str
    """The merchant account's name; "" is the one of the settings."""

    paid_at: datetime
    found_by: str | None
    """The caller whose read found the payment: status page, reconcile or settle."""


@dataclass(frozen=True)
class OverdueReads:
    """Reads of one merchant account that have been due for more than five minutes."""

    account: str
    """The merchant account's name; "" is the one of the settings."""

    overdue: int
    since: datetime


@dataclass(frozen=True)
class Backlog:
    """Reads that have been due for more than five minutes: reconcile does not run, or does not keep up."""

    overdue: int
    since: datetime | None
    accounts: tuple[OverdueReads, ...] = ()
    """The same by account, the longest overdue first; 100 at most."""


@dataclass(frozen=True)
class UnsettledPayment:
    """A payment that is completed at the service, but neither paid nor held here, since applying it failed."""

    checkout_id: str
    order_id: str
    account: str
    """The merchant account's name; "" is the one of the settings."""

    since: datetime
    problem: str
    """The error; for a failed receiver it includes the receiver's name."""


@dataclass(frozen=True)
class Unreadable:
    """Checkouts of an account that have failed for over five minutes with one error, in the read or in applying it."""

    account: str
    """The merchant account's name; "" is the one of the settings."""

    count: int
    since: datetime
    """The time of the first of these failures."""

    problem: str
    """The error that all of these have in common."""


class Overview:
    """The overview of one app's payments at a moment.

    :param connection: of the transaction that reads.
    :param account: only of this merchant account; None: of all.
    """

    def __init__(self, connection: Connection, models: Models, now: datetime, account: str | None = None) -> None:
        self._connection = connection
        self._checkouts = models.checkouts
        self._payouts = models.payouts
        self._events = models.events
        self._now = now
        self._account = account
        self._of_account = [] if account is None else [models.checkouts.c.account == account]

    def count_by_status(self) -> dict[str, int]:
        """How many checkouts have each status; every status is named."""
        status = self._checkouts.c.status
        rows = self._connection.execute(select(status, func.count()).where(*self._of_account).group_by(status))
        counted = {row[0]: row[1] for row in rows}
        return {state.value: counted.get(state.value, 0) for state in Status}

    def count_held(self) -> int:
        """How many payments are held."""
        held = select(func.count()).where(self._checkouts.c.status == Status.HELD.value, *self._of_account)
        return int(self._connection.execute(held).scalar_one())

    def held(self) -> tuple[HeldPayment, ...]:
        """The held payments, the longest held first."""
        c = self._checkouts.c
        columns = [c.checkout_id, c.order_id, c.account, c.reason, c.moved_at, c.total_amount, c.total_currency]
        held = select(*columns, *(c[name] for name in PAYMENT_COLUMNS)).where(
            c.status == Status.HELD.value, *self._of_account
        )
        return tuple(
            HeldPayment(
                row["checkout_id"],
                row["order_id"],
                row["account"],
                row["reason"],
                as_utc(row["moved_at"]),
                f"{row['total_amount']} {row['total_currency']}",
                payment.paid if (payment := payment_of(row)) else None,
            )
            for row in self._connection.execute(held.order_by(c.moved_at).limit(LISTED)).mappings()
        )

    def backlog(self) -> Backlog:
        """The reads that reconcile should have made more than five minutes ago."""
        c = self._checkouts.c
        due = c.next_read_at
        is_overdue = due <= self._now - PATIENCE
        count, since = self._connection.execute(
            select(func.count(), func.min(due)).where(is_overdue, *self._of_account)
        ).one()
        if not count:
            return Backlog(0, None)
        by_account = select(c.account, func.count(), func.min(due)).where(is_overdue, *self._of_account)
        rows = self._connection.execute(by_account.group_by(c.account).order_by(func.min(due)).limit(LISTED))
        return Backlog(count, as_utc(since), tuple(OverdueReads(row[0], row[1], as_utc(row[2])) for row in rows))

    def unsettled(self) -> tuple[UnsettledPayment, ...]:
        """Completed deposits that could not be applied, the longest first."""
        c = self._checkouts.c
        columns = select(c.checkout_id, c.order_id, c.account, c.problem_since, c.problem)
        longest_first = columns.where(*self._has_problem, self._is_completed).order_by(c.problem_since).limit(LISTED)
        return tuple(
            UnsettledPayment(row.checkout_id, row.order_id, row.account, as_utc(row.problem_since), row.problem or "")
            for row in self._connection.execute(longest_first)
        )

    def unreadable(self) -> tuple[Unreadable, ...]:
        """Other checkouts whose reads have failed for over five minutes, grouped by account and problem."""
        # By the last success, not by the next due read: each failed read sets a new due time, so it is never overdue.
        c = self._checkouts.c
        since = func.min(c.problem_since)
        columns = select(c.account, func.count(), since, c.problem).group_by(c.account, c.problem)
        failing = columns.where(*self._has_problem, c.problem_since <= self._now - PATIENCE, ~self._is_completed)
        rows = self._connection.execute(failing.order_by(since).limit(LISTED)).all()
        groups, of_account = [], Counter[str]()
        for account, count, first, problem in rows:
            of_account[account] += 1
            if of_account[account] <= _GROUPS:
                groups.append(Unreadable(account, count, as_utc(first), problem or ""))
        return tuple(groups)

    def recently_paid(self, limit: int = _RECENT) -> list[tuple[UnheardPayment, int]]:
        """The newest payments, each with its number of webhooks.

        Payments of the last five minutes are left out, since their webhooks may still arrive.
        """
        c = self._checkouts.c
        columns = select(c.checkout_id, c.order_id, c.account, c.moved_at, c.found_by, c.webhooks)
        paid = columns.where(c.status == Status.PAID.value, c.moved_at <= self._now - PATIENCE, *self._of_account)
        rows = self._connection.execute(paid.order_by(c.moved_at.desc()).limit(limit))
        return [
            (
                UnheardPayment(row.checkout_id, row.order_id, row.account, as_utc(row.moved_at), row.found_by),
                row.webhooks,
            )
            for row in rows
        ]

    def newest_checkout_at(self, account: str) -> datetime | None:
        """When the newest checkout of an account was made; None without any."""
        c = self._checkouts.c
        newest = select(c.created_at).where(c.account == account).order_by(c.id.desc()).limit(1)
        made = self._connection.execute(newest).scalar()
        return None if made is None else as_utc(made)

    def count_undelivered(self) -> int:
        """How many events are neither delivered nor superseded."""
        waiting = select(func.count()).select_from(self._events).where(*self._waits)
        return int(self._connection.execute(waiting).scalar_one())

    def undelivered(self) -> tuple[UndeliveredEvent, ...]:
        """Events that wait for delivery, those that failed first."""
        c = self._events.c
        columns = select(
            *(c.event_id, c.name, c.checkout_id, c.order_id, self._event_account.label("account"), c.payout_reference),
            *(c.occurred_at, c.attempts, c.last_error),
        )
        waiting = columns.where(*self._waits).order_by(c.last_error.is_(None), c.id).limit(LISTED)
        return tuple(
            UndeliveredEvent(
                *(row.event_id, row.name, row.checkout_id, row.order_id, row.account, row.payout_reference),
                *(as_utc(row.occurred_at), row.attempts, row.last_error),
            )
            for row in self._connection.execute(waiting)
        )

    @property
    def _event_account(self) -> ColumnElement[str]:
        """The account of the checkout or payout that an event is about."""
        events, checkouts, payouts = self._events.c, self._checkouts.c, self._payouts.c
        # Subqueries, which look one row up each; a join could read all checkouts.
        of_payout = select(payouts.account).where(payouts.reference == events.payout_reference).scalar_subquery()
        of_checkout = select(checkouts.account).where(checkouts.checkout_id == events.checkout_id).scalar_subquery()
        return func.coalesce(of_payout, of_checkout, "")

    @property
    def _waits(self) -> tuple[ColumnElement[bool], ...]:
        next_attempt_at = self._events.c.next_attempt_at
        if self._account is None:
            return (next_attempt_at.is_not(None),)
        # A range, along which SQLite reads the index; for "is not NULL" it could read all events.
        return next_attempt_at >= _FIRST, self._event_account == self._account

    @property
    def _has_problem(self) -> tuple[ColumnElement[bool], ...]:
        c = self._checkouts.c
        # Not by the plain column: along an index of accounts, SQLite would read all abandoned checkouts of this one.
        of_account = [] if self._account is None else [func.coalesce(c.account, "") == self._account]
        return c.problem_since.is_not(None), c.status.in_(OPEN), *of_account

    @property
    def _is_completed(self) -> ColumnElement[bool]:
        """Whether the deposit is completed according to its last read."""
        return func.coalesce(self._checkouts.c.deposit_status, "") == _COMPLETED
