"""Delivery of committed events to receivers: database effects exactly once, others at least once per `event_id`.

Each event is stored in the transaction of the state change. Each of its receivers runs in another transaction; see
`receiver_runs`.

The undelivered events of an order form its queue. A receiver gets an event only after all earlier events in the queue.
An event that is no longer true is superseded, and not delivered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from flask_paycheckout.events.event_model import EventMixin
from flask_paycheckout.events.event_queue import EventQueue
from flask_paycheckout.events.events import Delivery, HeldEvent, about_event
from flask_paycheckout.events.receiver_runs import ReceiverRuns
from flask_paycheckout.events.receivers import Receivers
from flask_paycheckout.signals import NEEDS_RECEIVER
from flask_paycheckout.wiring import Observed, Wiring
from flask_paycheckout.wiring.logs import about


@dataclass(frozen=True)
class Outbox:
    """Delivers the stored events of one app."""

    wiring: Wiring
    queue: EventQueue
    runs: ReceiverRuns
    receivers: Receivers
    batch: int = 1000
    """The number of events that one query returns."""

    def deliver(self, events: Sequence[HeldEvent]) -> Delivery:
        """Deliver these events now; a failure is logged, and retried by `deliver_due`."""
        delivered, unheard, failed = 0, 0, set[str]()
        leased = [event for event in events if not event.delivered and event.lease_token is not None]
        for event in events:
            if event.delivered:
                delivered += 1
                self.wiring.observers.record(Observed.DELIVERY, event.name, "delivered")
            elif event.lease_token is None:
                unheard += event.name == NEEDS_RECEIVER
                self.wiring.observers.record(Observed.DELIVERY, event.name, "unheard")
        total = Delivery(delivered, unheard)
        if not leased:
            return total
        with self.runs.kept(leased):
            for event in leased:
                total += self._attempt(event.event_id, event, failed)
        return total

    def deliver_due(self) -> Delivery:
        """Deliver every event that is due, oldest first; this call does not retry failed events."""
        started, heard = self.wiring.clock(), self.receivers.heard()
        self.queue.call_heard(heard, started, self.batch)
        if NEEDS_RECEIVER in heard:
            return self._deliver_pages(started)
        self.queue.explain_unheard(NEEDS_RECEIVER, started)
        return self._deliver_pages(started, left_out=NEEDS_RECEIVER)

    def deliver_waiting(self, order_id: str | None, *, now: bool) -> Delivery:
        """Deliver waiting events, oldest first, each at most once in this call.

        :param order_id: only events of this order; None for all.
        :param now: also events whose next try is due later, except events that another process is delivering.
        """
        self.queue.call_heard(self.receivers.heard(), self.wiring.clock(), self.batch)
        if now:
            self.queue.hurry(order_id, self.wiring.clock())
        return self._deliver_pages(self.wiring.clock(), order_id=order_id)

    def _deliver_pages(self, due_by: datetime, *, left_out: str = "", order_id: str | None = None) -> Delivery:
        total, failed = Delivery(), set[str]()
        last: EventMixin | None = None
        while page := self.queue.due(due_by, after=last, limit=self.batch, left_out=left_out, order_id=order_id):
            for last in page:
                total += self._attempt(last.event_id, None, failed)
        return total

    def _attempt(self, event_id: str, leased: HeldEvent | None, failed: set[str]) -> Delivery:
        """Deliver an event. An error is only logged, because the state change is committed and must not seem to fail.

        :param leased: the event, if it is leased already.
        :param failed: collects the ids of events that failed in this call, which does not retry them.
        """
        if event_id in failed:
            return Delivery()
        try:
            if leased is not None:
                return self._deliver(leased, failed)
            event = self.queue.claim(event_id, self.wiring.clock(), only_if_due=True)
            if event is None:
                return Delivery()
            with self.runs.kept([event]):
                return self._deliver(event, failed)
        except Exception:
            fields = about(event_id=event_id) if leased is None else about_event(leased)
            text = "event %s could not be delivered now; reconcile will try again"
            self.wiring.log.exception("deliveries of events", text, event_id, extra=fields)
            return Delivery(failed=1)

    # The queue of an order

    def _deliver(self, mine: HeldEvent, failed: set[str]) -> Delivery:
        """Deliver a held event, after earlier due events of its order, and then the events that waited for it."""
        total, passed, holding = Delivery(), set(failed), True
        queue = self._queue_of(mine)
        place = next((queued.id for queued in queue if queued.event_id == mine.event_id), None)
        # The event is not in the queue if another process has delivered it.
        while place is not None and (following := self._next(queue, place, holding, passed)) is not None:
            if following.id == place and holding:
                event: HeldEvent | None = mine
                holding = False
            else:
                event = self.queue.claim(following.event_id, self.wiring.clock(), only_if_due=False)
            delivery = None if event is None else self.runs.run(event, queue)
            if delivery is None:
                # Another process holds it now.
                passed.add(following.event_id)
            else:
                total += delivery
                if delivery.failed:
                    passed.add(following.event_id)
                    failed.add(following.event_id)
            # Events that waited for this one may be deliverable now. A process that still saw it as undelivered has
            # released its own event already, or will see this one as done.
            queue = self._queue_of(mine)
        return total

    def _queue_of(self, mine: HeldEvent) -> list[EventMixin]:
        """Supersede the other events of its order that are no longer true, and return the undelivered events."""
        queue = self.queue.of_subject(mine)
        # Check all events at once, because an order may have very many: one for each payment page with a chosen method.
        others = [queued for queued in queue if queued.event_id != mine.event_id]
        overtaken = self.runs.superseding.overtaken(others)
        if not overtaken:
            return queue
        for name in self.queue.supersede_free([queued.event_id for queued in overtaken], self.wiring.clock()):
            self.wiring.observers.record(Observed.DELIVERY, name, "superseded")
        return self.queue.of_subject(mine)

    def _next(self, queue: Sequence[EventMixin], place: int, holding: bool, passed: set[str]) -> EventMixin | None:
        """The first event of the queue that can be delivered now.

        :param place: the row id of the event that this process is to deliver.
        :param holding: whether that event is held and not delivered yet.
        :param passed: the ids of events that were already tried.
        """
        now = self.wiring.clock()
        for queued in queue:
            if holding and queued.id == place:
                return queued
            if queued.event_id in passed or (queued.lease_until is not None and queued.lease_until > now):
                continue
            if self.receivers.is_unheard(queued.name):
                continue
            if queued.id < place and (queued.next_attempt_at or now) > now:
                continue
            if holding and queued.id > place:
                return None
            runnable, blocked_until = self.runs.runnable_receivers(queued, queue)
            if runnable or blocked_until is None:
                return queued
        return None
