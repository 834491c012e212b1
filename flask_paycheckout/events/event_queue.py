"""The queue of undelivered events: leases, receivers that have run, and events that are due.

Each order has its own queue, and so has each payout that belongs to no order. A lease keeps other processes from
an event while one delivers it. A statement that changes a leased event requires the lease's token, so that a process
that lost its lease changes nothing.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Update, func, or_, select, text, tuple_, update

from flask_paycheckout.database.connections import begin_limited
from flask_paycheckout.database.state_table import StateTable
from flask_paycheckout.events.event_model import UNHEARD, EventMixin
from flask_paycheckout.events.events import FINISHED, HELD_COLUMNS, LEASE, HeldEvent, Subject
from flask_paycheckout.events.receivers import nobody_listens
from flask_paycheckout.text import request_of


class LeaseLost(Exception):
    """The event was changed, or its lease taken, by another process, so the receiver's writes are rolled back."""


@dataclass(frozen=True, eq=False)
class EventQueue(StateTable[EventMixin]):
    """The undelivered events of one app."""

    mapped = "Event"

    checkouts: StateTable[Any]
    payouts: StateTable[Any]
    requests: StateTable[Any]

    @cached_property
    def _c(self) -> Any:
        return self.table.c

    # Events that wait

    def of_subject(self, event: HeldEvent) -> list[EventMixin]:
        """The undelivered events of the order, or of the payout without an order, of this event, oldest first."""
        c = self._c
        same_subject = c.order_id == event.order_id if event.order_id else c.payout_reference == event.payout_reference
        return self.loaded(self._select_waiting.where(same_subject).order_by(c.id))

    def due(
        self,
        by: datetime,
        *,
        after: EventMixin | None,
        limit: int,
        left_out: str,
        order_id: str | None,
    ) -> list[EventMixin]:
        """One page of the events that were due at a time, sorted by (next_attempt_at, id).

        :param after: the last event of the previous page; None for the first page.
        :param left_out: a signal whose events are left to other processes; empty for none.
        :param order_id: only events of this order; None for all.
        """
        c = self._c
        conditions = [c.next_attempt_at <= by, *self._of(order_id)]
        if after is not None:
            # An event that fails meanwhile gets a time after `by`, or keeps its own, so no event is returned twice.
            conditions.append(tuple_(c.next_attempt_at, c.id) > (after.next_attempt_at, after.id))
        if left_out:
            conditions.append(c.name != left_out)
        return self.loaded(self._select_waiting.where(*conditions).order_by(c.next_attempt_at, c.id).limit(limit))

    @cached_property
    def _select_waiting(self) -> Select[Any]:
        return select(self.table).where(self._c.next_attempt_at.is_not(None))

    def count_waiting(self, order_id: str | None) -> int:
        """Count the events that are neither delivered nor superseded, of one order or of all."""
        waiting = self._c.next_attempt_at.is_not(None), *self._of(order_id)
        return int(self.rows(select(func.count()).where(*waiting))[0][0])

    def hurry(self, order_id: str | None, now: datetime) -> None:
        """Make all waiting events due now, except those that a process is delivering."""
        later = self._c.next_attempt_at > now, self._is_free(now), *self._of(order_id)
        self._run(self._update.where(*later).values(next_attempt_at=now))

    def explain_unheard(self, name: str, by: datetime) -> None:
        """Store the error "nobody listens" in the due events of this signal."""
        c = self._c
        unexplained = c.next_attempt_at <= by, c.name == name, c.last_error.is_(None)
        self._run(self._update.where(*unexplained).values(last_error=nobody_listens(name)))

    def call_heard(self, names: Collection[str], now: datetime, limit: int) -> None:
        """Make the oldest events of these signals due for which there was no receiver so far."""
        c = self._c
        waiting = select(c.id).where(text(UNHEARD), c.name.in_(names)).order_by(c.name, c.id).limit(limit)
        # Query first, because there are usually none.
        if rows := self.rows(waiting):
            ids = [row.id for row in rows]
            self._run(self._update.where(c.id.in_(ids), text(UNHEARD)).values(next_attempt_at=now))

    def _of(self, order_id: str | None) -> list[ColumnElement[bool]]:
        return [] if order_id is None else [self._c.order_id == order_id]

    # Leases

    def claim(self, event_id: str, now: datetime, *, only_if_due: bool) -> HeldEvent | None:
        """Lease an event; None if another process holds its lease, or it needs no delivery any more."""
        c = self._c
        due = [c.next_attempt_at <= now] if only_if_due else []
        free = self._update.where(*self._unfinished(event_id), self._is_free(now), *due)
        lease = {"lease_token": str(uuid.uuid4()), "lease_until": now + LEASE, "attempts": c.attempts + 1}
        with begin_limited(self.engine()) as connection:
            claimed = connection.execute(free.values(lease).returning(*(c[name] for name in HELD_COLUMNS)))
            row = claimed.one_or_none()
            if row is None:
                return None
            return HeldEvent.of_row(row._mapping, self._subject_in(connection, row))

    def subject_of(self, event: HeldEvent) -> Subject:
        """Load the present state of the object that an event is about, detached from any session."""
        with self.engine().connect() as connection:
            return self._subject_in(connection, event)

    def _subject_in(self, connection: Connection, event: HeldEvent | Row[Any]) -> Subject:
        table, name = self.requests, request_of(event.order_id)
        if event.payout_reference is not None:
            table, name = self.payouts, event.payout_reference
        elif event.checkout_id:
            table, name = self.checkouts, event.checkout_id
        subject: Subject = table.require(str(name), connection)
        return subject

    def renew(self, events: Sequence[HeldEvent], now: datetime) -> None:
        """Extend the leases of these events to a full lease from now, except lost leases."""
        for event in events:
            self._change_held(event, {"lease_until": now + LEASE})

    def finish(self, event: HeldEvent, **at: datetime) -> None:
        """Mark a held event as delivered or superseded.

        :param at: the time, by the name of its column.
        """
        self._change_held(event, FINISHED | at)

    def supersede_free(self, event_ids: Collection[str], at: datetime) -> list[str]:
        """Mark the events without a lease as superseded; returns the names of their signals."""
        free = self._c.event_id.in_(event_ids), self._c.next_attempt_at.is_not(None), self._is_free(at)
        marks = self._update.where(*free).values(FINISHED | {"superseded_at": at})
        with begin_limited(self.engine()) as connection:
            return [*connection.execute(marks.returning(self._c.name)).scalars()]

    def release(self, event: HeldEvent, until: datetime | None, **values: str | int) -> None:
        """Release a held event, set the time of the next try, and store these values in other columns.

        :param until: None for an event that waits for a process that listens to its signal.
        """
        self._change_held(event, FINISHED | {"next_attempt_at": until} | values)

    # Marks

    def receivers_done(self, event: HeldEvent) -> list[str]:
        """Read the names of the receivers that are marked as having run."""
        marks = select(self._c.receivers_done).where(self._c.event_id == event.event_id)
        return names_of(self.rows(marks)[0][0])

    def require_held(self, event: HeldEvent, done: list[str]) -> None:
        """Check that an event's lease is still held, and exactly these receivers are marked as having run.

        :raises LeaseLost: the lease is lost, or the stored marks differ.
        """
        held = select(self._c.id).where(*self._are_marked(event, done))
        if not self.rows(held):
            raise LeaseLost

    def mark(self, connection: Connection, event: HeldEvent, done: list[str], delivered_at: datetime | None) -> None:
        """Mark the receivers that have run; the last of them is not marked yet.

        :param delivered_at: the time of complete delivery; None while receivers are left.
        :raises LeaseLost: the lease is lost, or the stored marks differ.
        """
        values: dict[str, Any] = {"receivers_done": json.dumps(done)}
        if delivered_at is not None:
            values |= {"delivered_at": delivered_at, **FINISHED}
        marking = self._update.where(*self._are_marked(event, done[:-1])).values(values)
        if connection.execute(marking).rowcount != 1:
            raise LeaseLost

    @property
    def _update(self) -> Update:
        return update(self.table)

    def _unfinished(self, event_id: str) -> tuple[ColumnElement[bool], ...]:
        return self._c.event_id == event_id, self._c.delivered_at.is_(None), self._c.superseded_at.is_(None)

    def _is_free(self, now: datetime) -> ColumnElement[bool]:
        return or_(self._c.lease_until.is_(None), self._c.lease_until <= now)

    def _is_held(self, event: HeldEvent) -> tuple[ColumnElement[bool], ...]:
        return *self._unfinished(event.event_id), self._c.lease_token == event.lease_token

    def _are_marked(self, event: HeldEvent, done: list[str]) -> tuple[ColumnElement[bool], ...]:
        return *self._is_held(event), self._c.receivers_done == json.dumps(done)

    def _change_held(self, event: HeldEvent, values: Mapping[str, Any]) -> None:
        self._run(self._update.where(*self._is_held(event)).values(values))

    def _run(self, statement: Update) -> None:
        with begin_limited(self.engine()) as connection:
            connection.execute(statement)


def names_of(receivers_done: str) -> list[str]:
    """The receivers' names in the column `receivers_done`."""
    names: list[str] = json.loads(receivers_done)
    return names
