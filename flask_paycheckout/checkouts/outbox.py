"""Delivery of committed events to receivers: database effects exactly once, others at least once per `event_id`.

Each event has two kinds of transactions. The first has stored it together with the state change. The second belongs to
one receiver: its writes through `db.session`, and the mark that it has run, are committed together. Meanwhile a lease
keeps other processes away; a mark is refused when the lease is lost, so that a slow process writes nothing.

The undelivered events of an order form its queue. A receiver gets an event only after all earlier ones in the queue; an
event that is no longer true is superseded and delivered to nobody.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Engine, SingletonThreadPool, StaticPool
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import scoped_session

from flask_paycheckout.checkouts.leases import RENEWAL
from flask_paycheckout.clock import Clock
from flask_paycheckout.rules.receivers import Receiver, is_unheard, nobody_listens, receivers_of, unheard_signals
from flask_paycheckout.service.logs import FailureLog, about, about_event
from flask_paycheckout.service.observations import Observed, Observers
from flask_paycheckout.store.checkouts import Checkouts
from flask_paycheckout.store.event_queue import DueEvent, EventQueue, QueuedEvent, names_of
from flask_paycheckout.store.events import LEASE, HeldEvent, Subject, keywords_of
from flask_paycheckout.store.lock_limit import begin_limited, limit_lock_waits
from flask_paycheckout.store.models import Models
from flask_paycheckout.store.payouts import Payouts
from flask_paycheckout.store.superseded import Superseding

__all__ = ["Delivery", "Outbox"]

_FIRST_PAUSE = timedelta(seconds=10)
_LONGEST_PAUSE = timedelta(hours=1)
_MAX_ERROR = 500

Scope = Callable[[], AbstractContextManager[scoped_session[Any]]]


@dataclass(frozen=True)
class Delivery:
    """The number of events that reached all of their receivers, and of those that did not."""

    delivered: int = 0
    failed: int = 0

    def __add__(self, other: Delivery) -> Delivery:
        return Delivery(self.delivered + other.delivered, self.failed + other.failed)


class _LeaseLost(Exception):
    """The event was changed, or its lease taken, by another process, so the receiver's writes are rolled back."""


class _Superseded(Exception):
    """The event is no longer true, so the receiver's writes are rolled back."""


class Outbox:
    """Delivers the stored events of one app.

    :param scope: opens an application context of its own, and yields the shop's `db.session` in it.
    :param sender: the Flask app, as the signals' sender.
    :param unheard: the signals that need no receiver in this shop (PAYCHECKOUT_UNHEARD).
    :param separate: whether receivers write to another database than that of the marks.
    """

    def __init__(
        self,
        engine: Callable[[], Engine],
        models: Models,
        checkouts: Checkouts,
        payouts: Payouts,
        clock: Clock,
        scope: Scope,
        sender: object,
        log: FailureLog,
        observers: Observers,
        unheard: Collection[str] = (),
        separate: bool = False,
    ) -> None:
        self._engine = engine
        self._events = models.events
        self._clock = clock
        self._scope = scope
        self._sender = sender
        self._log = log
        self._observers = observers
        # The receivers whose failure was logged with a traceback since their last success.
        self._failing: set[str] = set()
        self._unheard = unheard
        self._separate = separate
        self._renewal = RENEWAL
        self._queue = EventQueue(engine, models, checkouts, payouts)
        self._superseding = Superseding(models.checkouts, checkouts)

    def deliver(self, events: Iterable[HeldEvent], since: datetime | None = None) -> Delivery:
        """Deliver these events now; a failure is logged, and `deliver_due` tries again.

        :param since: the time at which the first of them was leased, or earlier; None for just now.
        """
        given = list(events)
        held = [event for event in given if event.lease_token is not None]
        total = Delivery(delivered=sum(event.delivered for event in given))
        for event in given:
            if event.delivered:
                self._observers.tell(Observed.DELIVERY, event.name, "delivered")
            elif event.lease_token is None:
                self._observers.tell(Observed.DELIVERY, event.name, "unheard")
                why, fields = nobody_listens(event.name), about_event(event, event.subject.account)
                told = event.name, _subject_text(event), why
                self._log.warning(f"events {event.name}", "%s of %s waits: %s", *told, extra=fields)
                total += Delivery(failed=1)
        with self._kept(held):
            if held and (len(held) > 1 or since is not None):
                return total + self._together(held, since or self._clock())
            return total + self._each(((event.event_id, event) for event in held), set())

    def let_go(self, events: Iterable[HeldEvent]) -> None:
        """Release these events at once, so that another process can deliver them, if the database still answers."""
        for event in events:
            if event.lease_token is not None:
                self._let_go(event)

    def deliver_due(self, batch: int = 1000) -> Delivery:
        """Deliver every event that is due, oldest first; a failed one is not tried again in this call.

        :param batch: the number of events that one query returns.
        """
        started = self._clock()
        total = Delivery()
        failed: set[str] = set()
        unheard = self._leave_unheard(started)
        last: DueEvent | None = None
        while page := self._queue.due(started, after=last, limit=batch, unheard=unheard):
            total += self._each(((due.event_id, None) for due in page), failed)
            last = page[-1]
        return total

    def deliver_waiting(
        self, order_id: str | None, *, now: bool, progress: Callable[[int], object] | None = None, batch: int = 1000
    ) -> Delivery:
        """Deliver waiting events, oldest first, each at most once in this call.

        :param order_id: only events of this order; None for all.
        :param now: also events whose next try is due later, except those that another process is delivering.
        :param progress: called after each event with the number of events so far.
        """
        if now:
            self._queue.hurry(order_id, self._clock())
        started, total, failed = self._clock(), Delivery(), set[str]()
        last: DueEvent | None = None
        turns = 0
        while page := self._queue.due(started, after=last, limit=batch, order_id=order_id):
            for due in page:
                total += self._each([(due.event_id, None)], failed)
                turns += 1
                if progress is not None:
                    progress(turns)
            last = page[-1]
        return total

    def count_waiting(self, order_id: str | None = None) -> int:
        """Count the events that are neither delivered nor superseded, of one order or of all."""
        return self._queue.count_waiting(order_id)

    def _leave_unheard(self, due_by: datetime) -> list[str]:
        """Name the signals without a receiver here, and store that reason with their waiting events."""
        names = unheard_signals(self._sender, self._unheard)
        if names:
            self._queue.explain_unheard({name: nobody_listens(name) for name in names}, due_by)
        return names

    def _each(self, events: Iterable[tuple[str, HeldEvent | None]], failed: set[str]) -> Delivery:
        """Deliver events by their ids, leasing those that are not held yet.

        :param failed: collects the ids of events that failed in this call, which are not tried again in it.
        """
        total = Delivery()
        for event_id, held in events:
            if event_id in failed:
                continue

            def deliver(event_id: str = event_id, held: HeldEvent | None = held) -> Delivery:
                event = held or self._queue.claim(event_id, self._clock(), only_if_due=True)
                if event is None:
                    return Delivery()
                with self._kept([event]):
                    return self._deliver(event, failed)

            total += self._attempt(event_id, held, deliver)
        return total

    def _attempt(self, event_id: str, held: HeldEvent | None, deliver: Callable[[], Delivery]) -> Delivery:
        """Deliver an event; an error is logged, since the state change is committed and must not seem to fail."""
        try:
            return deliver()
        except Exception:
            fields = about(event_id=event_id) if held is None else about_event(held, None)
            text = "event %s could not be delivered now; reconcile will try again"
            self._log.exception("deliveries of events", text, event_id, extra=fields)
            return Delivery(failed=1)

    # Several events

    def _together(self, held: Sequence[HeldEvent], since: datetime) -> Delivery:
        """Deliver held events; the queues of all their orders are read by one query before, and by one after.

        An event whose order has other waiting events is delivered with them, by queries of its own.
        """
        total, failed = Delivery(), set[str]()
        queues = self._queues_of(held)
        places = {event.event_id: queues[event.order_id][0].id for event in held if _is_alone(event, queues)}
        waiting = sorted(held, key=lambda event: event.event_id not in places)
        told: list[HeldEvent] = []
        try:
            while waiting:
                event = waiting[0]
                if self._clock() - since > LEASE / 2:
                    total += self._attempt(event.event_id, event, partial(self._anew, event, failed))
                elif event.event_id in places:
                    total += self._attempt(event.event_id, event, partial(self._alone, event, queues, failed))
                    told.append(event)
                else:
                    total += self._each([(event.event_id, event)], failed)
                del waiting[0]
        except BaseException:
            self.let_go(waiting[1:])
            raise
        queues = self._queues_of(told)
        for event in told:
            if queue := queues.get(event.order_id):
                follow = partial(self._walk, event, queue, places[event.event_id], failed, holding=False)
                total += self._attempt(event.event_id, event, follow)
        return total

    def _queues_of(self, events: Sequence[HeldEvent]) -> dict[str, list[QueuedEvent]]:
        """The queues of these events' orders, by the order id; empty when they cannot be read now."""
        try:
            return self._queue.beside_each(events) if events else {}
        except SQLAlchemyError as error:
            text = "the queues of %d events could not be read: %s"
            told = len(events), type(error).__name__
            self._log.warning("deliveries of events", text, *told, extra=about(), error=error)
            return {}

    def _alone(self, event: HeldEvent, queues: dict[str, list[QueuedEvent]], failed: set[str]) -> Delivery:
        """Deliver a held event with nothing else in its queue."""
        delivery = self._timed(event, queues[event.order_id]) or Delivery()
        if delivery.failed:
            failed.add(event.event_id)
        return delivery

    def _anew(self, event: HeldEvent, failed: set[str]) -> Delivery:
        """Lease an event once more and deliver it: those before it took so long that its lease may have ended."""
        self._queue.release(event, self._clock())
        return self._each([(event.event_id, None)], failed)

    # The queue of an order

    def _deliver(self, mine: HeldEvent, failed: set[str]) -> Delivery:
        """Deliver a held event, after earlier due events of its order, and then the events that waited for it."""
        queue = self._queue.beside(mine)
        place = next((queued.id for queued in queue if queued.event_id == mine.event_id), None)
        if place is None:
            # Another process has delivered it.
            return Delivery()
        return self._walk(mine, queue, place, failed, holding=True)

    def _walk(
        self, mine: HeldEvent, queue: Sequence[QueuedEvent], place: int, failed: set[str], *, holding: bool
    ) -> Delivery:
        """Deliver what can be delivered of a queue now.

        :param mine: the event that this process was asked to deliver, and `place` its row id.
        :param holding: whether it is held and not delivered yet.
        """
        total, passed = Delivery(), set(failed)
        while True:
            turn = self._next(queue, place, holding, passed)
            if turn is None:
                return total
            if turn.id == place and holding:
                event: HeldEvent | None = mine
                holding = False
            else:
                event = self._queue.claim(turn.event_id, self._clock(), only_if_due=False)
            delivery = None if event is None else self._timed(event, queue)
            if delivery is None:
                # Another process holds it by now.
                passed.add(turn.event_id)
            else:
                total += delivery
                if delivery.failed:
                    passed.add(turn.event_id)
                    failed.add(turn.event_id)
            # Events that waited for this one may be delivered now. A process that still saw it as undelivered has
            # released its own event by now, or will find this one done.
            queue = self._queue.beside(mine)

    def _next(self, queue: Sequence[QueuedEvent], place: int, holding: bool, passed: set[str]) -> QueuedEvent | None:
        """The first event of the queue that can be delivered now.

        :param place: the row id of the event that this process was asked to deliver.
        :param holding: whether that event is held and not delivered yet.
        :param passed: the ids of events that were already tried.
        """
        now = self._clock()
        for queued in queue:
            if holding and queued.id == place:
                return queued
            if queued.event_id in passed or (queued.lease_until is not None and queued.lease_until > now):
                continue
            if is_unheard(queued.name, self._sender, self._unheard):
                continue
            if self._is_superseded(queued):
                return queued
            if queued.id < place and queued.next_attempt_at > now:
                continue
            if holding and queued.id > place:
                return None
            runnable, blocked_until = self._turns(queued, queue)
            if runnable or blocked_until is None:
                return queued
        return None

    def _turns(
        self, event: HeldEvent | QueuedEvent, queue: Sequence[QueuedEvent]
    ) -> tuple[list[Receiver], datetime | None]:
        """The receivers that may get an event now, and the time until which others must wait, if there are others."""
        missing = self._missing(event)
        blocked: set[str] = set()
        until: datetime | None = None
        for earlier in queue:
            if earlier.event_id == event.event_id:
                break
            waited_for = {receiver.name for receiver in self._missing(earlier)}
            if waited_for & {receiver.name for receiver in missing}:
                blocked |= waited_for
                end = max(earlier.next_attempt_at, earlier.lease_until or earlier.next_attempt_at)
                until = end if until is None else max(until, end)
        return [receiver for receiver in missing if receiver.name not in blocked], until

    def _missing(self, event: HeldEvent | QueuedEvent) -> list[Receiver]:
        """The receivers of an event that have not run yet."""
        done = names_of(event.receivers_done)
        return [receiver for receiver in receivers_of(event.name, self._sender) if receiver.name not in done]

    def _is_superseded(self, event: HeldEvent | QueuedEvent) -> bool:
        if not self._superseding.may_happen_to(event):
            return False
        with self._engine().connect() as connection:
            return self._superseding.has_happened_to(event, connection)

    # One event

    def _timed(self, event: HeldEvent, queue: Sequence[QueuedEvent]) -> Delivery | None:
        began = time.perf_counter()
        delivery = self._tell(event, queue)
        if delivery is not None and (delivery.delivered or delivery.failed):
            outcome = "delivered" if delivery.delivered else "failed"
            self._observers.tell(Observed.DELIVERY, event.name, outcome, time.perf_counter() - began)
        return delivery

    def _tell(self, event: HeldEvent, queue: Sequence[QueuedEvent]) -> Delivery | None:
        """Run the receivers of a held event and release it; None when another process has taken its lease."""
        if self._is_superseded(event):
            return self._supersede(event)
        if is_unheard(event.name, self._sender, self._unheard):
            return self._postpone(event, self._clock(), nobody_listens(event.name))
        runnable, blocked_until = self._turns(event, queue)
        failure: BaseException | None = None
        failed = ""
        done = names_of(event.receivers_done)
        # Now, since a receiver's own session may expire the object.
        account = event.subject.account
        for number, receiver in enumerate(runnable, start=1):
            last = failure is None and blocked_until is None and number == len(runnable)
            try:
                # Each receiver gets its own copy, since an earlier one may have changed the object.
                subject = event.subject if number == 1 else self._queue.subject_of(event)
                self._run(event, subject, receiver.function, [*done, receiver.name], last)
                done.append(receiver.name)
                self._failing.discard(receiver.name)
            except _LeaseLost:
                return None
            except _Superseded:
                return self._supersede(event)
            except KeyboardInterrupt:
                self._let_go(event)
                raise
            except BaseException as error:
                # No error of a receiver may stop the other receivers, or this process.
                names = receiver.name, event.name, _subject_text(event)
                fields = about_event(event, account, heals=self._fails_again(receiver, event))
                kind = f"receiver {receiver.name} of {event.name}"
                self._log.exception(kind, "receiver %s of %s failed for %s", *names, extra=fields)
                failure, failed = error, receiver.name
                # The commit may have succeeded although its reply was lost, so re-read `receivers_done`.
                done = self._queue.receivers_done(event)
        if failure is not None:
            pause = timedelta(0) if event.attempts == 1 else _pause(event.attempts)
            text = f"{type(failure).__name__}: {failure}"[:_MAX_ERROR]
            return self._postpone(event, self._clock() + pause, f"{text} (receiver {failed})")
        if blocked_until is not None:
            self._queue.release(event, max(blocked_until, self._clock()))
            return Delivery()
        if not runnable:
            self._mark(event)
        return Delivery(delivered=1)

    def _fails_again(self, receiver: Receiver, event: HeldEvent) -> bool:
        """Whether a failure of this receiver was logged before: for this event, or since its last success here."""
        known = event.attempts > 1 or receiver.name in self._failing
        self._failing.add(receiver.name)
        return known

    def _kept(self, events: Sequence[HeldEvent]) -> AbstractContextManager[None]:
        """Renew the leases of these events while the `with` block runs."""
        # Not on a connection that all threads share: a second thread would work inside the receiver's transaction.
        if not events or isinstance(self._engine().pool, (StaticPool, SingletonThreadPool)):
            return nullcontext()
        return self._renewal.during(lambda: self._queue.renew(events, self._clock()))

    def _run(
        self,
        event: HeldEvent,
        subject: Subject,
        receiver: Callable[..., object],
        done: list[str],
        last: bool,
    ) -> None:
        with self._scope() as session:
            try:
                # Loaded on another connection, so that a receiver that only calls another service opens no transaction.
                session.add(subject)
                receiver(self._sender, **keywords_of(event._asdict(), subject))
                session.flush()
                if self._separate:
                    self._commit_then_mark(session, event, done, last)
                else:
                    self._mark_and_commit(session, event, done, last)
            except BaseException:
                session.rollback()
                raise

    def _mark_and_commit(self, session: scoped_session[Any], event: HeldEvent, done: list[str], last: bool) -> None:
        """Commit a receiver's writes together with the mark that it has run, if the event is still true."""
        # The session's connection for this table, and so the receiver's own transaction.
        connection = session.connection(bind_arguments={"clause": self._events})
        limit_lock_waits(connection)
        if not self._queue.mark(connection, event, done[:-1], done, self._clock() if last else None):
            raise _LeaseLost
        if self._superseding.has_happened_to(event, connection, lock=True):
            raise _Superseded
        session.commit()

    def _commit_then_mark(self, session: scoped_session[Any], event: HeldEvent, done: list[str], last: bool) -> None:
        """Commit in two databases, one after the other; after a crash between the commits the receiver runs again."""
        with self._engine().connect() as connection:
            if not self._queue.is_held(connection, event, done[:-1]):
                raise _LeaseLost
            if self._superseding.has_happened_to(event, connection):
                raise _Superseded
        session.commit()
        with begin_limited(self._engine()) as connection:
            if not self._queue.mark(connection, event, done[:-1], done, self._clock() if last else None):
                raise _LeaseLost

    def _mark(self, event: HeldEvent) -> None:
        done = names_of(event.receivers_done)
        with begin_limited(self._engine()) as connection:
            self._queue.mark(connection, event, done, done, self._clock())

    # Releasing an event

    def _supersede(self, event: HeldEvent) -> Delivery:
        self._queue.supersede(event, self._clock())
        self._observers.tell(Observed.DELIVERY, event.name, "superseded")
        return Delivery()

    def _postpone(self, event: HeldEvent, until: datetime, error: str) -> Delivery:
        """Release an event for a later try: at the next reconcile at first, then with growing pauses."""
        self._queue.postpone(event, until, error)
        return Delivery(failed=1)

    def _let_go(self, event: HeldEvent) -> None:
        """Release the event at once, if the database still answers."""
        try:
            self._queue.release(event, self._clock())
        except Exception:
            text = "event %s could not be released; it waits until its lease ends"
            self._log.warning("releases of events", text, event.event_id, extra=about_event(event, None))


def _is_alone(event: HeldEvent, queues: dict[str, list[QueuedEvent]]) -> bool:
    """Whether no other event of its order waits."""
    return [queued.event_id for queued in queues.get(event.order_id, ())] == [event.event_id]


def _subject_text(event: HeldEvent) -> str:
    """The order or payout that an event is about, for people."""
    if event.payout_reference is not None:
        return f"payout {event.payout_reference}"
    return f"order {event.order_id}, checkout {event.checkout_id}"


def _pause(attempts: int) -> timedelta:
    doublings: int = min(attempts - 2, 12)
    return min(_FIRST_PAUSE * (1 << doublings), _LONGEST_PAUSE)
