"""The receivers of one event: run, marked and released.

Each receiver has a transaction of its own: its writes through `db.session`, and the mark that it has run, are committed
together. Meanwhile a lease keeps other processes away; a mark is refused when the lease is lost, so that a slow process
writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Engine, SingletonThreadPool, StaticPool, Table

from flask_paycheckout.clock import Clock
from flask_paycheckout.database.lock_limit import begin_limited
from flask_paycheckout.events.event_queue import EventQueue, QueuedEvent, names_of
from flask_paycheckout.events.events import HeldEvent, Subject
from flask_paycheckout.events.leases import RENEWAL
from flask_paycheckout.events.receivers import Receiver, is_unheard, nobody_listens, receivers_of
from flask_paycheckout.events.shop_transaction import ShopTransaction, ShopTransactions
from flask_paycheckout.service.logs import FailureLog, about_event
from flask_paycheckout.service.observations import Observed, Observers

if TYPE_CHECKING:
    from flask_paycheckout.checkouts.stored import Superseding

__all__ = ["Delivery", "ReceiverRuns", "subject_text"]

_FIRST_PAUSE = timedelta(seconds=10)
_LONGEST_PAUSE = timedelta(hours=1)
_MAX_ERROR = 500


class Delivery(msgspec.Struct, frozen=True):
    """The number of events that reached all of their receivers, and of those that did not."""

    delivered: int = 0
    failed: int = 0

    def __add__(self, other: Delivery) -> Delivery:
        return Delivery(self.delivered + other.delivered, self.failed + other.failed)


class _LeaseLost(Exception):
    """The event was changed, or its lease taken, by another process, so the receiver's writes are rolled back."""


class _Superseded(Exception):
    """The event is no longer true, so the receiver's writes are rolled back."""


class ReceiverRuns:
    """Runs the receivers of one app's events.

    :param engine: returns the engine of the event table, when first needed.
    :param table: the event table.
    :param shop: opens the receivers' transactions.
    :param sender: the Flask app, as the signals' sender.
    :param unheard: the signals that need no receiver in this shop (PAYCHECKOUT_UNHEARD).
    :param separate: whether receivers write to another database than that of the marks.
    """

    def __init__(
        self,
        engine: Callable[[], Engine],
        table: Table,
        queue: EventQueue,
        superseding: Superseding,
        clock: Clock,
        shop: ShopTransactions,
        sender: object,
        log: FailureLog,
        observers: Observers,
        unheard: Collection[str],
        separate: bool,
    ) -> None:
        self._engine = engine
        self._table = table
        self._queue = queue
        self._superseding = superseding
        self._clock = clock
        self._shop = shop
        self._sender = sender
        self._log = log
        self._observers = observers
        # The receivers whose failure was logged with a traceback since their last success.
        self._failing: set[str] = set()
        self._unheard = unheard
        self._separate = separate
        self._renewal = RENEWAL

    def timed(self, event: HeldEvent, queue: Sequence[QueuedEvent]) -> Delivery | None:
        began = time.perf_counter()
        delivery = self._tell(event, queue)
        if delivery is not None and (delivery.delivered or delivery.failed):
            outcome = "delivered" if delivery.delivered else "failed"
            self._observers.tell(Observed.DELIVERY, event.name, outcome, time.perf_counter() - began)
        return delivery

    def _tell(self, event: HeldEvent, queue: Sequence[QueuedEvent]) -> Delivery | None:
        """Run the receivers of a held event and release it; None when another process has taken its lease."""
        if self.is_superseded(event):
            return self._supersede(event)
        if is_unheard(event.name, self._sender, self._unheard):
            return self._postpone(event, self._clock(), nobody_listens(event.name))
        runnable, blocked_until = self.turns(event, queue)
        failure: BaseException | None = None
        failed = ""
        done = names_of(event.receivers_done)
        # Now, since a receiver's own session may expire the object.
        account = event.subject.account
        for number, receiver in enumerate(runnable, start=1):
            last = failure is None and blocked_until is None and number == len(runnable)
            try:
                # Load a copy for each receiver, since an earlier receiver may have changed the object.
                subject = event.subject if number == 1 else self._queue.subject_of(event)
                self._run(event, subject, receiver.function, [*done, receiver.name], last)
                done.append(receiver.name)
                self._failing.discard(receiver.name)
            except _LeaseLost:
                return None
            except _Superseded:
                return self._supersede(event)
            except KeyboardInterrupt:
                self.let_go(event)
                raise
            except BaseException as error:
                # An error in one receiver must not stop the other receivers or this process.
                names = receiver.name, event.name, subject_text(event)
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

    def turns(
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

    def is_superseded(self, event: HeldEvent | QueuedEvent) -> bool:
        if not self._superseding.may_happen_to(event):
            return False
        with self._engine().connect() as connection:
            return self._superseding.has_happened_to(event, connection)

    def kept(self, events: Sequence[HeldEvent]) -> AbstractContextManager[None]:
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
        with self._shop.open() as transaction:
            # Loaded on another connection, so that a receiver that only calls another service opens no transaction.
            transaction.session.add(subject)
            transaction.receive(receiver, self._sender, event._asdict(), subject)
            if self._separate:
                self._commit_then_mark(transaction, event, done, last)
            else:
                self._mark_and_commit(transaction, event, done, last)

    def _mark_and_commit(self, transaction: ShopTransaction, event: HeldEvent, done: list[str], last: bool) -> None:
        """Commit a receiver's writes together with the mark that it has run, if the event is still true."""
        connection = transaction.connection
        if not self._queue.mark(connection, event, done[:-1], done, self._clock() if last else None):
            raise _LeaseLost
        if self._superseding.has_happened_to(event, connection, lock=True):
            raise _Superseded
        transaction.commit()

    def _commit_then_mark(self, transaction: ShopTransaction, event: HeldEvent, done: list[str], last: bool) -> None:
        """Commit in two databases, one after the other; after a crash between the commits the receiver runs again."""
        with self._engine().connect() as connection:
            if not self._queue.is_held(connection, event, done[:-1]):
                raise _LeaseLost
            if self._superseding.has_happened_to(event, connection):
                raise _Superseded
        transaction.commit()
        with begin_limited(self._engine()) as connection:
            if not self._queue.mark(connection, event, done[:-1], done, self._clock() if last else None):
                raise _LeaseLost

    def _mark(self, event: HeldEvent) -> None:
        done = names_of(event.receivers_done)
        with begin_limited(self._engine()) as connection:
            self._queue.mark(connection, event, done, done, self._clock())

    def _supersede(self, event: HeldEvent) -> Delivery:
        self._queue.supersede(event, self._clock())
        self._observers.tell(Observed.DELIVERY, event.name, "superseded")
        return Delivery()

    def _postpone(self, event: HeldEvent, until: datetime, error: str) -> Delivery:
        """Release an event for a later try: at the next reconcile at first, then with growing pauses."""
        self._queue.postpone(event, until, error)
        return Delivery(failed=1)

    def let_go(self, event: HeldEvent) -> None:
        """Release the event at once, if the database still answers."""
        try:
            self._queue.release(event, self._clock())
        except Exception:
            text = "event %s could not be released; it waits until its lease ends"
            self._log.warning("releases of events", text, event.event_id, extra=about_event(event, None))


def subject_text(event: HeldEvent) -> str:
    """The order or payout that an event is about, for people."""
    if event.payout_reference is not None:
        return f"payout {event.payout_reference}"
    return f"order {event.order_id}, checkout {event.checkout_id}"


def _pause(attempts: int) -> timedelta:
    doublings: int = min(attempts - 2, 12)
    return min(_FIRST_PAUSE * (1 << doublings), _LONGEST_PAUSE)
