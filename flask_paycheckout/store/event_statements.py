"""The statements on the event table, each built once: `new_…` is a column's new value, `of_…` its present one."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Table, bindparam, exists, func, or_, select, tuple_, update

from flask_paycheckout.store.events import HELD_COLUMNS

__all__ = ["EventStatements", "QueuedEvent"]


class QueuedEvent(NamedTuple):
    """An event that was neither delivered nor superseded yet, with what decides on its turn."""

    id: int
    event_id: str
    name: str
    checkout_id: str
    order_id: str
    receivers_done: str
    next_attempt_at: datetime
    lease_until: datetime | None


class EventStatements:
    """Statements on one app's event table."""

    def __init__(self, table: Table) -> None:
        def new(*columns: str, **fixed: Any) -> dict[str, Any]:
            return {name: bindparam(f"new_{name}", type_=table.c[name].type) for name in columns} | fixed

        def has(column: str) -> Any:
            return table.c[column] == bindparam(f"of_{column}", type_=table.c[column].type)

        now = bindparam("now", type_=table.c.lease_until.type)
        is_free = or_(table.c.lease_until.is_(None), table.c.lease_until <= now)
        waiting = update(table).where(has("event_id"), table.c.delivered_at.is_(None), table.c.superseded_at.is_(None))
        free = waiting.where(is_free)
        held = waiting.where(has("lease_token"))
        unmarked = held.where(has("receivers_done"))
        released = {"lease_token": None, "lease_until": None}
        lease = new("lease_token", "lease_until", attempts=table.c.attempts + 1)
        claimed = [table.c[name] for name in HELD_COLUMNS]
        superseded = new("superseded_at", next_attempt_at=None, **released)
        self._table = table
        #: Take over the event `of_event_id` if it is due and nobody holds it, and give it.
        self.claim_due = free.where(table.c.next_attempt_at <= now).values(lease).returning(*claimed)
        #: Take it over also before its time.
        self.claim = free.values(lease).returning(*claimed)
        #: Whether the event is held, and nobody else wrote down who is done.
        still = (has("event_id"), has("lease_token"), has("receivers_done"), table.c.delivered_at.is_(None))
        self.is_held = select(exists().where(*still))
        #: Write down who is done.
        self.mark = unmarked.values(new("receivers_done"))
        #: Write down who is done, and that nobody is left.
        self.deliver = unmarked.values(new("receivers_done", "delivered_at", next_attempt_at=None, **released))
        #: Let the event go until another time, because a receiver failed.
        self.postpone = held.values(new("next_attempt_at", "last_error", **released))
        #: Let the event go until another time.
        self.release = held.values(new("next_attempt_at", **released))
        #: Hold the event for longer.
        self.renew = held.values(new("lease_until"))
        #: The held event is no longer true.
        self.supersede = held.values(superseded)
        #: The event is no longer true, and nobody holds it.
        self.supersede_free = free.values(superseded)
        #: The queue of `of_order_id`, in the order in which it happened.
        self.queue = (
            select(*(table.c[name] for name in QueuedEvent._fields))
            .where(has("order_id"), table.c.next_attempt_at.is_not(None))
            .order_by(table.c.id)
        )

    def due(
        self,
        by: datetime,
        unheard: Collection[str],
        after: tuple[datetime, int] | None,
        batch: int,
        order_id: str | None = None,
    ) -> Any:
        """The events that were due by then, oldest first, from the index of what is not delivered.

        :param unheard: signals whose events are left to processes with a receiver.
        :param after: time and id of the last one that was seen.
        :param order_id: only events of this order; None for all.
        """
        c = self._table.c
        # A failed event comes later in the index again, and later than this call began, or at its own place.
        place = tuple_(c.next_attempt_at, c.id)
        conditions = [c.next_attempt_at <= by, *self._of(order_id), *([] if after is None else [place > after])]
        if unheard:
            conditions.append(c.name.not_in(unheard))
        columns = select(c.event_id, c.next_attempt_at, c.id).where(*conditions)
        return columns.order_by(c.next_attempt_at, c.id).limit(batch)

    def hurry(self, order_id: str | None, now: datetime) -> Any:
        """Make what waits for another try due now, but for what somebody holds.

        :param order_id: only events of this order; None for all.
        """
        c = self._table.c
        free = or_(c.lease_until.is_(None), c.lease_until <= now)
        waiting = update(self._table).where(c.next_attempt_at > now, free, *self._of(order_id))
        return waiting.values(next_attempt_at=now)

    def count_waiting(self, order_id: str | None) -> Any:
        """How many events are neither delivered nor superseded.

        :param order_id: only events of this order; None for all.
        """
        return select(func.count()).where(self._table.c.next_attempt_at.is_not(None), *self._of(order_id))

    def _of(self, order_id: str | None) -> list[Any]:
        return [] if order_id is None else [self._table.c.order_id == order_id]

    def explain_unheard(self, signal_name: str, words: str, by: datetime) -> Any:
        """Write down why the due events of a signal wait that nobody listens to."""
        c = self._table.c
        waiting = update(self._table).where(c.next_attempt_at <= by, c.name == signal_name, c.last_error.is_(None))
        return waiting.values(last_error=words)
