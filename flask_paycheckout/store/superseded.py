"""Whether an event is still true: what was said of an order may have been overtaken by what came after it."""

from __future__ import annotations

from typing import Protocol

from sqlalchemy import Connection, Table, and_, exists, or_, select

from flask_paycheckout.rules.states import Status
from flask_paycheckout.store.checkouts import Checkouts
from flask_paycheckout.store.parameters import is_of

__all__ = ["Superseding"]

_ABANDONED, _PENDING = "order_abandoned", "order_pending"


class _Event(Protocol):
    """As much of an event as says what it is about."""

    @property
    def name(self) -> str: ...

    @property
    def order_id(self) -> str: ...

    @property
    def checkout_id(self) -> str: ...


class Superseding:
    """Compares events with how their orders stand now.

    `order_abandoned` is superseded while the order is live, pending, held or paid again; `order_pending` once the
    order is paid or held, or its own checkout was decided. Every other event stays true.
    """

    def __init__(self, table: Table, checkouts: Checkouts) -> None:
        c = table.c
        settled = c.status.in_((Status.PAID, Status.HELD))
        decided = c.status.in_((Status.PAID, Status.HELD, Status.REJECTED))
        overtaken = or_(and_(is_of(table, "order_id"), settled), and_(is_of(table, "checkout_id"), decided))
        self._checkouts = checkouts
        self._exists_overtaken = select(exists().where(overtaken))

    def may_happen_to(self, event: _Event) -> bool:
        """Whether an event of this name is ever superseded."""
        return event.name in (_ABANDONED, _PENDING)

    def has_happened_to(self, event: _Event, connection: Connection, *, lock: bool = False) -> bool:
        """Whether this event is no longer true.

        :param lock: keep what is found true until the connection's transaction ends. SQLite has no locks of rows: there
            the transaction must have written before.
        """
        if not self.may_happen_to(event):
            return False
        if lock:
            # A statement of its own, since only the next one sees checkouts that were stored while this one waited.
            self._checkouts.lock_order(connection, event.order_id)
        if event.name == _ABANDONED:
            return self._checkouts.has_hope(connection, event.order_id)
        about = {"of_order_id": event.order_id, "of_checkout_id": event.checkout_id}
        return bool(connection.execute(self._exists_overtaken, about).scalar_one())
