"""Detection of superseded events, which later changes of their order have made untrue."""

from __future__ import annotations

from typing import Protocol

from sqlalchemy import Connection, Table, and_, exists, or_, select

from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.database.parameters import is_of

__all__ = ["Superseding"]

_ABANDONED, _PENDING = "order_abandoned", "order_pending"


class _Event(Protocol):
    """The fields of an event that decide whether it is superseded."""

    @property
    def name(self) -> str: ...

    @property
    def order_id(self) -> str: ...

    @property
    def checkout_id(self) -> str: ...


class Superseding:
    """Compares events with the present state of their orders.

    `order_abandoned` is superseded while the order is created, pending, held or paid again; `order_pending` once the
    order is paid or held, or its own checkout is decided. All other events stay true.
    """

    def __init__(self, table: Table, checkouts: Checkouts) -> None:
        c = table.c
        settled = c.status.in_((Status.PAID, Status.HELD))
        decided = c.status.in_((Status.PAID, Status.HELD, Status.REJECTED))
        overtaken = or_(and_(is_of(table, "order_id"), settled), and_(is_of(table, "checkout_id"), decided))
        self._checkouts = checkouts
        self._exists_overtaken = select(exists().where(overtaken))

    def may_happen_to(self, event: _Event) -> bool:
        """Whether events of this name can be superseded at all."""
        return event.name in (_ABANDONED, _PENDING)

    def has_happened_to(self, event: _Event, connection: Connection, *, lock: bool = False) -> bool:
        """Whether this event is no longer true.

        :param lock: lock the order's checkouts, so that the answer stays right until the transaction ends. SQLite has
            no row locks; there the transaction must have written before.
        """
        if not self.may_happen_to(event):
            return False
        if lock:
            # A separate statement, since only the next one sees checkouts that were stored while this one waited.
            self._checkouts.lock_order(connection, event.order_id)
        if event.name == _ABANDONED:
            return self._checkouts.has_live(connection, event.order_id)
        about = {"of_order_id": event.order_id, "of_checkout_id": event.checkout_id}
        return bool(connection.execute(self._exists_overtaken, about).scalar_one())
