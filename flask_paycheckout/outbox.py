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
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from weakref import ref

from sqlalchemy import Engine, select, tuple_, update
from sqlalchemy.orm import Session, scoped_session

from flask_paycheckout.clock import Clock
from flask_paycheckout.models import CheckoutMixin, Models
from flask_paycheckout.signals import BY_NAME

__all__ = ["Delivery", "Outbox"]

_LEASE = timedelta(minutes=5)
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


class _Claimed(NamedTuple):
    """What a deliverer knows of the event that it holds; columns of the event table."""

    event_id: str
    name: str
    checkout_id: str
    order_id: str
    reason: str | None
    attempts: int
    receivers_done: str


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

    def deliver(self, event_ids: Iterable[str]) -> Delivery:
        """Tell the receivers of these events now. A failure is logged and left to `deliver_due`."""
        total = Delivery()
        for event_id in event_ids:
            try:
                total += self._deliver(event_id)
            except Exception:
                # The change is committed: whoever caused it must not be told that it failed.
                _log.exception("event %s could not be delivered now; reconcile will try again", event_id)
                total += Delivery(failed=1)
        return total

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
            total += self.deliver(row.event_id for row in rows)
            last = (rows[-1].next_attempt_at, rows[-1].id)

    def _deliver(self, event_id: str) -> Delivery:
        token = str(uuid.uuid4())
        claimed = self._claim(event_id, token)
        if claimed is None:
            return Delivery()
        event, checkout = claimed
        failure: Exception | None = None
        done = _names(event.receivers_done)
        waiting = [(name, receiver) for name, receiver in self._receivers(event.name) if name not in done]
        for number, (name, receiver) in enumerate(waiting, start=1):
            last = failure is None and number == len(waiting)
            try:
                # Each receiver gets one of its own: the first may have changed what it was given.
                mine = checkout if number == 1 else self._checkout(event)
                self._run(event, mine, receiver, [*done, name], token, last)
                done.append(name)
            except _LeaseLost:
                return Delivery()
            except Exception as error:
                _log.exception("receiver %s of %s failed for order %s", name, event.name, event.order_id)
                failure = error
                # A commit whose answer was lost may be a fact: who is marked as done is asked, not assumed.
                done = self._done(event)
        if failure is not None:
            self._postpone(event, token, failure)
        elif not waiting:
            self._mark(event, token)
        return Delivery(failed=1) if failure else Delivery(delivered=1)

    def _claim(self, event_id: str, token: str) -> tuple[_Claimed, CheckoutMixin] | None:
        """The event, and its checkout that belongs to no session, when this call may deliver it."""
        table = self._models.events
        now = self._clock()
        free = (table.c.lease_until.is_(None)) | (table.c.lease_until <= now)
        claim = (
            update(table)
            .where(table.c.event_id == event_id, table.c.delivered_at.is_(None), table.c.next_attempt_at <= now, free)
            .values(lease_token=token, lease_until=now + _LEASE, attempts=table.c.attempts + 1)
            .returning(*(table.c[name] for name in _Claimed._fields))
        )
        with self._detached() as session:
            row = session.execute(claim).one_or_none()
            found = None if row is None else (_Claimed(*row), session.scalars(self._checkout_of(row)).one())
            session.commit()
        return found

    def _checkout(self, event: _Claimed) -> CheckoutMixin:
        """The event's checkout as it is now; belongs to no session."""
        with self._detached() as session:
            found: CheckoutMixin = session.scalars(self._checkout_of(event)).one()
        return found

    def _done(self, event: _Claimed) -> list[str]:
        """The receivers that are marked as having run, as it is now."""
        table = self._models.events
        with self._engine().connect() as connection:
            marks = connection.execute(select(table.c.receivers_done).where(table.c.event_id == event.event_id))
            return _names(marks.scalar_one())

    def _checkout_of(self, event: Any) -> Any:
        model = self._models.Checkout
        return select(model).where(model.checkout_id == event.checkout_id)

    @contextmanager
    def _detached(self) -> Iterator[Session]:
        """A session on the extension's own connection; what it loaded outlives it."""
        with Session(self._engine(), expire_on_commit=False) as session:
            yield session
            session.expunge_all()

    def _receivers(self, signal_name: str) -> Iterator[tuple[str, Callable[..., object]]]:
        """The signal's receivers with a name each that is the same in every process of the shop."""
        signal = BY_NAME[signal_name]
        connected = list(signal.receivers_for(self._sender))
        # In the order of their connection, which the signal's own iteration does not keep.
        references = [
            reference() if isinstance(reference, ref) else reference for reference in signal.receivers.values()
        ]
        seen: dict[str, int] = {}
        for receiver in (receiver for receiver in references if receiver in connected):
            name = f"{receiver.__module__}.{receiver.__qualname__}" if hasattr(receiver, "__qualname__") else ""
            name = name or f"{type(receiver).__module__}.{type(receiver).__qualname__}"
            seen[name] = seen.get(name, 0) + 1
            yield (name if seen[name] == 1 else f"{name}#{seen[name]}"), receiver

    def _run(
        self,
        event: _Claimed,
        checkout: CheckoutMixin,
        receiver: Callable[..., object],
        done: list[str],
        token: str,
        last: bool,
    ) -> None:
        with self._scope() as session:
            try:
                # Loaded elsewhere: a receiver that only calls another service opens no transaction meanwhile.
                session.add(checkout)
                extra = {} if event.reason is None else {"reason": event.reason}
                receiver(self._sender, order_id=event.order_id, checkout=checkout, event_id=event.event_id, **extra)
                session.flush()
                if _changed(session.execute(self._done_statement(event, token, done[:-1], done, last))) != 1:
                    raise _LeaseLost
                session.commit()
            except BaseException:
                session.rollback()
                raise

    def _mark(self, event: _Claimed, token: str) -> None:
        done = _names(event.receivers_done)
        with self._engine().begin() as connection:
            connection.execute(self._done_statement(event, token, done, done, last=True))

    def _done_statement(self, event: _Claimed, token: str, before: list[str], done: list[str], last: bool) -> Any:
        """Marks who is done; refused where the marks are others than `before`, as after one whose commit came late."""
        values: dict[str, object] = {"receivers_done": json.dumps(done)}
        if last:
            values |= {
                "delivered_at": self._clock(),
                "next_attempt_at": None,
                "lease_token": None,
                "lease_until": None,
            }
        unchanged = self._models.events.c.receivers_done == json.dumps(before)
        return self._held(event, token).where(unchanged).values(values)

    def _postpone(self, event: _Claimed, token: str, failure: Exception) -> None:
        """Release the lease and try again later: at the next reconcile first, then ever more rarely."""
        pause = timedelta(0) if event.attempts == 1 else _pause(event.attempts)
        values = {
            "next_attempt_at": self._clock() + pause,
            "lease_token": None,
            "lease_until": None,
            "last_error": f"{type(failure).__name__}: {failure}"[:_MAX_ERROR],
        }
        with self._engine().begin() as connection:
            connection.execute(self._held(event, token).values(values))

    def _held(self, event: _Claimed, token: str) -> Any:
        table = self._models.events
        return update(table).where(
            table.c.event_id == event.event_id, table.c.lease_token == token, table.c.delivered_at.is_(None)
        )


def _names(receivers_done: str) -> list[str]:
    found: list[str] = json.loads(receivers_done)
    return found


def _changed(result: Any) -> int:
    """Rows that an UPDATE changed; a session's `execute` is typed as if it only ever selected."""
    return int(result.rowcount)


def _pause(attempts: int) -> timedelta:
    doublings: int = min(attempts - 2, 12)
    return min(_FIRST_PAUSE * (1 << doublings), _LONGEST_PAUSE)
