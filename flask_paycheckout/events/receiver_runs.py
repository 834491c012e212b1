"""The receivers of one event: run, marked and released.

Each receiver has its own transaction: its writes through `db.session`, and the mark that it has run, are committed
together. Meanwhile a lease keeps other processes from the event. A mark is refused if the lease is lost, so that a slow
process writes nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import SingletonThreadPool, StaticPool

from flask_paycheckout.clock import doubled
from flask_paycheckout.database.connections import begin_limited
from flask_paycheckout.database.transactions import ShopTransactions
from flask_paycheckout.events.event_model import EventMixin
from flask_paycheckout.events.event_queue import EventQueue, LeaseLost, names_of
from flask_paycheckout.events.events import Delivery, HeldEvent, Subject, Superseding, about_event
from flask_paycheckout.events.receivers import Receiver, Receivers, nobody_listens
from flask_paycheckout.per_process import PerProcess
from flask_paycheckout.signals import NEEDS_RECEIVER
from flask_paycheckout.text import first_line
from flask_paycheckout.wiring import Observed, Wiring

LONGEST = 600
"""Seconds after which work counts as hung, so that its lease is no longer renewed."""


@dataclass(eq=False)
class LeaseRenewal:
    """Calls renewal functions periodically while work is under way.

    The thread starts with the first lease, and ends when no lease is left.
    """

    every: float = 15
    """Seconds between two calls; much shorter than a lease."""

    longest: float = LONGEST
    """Seconds after which work counts as hung."""

    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _under_way: dict[object, tuple[float, Callable[[], object]]] = field(default_factory=dict, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)

    @contextmanager
    def during(self, renew: Callable[[], object]) -> Iterator[None]:
        """Renew a lease while the `with` block runs.

        :param renew: called in another thread; an error is ignored, because the lease then simply ends.
        """
        key = object()
        with self._lock:
            self._under_way[key] = (time.monotonic(), renew)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="paycheckout-leases", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._under_way.pop(key, None)

    def _work(self) -> None:
        while True:
            time.sleep(self.every)
            with self._lock:
                if not self._under_way:
                    self._thread = None
                    return
                under_way = list(self._under_way.values())
            for began, renew in under_way:
                if time.monotonic() - began < self.longest:
                    with suppress(Exception):
                        renew()


RENEWAL = PerProcess(LeaseRenewal)
"""The renewal thread of the process."""


_FIRST_PAUSE = timedelta(seconds=10)
_LONGEST_PAUSE = timedelta(hours=1)


class _Superseded(Exception):
    """The event is no longer true, so the receiver's writes are rolled back."""


@dataclass(frozen=True)
class ReceiverRuns:
    """Runs the receivers of one app's events."""

    wiring: Wiring
    queue: EventQueue
    receivers: Receivers
    superseding: Superseding
    shop: ShopTransactions
    renewal: Callable[[], LeaseRenewal] = RENEWAL
    failing: set[str] = field(default_factory=set, init=False)
    """The receivers whose failure was logged with a traceback since their last success."""

    def run(self, event: HeldEvent, queue: Sequence[EventMixin]) -> Delivery | None:
        """Run the receivers of a held event and release it; None if another process has taken its lease.

        :param queue: the undelivered events of its order or payout.
        """
        began = time.perf_counter()
        with self.kept([event]):
            delivery = self._run_receivers(event, queue)
        if delivery is not None and (delivery.delivered or delivery.failed):
            outcome = "delivered" if delivery.delivered else "failed"
            self.wiring.observers.record(Observed.DELIVERY, event.name, outcome, time.perf_counter() - began)
        return delivery

    def _run_receivers(self, event: HeldEvent, queue: Sequence[EventMixin]) -> Delivery | None:
        if self.superseding.overtaken([event]) or self._is_unwanted(event):
            return self._supersede(event)
        if self.receivers.is_unheard(event.name):
            return self._leave(event)
        runnable, blocked_until = self.runnable_receivers(event, queue)
        problem: str | None = None
        done_names = names_of(event.receivers_done)
        for number, receiver in enumerate(runnable, start=1):
            last = problem is None and blocked_until is None and number == len(runnable)
            try:
                # Load a copy for each receiver, because an earlier receiver may have changed the object.
                subject = event.subject if number == 1 else self.queue.subject_of(event)
                self._run_one(event, subject, receiver.function, [*done_names, receiver.name], last)
                done_names.append(receiver.name)
                self.failing.discard(receiver.name)
            except LeaseLost:
                return None
            except _Superseded:
                return self._supersede(event)
            except KeyboardInterrupt:
                self.let_go(event)
                raise
            except BaseException as error:
                # An error in one receiver must not stop the other receivers or this process.
                names = receiver.name, event.name, subject_text(event)
                fields = about_event(event, heals=self._fails_again(receiver, event))
                kind = f"receiver {receiver.name} of {event.name}"
                self.wiring.log.exception(kind, "receiver %s of %s failed for %s", *names, extra=fields)
                problem = f"{first_line(error)} (receiver {receiver.name})"
                # The commit may have succeeded although its reply was lost, so re-read `receivers_done`.
                done_names = self.queue.receivers_done(event)
        if problem is not None:
            return self._postpone(event, problem, _pause(event.attempts))
        if blocked_until is not None:
            # Do not count this attempt. Otherwise a long pause would follow the event's first own failure.
            self.queue.release(event, max(blocked_until, self.wiring.clock()), attempts=event.attempts - 1)
            return Delivery()
        if not runnable:
            self.queue.finish(event, delivered_at=self.wiring.clock())
        return Delivery(delivered=1)

    def _fails_again(self, receiver: Receiver, event: HeldEvent) -> bool:
        """Whether a failure of this receiver was logged before: for this event, or since its last success."""
        is_known = event.attempts > 1 or receiver.name in self.failing
        self.failing.add(receiver.name)
        return is_known

    def runnable_receivers(
        self, event: HeldEvent | EventMixin, queue: Sequence[EventMixin]
    ) -> tuple[list[Receiver], datetime | None]:
        """The receivers that may get an event now, and the time until which other receivers must wait, if any."""
        missing = self._missing(event)
        blocked: set[str] = set()
        until: datetime | None = None
        for earlier in queue:
            if earlier.event_id == event.event_id:
                break
            waited_for = {receiver.name for receiver in self._missing(earlier)}
            if waited_for & {receiver.name for receiver in missing}:
                blocked |= waited_for
                until = max(filter(None, (until, earlier.next_attempt_at, earlier.lease_until)))
        return [receiver for receiver in missing if receiver.name not in blocked], until

    def _missing(self, event: HeldEvent | EventMixin) -> list[Receiver]:
        """The receivers of an event that have not run yet."""
        done = names_of(event.receivers_done)
        return [receiver for receiver in self.receivers.of(event.name) if receiver.name not in done]

    def _is_unwanted(self, event: HeldEvent) -> bool:
        """Whether the shop says that it no longer wants an event; if its function fails, the event is delivered."""
        try:
            return self.superseding.is_unwanted(event)
        except Exception:
            message = "order %s could not be looked at for its reminder", event.order_id
            self.wiring.log.exception("reminders", *message, extra=about_event(event))
            return False

    def kept(self, events: Sequence[HeldEvent]) -> AbstractContextManager[None]:
        """Renew the leases of these events while the `with` block runs."""
        # Do not renew on a connection that threads share: a second thread would work in the receiver's transaction.
        if isinstance(self.wiring.engine().pool, (StaticPool, SingletonThreadPool)):
            return nullcontext()
        return self.renewal().during(lambda: self.queue.renew(events, self.wiring.clock()))

    def _run_one(
        self,
        event: HeldEvent,
        subject: Subject,
        receiver: Callable[..., object],
        done: list[str],
        last: bool,
    ) -> None:
        """Run a receiver, and commit its writes together with the mark that it has run, if the event is still true.

        Two databases are committed one after the other; after a crash between the commits, the receiver runs again.
        """
        with self.shop.open() as transaction:
            # The subject was loaded on another connection, so a receiver without queries opens no transaction.
            transaction.session.add(subject)
            self.receivers.receive(transaction, receiver, event, subject)
            delivered_at = self.wiring.clock() if last else None
            together = None if self.wiring.settings.separate_database else transaction.connection
            if together is None:
                self.queue.require_held(event, done[:-1])
            else:
                self.queue.mark(together, event, done, delivered_at)
            if self.superseding.overtaken([event], together):
                raise _Superseded
            transaction.commit()
            if together is None:
                with begin_limited(self.wiring.engine()) as connection:
                    self.queue.mark(connection, event, done, delivered_at)

    def _supersede(self, event: HeldEvent) -> Delivery:
        self.queue.finish(event, superseded_at=self.wiring.clock())
        self.wiring.observers.record(Observed.DELIVERY, event.name, "superseded")
        return Delivery()

    def _leave(self, event: HeldEvent) -> Delivery:
        """Leave an event to a process that listens to its signal."""
        if event.name == NEEDS_RECEIVER:
            return self._postpone(event, nobody_listens(event.name))
        self.queue.release(event, None, attempts=event.attempts - 1)
        return Delivery()

    def _postpone(self, event: HeldEvent, error: str, pause: timedelta = timedelta(0)) -> Delivery:
        self.queue.release(event, self.wiring.clock() + pause, last_error=error)
        return Delivery(failed=1)

    def let_go(self, event: HeldEvent) -> None:
        """Release the event at once, if the database still answers."""
        try:
            self.queue.release(event, self.wiring.clock())
        except Exception:
            text = "event %s could not be released; it waits until its lease ends"
            self.wiring.log.warning("releases of events", text, event.event_id, extra=about_event(event))


def subject_text(event: HeldEvent) -> str:
    """The order or payout that an event is about, in words."""
    if event.payout_reference is not None:
        return f"payout {event.payout_reference}"
    return f"order {event.order_id}, checkout {event.checkout_id}"


def _pause(attempts: int) -> timedelta:
    """The time until the next try: zero after the first try, then longer after each failure."""
    return timedelta(0) if attempts == 1 else doubled(attempts - 1, _FIRST_PAUSE, _LONGEST_PAUSE)
