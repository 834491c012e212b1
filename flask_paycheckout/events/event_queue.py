"""The queue of undelivered events: leases, receivers that have run, and events that are due.

Each order has a queue of its own, and so has each payout that belongs to no order. A lease keeps other processes from
an event while one delivers it. A statement that changes a leased event requires the lease's token, so that a process
that lost its lease changes nothing.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Engine, Table, bindparam, exists, func, or_, select, tuple_, update

from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.autocommit import autocommit
from flask_paycheckout.database.lock_limit import begin_limited
from flask_paycheckout.database.parameters import is_of, new_values, parameter
from flask_paycheckout.events.events import HELD_COLUMNS, LEASE, HeldEvent, Subject

if TYPE_CHECKING:
    from flask_paycheckout.checkouts.stored import Checkouts
    from flask_paycheckout.models import Models
    from flask_paycheckout.payouts.stored import Payouts

__all__ = ["DueEvent", "EventQueue", "QueuedEvent", "names_of"]

_RELEASED = {"lease_token": None, "lease_until": None}


class QueuedEvent(NamedTuple):
    """An event that is neither delivered nor superseded, with the columns that decide when it may be delivered."""

    id: int
    event_id: str
    name: str
    checkout_id: str
    order_id: str
    payout_reference: str | None
    receivers_done: str
    next_attempt_at: datetime
    lease_until: datetime | None


class DueEvent(NamedTuple):
    """An event whose delivery is due, with its position in the index of undelivered events."""

    event_id: str
    next_attempt_at: datetime
    id: int


class EventQueue:
    """The undelivered events of one app.

    :param engine: returns the engine of the event table, when first needed.
    """

    def __init__(self, engine: Callable[[], Engine], models: Models, checkouts: Checkouts, payouts: Payouts) -> None:
        self._engine = engine
        self._table: Table = models.events
        self._checkouts = checkouts
        self._payouts = payouts

    # What waits

    def beside(self, event: HeldEvent) -> list[QueuedEvent]:
        """The undelivered events of this one's order, or of its payout without an order, in the order they happened."""
        of_order = bool(event.order_id)
        statement = self._select_queue if of_order else self._select_payout_queue
        key = {"of_order_id": event.order_id} if of_order else {"of_payout_reference": event.payout_reference}
        with self._single.connect() as connection:
            rows = connection.execute(statement, key).all()
        return [_in_utc(QueuedEvent(*row)) for row in rows]

    def beside_each(self, events: Iterable[HeldEvent]) -> dict[str, list[QueuedEvent]]:
        """The undelivered events of these events' orders, by the order id, in the order they happened."""
        found: dict[str, list[QueuedEvent]] = {event.order_id: [] for event in events if event.order_id}
        with self._single.connect() as connection:
            for row in connection.execute(self._select_queues, {"of_order_ids": list(found)}):
                queued = _in_utc(QueuedEvent(*row))
                found[queued.order_id].append(queued)
        return found

    def due(
        self,
        by: datetime,
        *,
        after: DueEvent | None,
        limit: int,
        unheard: Collection[str] = (),
        order_id: str | None = None,
    ) -> Sequence[DueEvent]:
        """One page of the events that were due at a time, sorted by (next_attempt_at, id).

        :param after: the last event of the page before; None for the first page.
        :param unheard: signals without a receiver here, whose events are left to other processes.
        :param order_id: only events of this order; None for all.
        """
        c = self._table.c
        conditions = [c.next_attempt_at <= by, *self._of(order_id)]
        if after is not None:
            # An event that fails meanwhile gets a later place, beyond `by`, or keeps its own, so none comes twice.
            conditions.append(tuple_(c.next_attempt_at, c.id) > (after.next_attempt_at, after.id))
        if unheard:
            conditions.append(c.name.not_in(unheard))
        columns = select(c.event_id, c.next_attempt_at, c.id).where(*conditions)
        with self._engine().connect() as connection:
            rows = connection.execute(columns.order_by(c.next_attempt_at, c.id).limit(limit))
            return [DueEvent(*row) for row in rows]

    def count_waiting(self, order_id: str | None) -> int:
        """Count the events that are neither delivered nor superseded, of one order or of all."""
        counted = select(func.count()).where(self._table.c.next_attempt_at.is_not(None), *self._of(order_id))
        with self._engine().connect() as connection:
            return int(connection.execute(counted).scalar_one())

    def hurry(self, order_id: str | None, now: datetime) -> None:
        """Make all waiting events due now, except those that a process is delivering."""
        c = self._table.c
        waiting = update(self._table).where(c.next_attempt_at > now, self._is_free(now), *self._of(order_id))
        with begin_limited(self._engine()) as connection:
            connection.execute(waiting.values(next_attempt_at=now))

    def explain_unheard(self, texts: dict[str, str], by: datetime) -> None:
        """Store the reason why due events of these signals wait.

        :param texts: the reason by the signal's name.
        """
        c = self._table.c
        with begin_limited(self._engine()) as connection:
            for name, text in texts.items():
                unexplained = (c.next_attempt_at <= by, c.name == name, c.last_error.is_(None))
                connection.execute(update(self._table).where(*unexplained).values(last_error=text))

    # Leases

    def claim(self, event_id: str, now: datetime, *, only_if_due: bool) -> HeldEvent | None:
        """Lease an event; None when another process holds its lease, or it needs no delivery any more."""
        statement = self._claim_due if only_if_due else self._claim
        claim = {"of_event_id": event_id, "now": now}
        claim |= {"new_lease_token": str(uuid.uuid4()), "new_lease_until": now + LEASE}
        with begin_limited(self._engine()) as connection:
            row = connection.execute(statement, claim).mappings().one_or_none()
            if row is None:
                return None
            return HeldEvent.of_row(row, self._subject_in(connection, row["checkout_id"], row["payout_reference"]))

    def subject_of(self, event: HeldEvent) -> Subject:
        """Load the checkout or payout of an event as it is now, detached from any session."""
        with self._engine().connect() as connection:
            return self._subject_in(connection, event.checkout_id, event.payout_reference)

    def _subject_in(self, connection: Connection, checkout_id: str, payout_reference: str | None) -> Subject:
        if payout_reference is None:
            return self._checkouts.find_in(connection, checkout_id)
        return self._payouts.find_in(connection, payout_reference)

    def renew(self, events: Sequence[HeldEvent], now: datetime) -> None:
        """Extend the leases of these events to a full lease from now, as far as they are still held."""
        for event in events:
            self._change(self._renew, event, new_lease_until=now + LEASE)

    def supersede(self, event: HeldEvent, at: datetime) -> None:
        """Mark a held event as superseded, since it is no longer true."""
        self._change(self._supersede, event, new_superseded_at=at)

    def postpone(self, event: HeldEvent, until: datetime, error: str) -> None:
        """Release a held event after a receiver failed, and set the time of the next try."""
        self._change(self._postpone, event, new_next_attempt_at=until, new_last_error=error)

    def release(self, event: HeldEvent, until: datetime) -> None:
        """Release a held event, and set the time of the next try."""
        self._change(self._release, event, new_next_attempt_at=until)

    # Marks

    def receivers_done(self, event: HeldEvent) -> list[str]:
        """Read the names of the receivers that are marked as having run."""
        marks = select(self._table.c.receivers_done).where(self._table.c.event_id == event.event_id)
        with self._engine().connect() as connection:
            return names_of(connection.execute(marks).scalar_one())

    def is_held(self, connection: Connection, event: HeldEvent, done: list[str]) -> bool:
        """Whether an event's lease is still held, and exactly these receivers are marked as having run."""
        held = _held(event) | {"of_receivers_done": json.dumps(done)}
        return bool(connection.execute(self._exists_held, held).scalar_one())

    def mark(
        self,
        connection: Connection,
        event: HeldEvent,
        before: list[str],
        done: list[str],
        delivered_at: datetime | None,
    ) -> bool:
        """Mark the receivers that have run; False when the stored marks differ from `before`, or the lease is lost.

        :param delivered_at: the time of complete delivery; None while receivers are left.
        """
        mark = _held(event) | {"of_receivers_done": json.dumps(before), "new_receivers_done": json.dumps(done)}
        if delivered_at is not None:
            return connection.execute(self._deliver, mark | {"new_delivered_at": delivered_at}).rowcount == 1
        return connection.execute(self._mark, mark).rowcount == 1

    def _change(self, statement: Any, event: HeldEvent, **values: Any) -> None:
        with begin_limited(self._engine()) as connection:
            connection.execute(statement, _held(event) | values)

    def _of(self, order_id: str | None) -> list[ColumnElement[bool]]:
        return [] if order_id is None else [self._table.c.order_id == order_id]

    def _is_free(self, now: Any) -> ColumnElement[bool]:
        return or_(self._table.c.lease_until.is_(None), self._table.c.lease_until <= now)

    @cached_property
    def _single(self) -> Engine:
        """The engine for single statements."""
        return autocommit(self._engine())

    # Statements

    @cached_property
    def _select_queue(self) -> Any:
        return self._queue_of("order_id")

    @cached_property
    def _select_payout_queue(self) -> Any:
        return self._queue_of("payout_reference")

    @cached_property
    def _select_queues(self) -> Any:
        return self._queue_where(self._table.c.order_id.in_(bindparam("of_order_ids", expanding=True)))

    def _queue_of(self, column: str) -> Any:
        return self._queue_where(is_of(self._table, column))

    def _queue_where(self, condition: ColumnElement[bool]) -> Any:
        c = self._table.c
        waiting = select(*(c[name] for name in QueuedEvent._fields)).where(condition, c.next_attempt_at.is_not(None))
        return waiting.order_by(c.id)

    @cached_property
    def _claim(self) -> Any:
        c = self._table.c
        free = self._waiting.where(self._is_free(parameter(self._table, "now", "lease_until")))
        lease = new_values(self._table, ("lease_token", "lease_until")) | {"attempts": c.attempts + 1}
        return free.values(lease).returning(*(c[name] for name in HELD_COLUMNS))

    @cached_property
    def _claim_due(self) -> Any:
        return self._claim.where(self._table.c.next_attempt_at <= parameter(self._table, "now", "lease_until"))

    @cached_property
    def _exists_held(self) -> Any:
        held = [is_of(self._table, column) for column in ("event_id", "lease_token", "receivers_done")]
        return select(exists().where(*held, self._table.c.delivered_at.is_(None)))

    @cached_property
    def _mark(self) -> Any:
        return self._unmarked.values(new_values(self._table, ["receivers_done"]))

    @cached_property
    def _deliver(self) -> Any:
        values = new_values(self._table, ("receivers_done", "delivered_at"))
        return self._unmarked.values(values | {"next_attempt_at": None} | _RELEASED)

    @cached_property
    def _postpone(self) -> Any:
        return self._held.values(new_values(self._table, ("next_attempt_at", "last_error")) | _RELEASED)

    @cached_property
    def _release(self) -> Any:
        return self._held.values(new_values(self._table, ["next_attempt_at"]) | _RELEASED)

    @cached_property
    def _renew(self) -> Any:
        return self._held.values(new_values(self._table, ["lease_until"]))

    @cached_property
    def _supersede(self) -> Any:
        return self._held.values(new_values(self._table, ["superseded_at"]) | {"next_attempt_at": None} | _RELEASED)

    @property
    def _waiting(self) -> Any:
        c = self._table.c
        unfinished = (c.delivered_at.is_(None), c.superseded_at.is_(None))
        return update(self._table).where(is_of(self._table, "event_id"), *unfinished)

    @property
    def _held(self) -> Any:
        return self._waiting.where(is_of(self._table, "lease_token"))

    @property
    def _unmarked(self) -> Any:
        return self._held.where(is_of(self._table, "receivers_done"))


def names_of(receivers_done: str) -> list[str]:
    """The receivers' names in the column `receivers_done`."""
    names: list[str] = json.loads(receivers_done)
    return names


def _held(event: HeldEvent) -> dict[str, Any]:
    return {"of_event_id": event.event_id, "of_lease_token": event.lease_token}


def _in_utc(queued: QueuedEvent) -> QueuedEvent:
    until = queued.lease_until and as_utc(queued.lease_until)
    return queued._replace(next_attempt_at=as_utc(queued.next_attempt_at), lease_until=until)
