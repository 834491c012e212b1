"""Tells receivers of what was committed: database effects exactly once, others at least once with one `event_id`.

Two transactions stand behind each event. The first, long committed, stored it together with the state change. The
second belongs to one receiver: what it wrote through `db.session` and the mark that it ran are committed together.
A lease keeps others away meanwhile, and a mark that no longer holds the lease is refused, so that a slow deliverer
who lost it writes nothing.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, Table, bindparam, or_, select, tuple_, update
from sqlalchemy.orm import scoped_session

from flask_paycheckout.checkout_statements import CheckoutStatements
from flask_paycheckout.clock import Clock
from flask_paycheckout.events import HELD_COLUMNS, LEASE, HeldEvent
from flask_paycheckout.models import CheckoutMixin, Models
from flask_paycheckout.receivers import receivers_of

__all__ = ["Delivery", "Outbox"]

_FIRST_PAUSE = timedelta(seconds=10)
_LONGEST_PAUSE = timedelta(hours=1)
_MAX_ERROR = 500

_log = logging.getLogger("flask_paycheckout")

Scope = Callable[[], AbstractContextManager[scoped_session[Any]]]


@dataclass(frozen=True)
class Delivery:
    """How many events were told to all their receivers, and how many were not yet."""

    delivered: int = 0
    failed: int = 0

    def __add__(self, other: Delivery) -> Delivery:
        return Delivery(self.delivered + other.delivered, self.failed + other.failed)


class _LeaseLost(Exception):
    """This event is no longer as this deliverer knew it, or no longer its own; what it did is rolled back."""


class Outbox:
    """Delivers the stored events of one app.

    :param scope: opens an application context of its own and gives the shop's `db.session` in it.
    :param sender: the Flask app, as the signals' sender.
    """

    def __init__(self, engine: Callable[[], Engine], models: Models, clock: Clock, scope: Scope, sender: object):
        self._engine = engine
        self._models = models
        self._clock = clock
        self._scope = scope
        self._sender = sender
        self._statements = _EventStatements(models.events)
        self._find_checkout = CheckoutStatements(models.checkouts).find

    def deliver(self, events: Iterable[HeldEvent]) -> Delivery:
        """Tell the receivers of these events now. A failure is logged and left to `deliver_due`."""
        return self._each((event.event_id, event) for event in events)

    def deliver_due(self, batch: int = 1000) -> Delivery:
        """Tell the receivers of every event that is due, each event once in this call, oldest first.

        :param batch: how many events are looked up at a time.
        """
        table = self._models.events
        started = self._clock()
        total = Delivery()
        last: tuple[datetime, int] | None = None
        while True:
            # Along the index of what is not delivered, never through what is. A failed one comes later in it again,
            # and later than this call began, or at its own place.
            place = tuple_(table.c.next_attempt_at, table.c.id)
            due = select(table.c.event_id, table.c.next_attempt_at, table.c.id).where(
                table.c.next_attempt_at <= started, *([] if last is None else [place > last])
            )
            with self._engine().connect() as connection:
                rows = connection.execute(due.order_by(table.c.next_attempt_at, table.c.id).limit(batch)).all()
            if not rows:
                return total
            total += self._each((row.event_id, None) for row in rows)
            last = (rows[-1].next_attempt_at, rows[-1].id)

    def _each(self, events: Iterable[tuple[str, HeldEvent | None]]) -> Delivery:
        """Deliver events by their ids, claiming those that are not held yet."""
        total = Delivery()
        for event_id, held in events:
            try:
                event = held or self._claim(event_id)
                if event is not None:
                    total += self._deliver(event)
            except Exception:
                # The change is committed: whoever caused it must not be told that it failed.
                _log.exception("event %s could not be delivered now; reconcile will try again", event_id)
                total += Delivery(failed=1)
        return total

    def _deliver(self, event: HeldEvent) -> Delivery:
        if event.delivered:
            return Delivery(delivered=1)
        failure: Exception | None = None
        done = _names(event.receivers_done)
        waiting = [receiver for receiver in receivers_of(event.name, self._sender) if receiver.name not in done]
        for number, receiver in enumerate(waiting, start=1):
            last = failure is None and number == len(waiting)
            try:
                # Each receiver gets one of its own: the first may have changed what it was given.
                checkout = event.checkout if number == 1 else self._checkout(event)
                self._run(event, checkout, receiver.function, [*done, receiver.name], last)
                done.append(receiver.name)
            except _LeaseLost:
                return Delivery()
            except Exception as error:
                _log.exception("receiver %s of %s failed for order %s", receiver.name, event.name, event.order_id)
                failure = error
                # A commit whose answer was lost may be a fact: who is marked as done is asked, not assumed.
                done = self._done(event)
        if failure is not None:
            self._postpone(event, failure)
        elif not waiting:
            self._mark(event)
        return Delivery(failed=1) if failure else Delivery(delivered=1)

    def _claim(self, event_id: str) -> HeldEvent | None:
        """The event, when this call may deliver it."""
        now, token = self._clock(), str(uuid.uuid4())
        claim = {"of_event_id": event_id, "now": now, "new_lease_token": token, "new_lease_until": now + LEASE}
        with self._engine().begin() as connection:
            row = connection.execute(self._statements.claim, claim).mappings().one_or_none()
            if row is None:
                return None
            return HeldEvent.of_row(row, self._load_checkout(connection, row["checkout_id"]))

    def _checkout(self, event: HeldEvent) -> CheckoutMixin:
        """The event's checkout as it is now; belongs to no session."""
        with self._engine().connect() as connection:
            return self._load_checkout(connection, event.checkout_id)

    def _load_checkout(self, connection: Connection, checkout_id: str) -> CheckoutMixin:
        found = connection.execute(self._find_checkout, {"of_checkout_id": checkout_id})
        return self._models.checkout_of_row(found.mappings().one())

    def _done(self, event: HeldEvent) -> list[str]:
        """The receivers that are marked as having run, as it is now."""
        table = self._models.events
        with self._engine().connect() as connection:
            marks = connection.execute(select(table.c.receivers_done).where(table.c.event_id == event.event_id))
            return _names(marks.scalar_one())

    def _run(
        self,
        event: HeldEvent,
        checkout: CheckoutMixin,
        receiver: Callable[..., object],
        done: list[str],
        last: bool,
    ) -> None:
        with self._scope() as session:
            try:
                # Loaded elsewhere: a receiver that only calls another service opens no transaction meanwhile.
                session.add(checkout)
                told = {"order_id": event.order_id, "checkout": checkout, "event_id": event.event_id}
                receiver(self._sender, **told, **event.keywords)
                session.flush()
                # The connection that the session writes this table with, and so the receiver's own transaction.
                connection = session.connection(bind_arguments={"clause": self._models.events})
                if not self._mark_done(connection, event, done[:-1], done, last):
                    raise _LeaseLost
                session.commit()
            except BaseException:
                session.rollback()
                raise

    def _mark(self, event: HeldEvent) -> None:
        done = _names(event.receivers_done)
        with self._engine().begin() as connection:
            self._mark_done(connection, event, done, done, last=True)

    def _mark_done(
        self, connection: Connection, event: HeldEvent, before: list[str], done: list[str], last: bool
    ) -> bool:
        """Mark who is done; False where the marks are others than `before`, as after one whose commit came late."""
        mark = _held(event) | {"of_receivers_done": json.dumps(before), "new_receivers_done": json.dumps(done)}
        if last:
            delivered = connection.execute(self._statements.deliver, mark | {"new_delivered_at": self._clock()})
            return delivered.rowcount == 1
        return connection.execute(self._statements.mark, mark).rowcount == 1

    def _postpone(self, event: HeldEvent, failure: Exception) -> None:
        """Release the lease and try again later: at the next reconcile first, then ever more rarely."""
        pause = timedelta(0) if event.attempts == 1 else _pause(event.attempts)
        later = {
            "new_next_attempt_at": self._clock() + pause,
            "new_last_error": f"{type(failure).__name__}: {failure}"[:_MAX_ERROR],
        }
        with self._engine().begin() as connection:
            connection.execute(self._statements.postpone, _held(event) | later)


class _EventStatements:
    """The statements on the event table, each built once: `new_…` is a column's new value, `of_…` its present one."""

    def __init__(self, table: Table) -> None:
        def new(*columns: str, **fixed: Any) -> dict[str, Any]:
            return {name: bindparam(f"new_{name}", type_=table.c[name].type) for name in columns} | fixed

        def has(column: str) -> Any:
            return table.c[column] == bindparam(f"of_{column}", type_=table.c[column].type)

        now = bindparam("now", type_=table.c.lease_until.type)
        free = or_(table.c.lease_until.is_(None), table.c.lease_until <= now)
        waiting = update(table).where(has("event_id"), table.c.delivered_at.is_(None))
        held = waiting.where(has("lease_token"))
        unmarked = held.where(has("receivers_done"))
        released = {"lease_token": None, "lease_until": None}
        self.claim = (
            waiting.where(table.c.next_attempt_at <= now, free)
            .values(new("lease_token", "lease_until", attempts=table.c.attempts + 1))
            .returning(*(table.c[name] for name in HELD_COLUMNS))
        )
        self.mark = unmarked.values(new("receivers_done"))
        self.deliver = unmarked.values(new("receivers_done", "delivered_at", next_attempt_at=None, **released))
        self.postpone = held.values(new("next_attempt_at", "last_error", **released))


def _held(event: HeldEvent) -> dict[str, Any]:
    return {"of_event_id": event.event_id, "of_lease_token": event.lease_token}


def _names(receivers_done: str) -> list[str]:
    found: list[str] = json.loads(receivers_done)
    return found


def _pause(attempts: int) -> timedelta:
    doublings: int = min(attempts - 2, 12)
    return min(_FIRST_PAUSE * (1 << doublings), _LONGEST_PAUSE)
