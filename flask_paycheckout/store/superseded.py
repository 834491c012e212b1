"""Whether an event is still true: what was said of an order may have been overtaken by what came after it."""

from __future__ import annotations

from typing import Any, Protocol

from sqlalchemy import Connection, Table, and_, bindparam, exists, or_, select

from flask_paycheckout.rules.states import Status
from flask_paycheckout.store.checkout_statements import CheckoutStatements

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

    def __init__(self, checkouts: Table) -> None:
        c = checkouts.c
        statements = CheckoutStatements(checkouts)
        self._lock_order = statements.lock_order
        of_order = c.order_id == bindparam("of_order_id", type_=c.order_id.type)
        of_checkout = c.checkout_id == bindparam("of_checkout_id", type_=c.checkout_id.type)
        settled = c.status.in_((Status.PAID, Status.HELD))
        decided = c.status.in_((Status.PAID, Status.HELD, Status.REJECTED))
        self._superseded: dict[str, Any] = {
            _ABANDONED: statements.has_hope,
            _PENDING: select(exists().where(or_(and_(of_order, settled), and_(of_checkout, decided)))),
        }

    def may_happen_to(self, event: _Event) -> bool:
        """Whether an event of this name is ever superseded."""
        return event.name in self._superseded

    def has_happened_to(self, event: _Event, connection: Connection, *, lock: bool = False) -> bool:
        """Whether this event is no longer true.

        :param lock: keep what is found true until the connection's transaction ends. SQLite has no locks of rows: there
            the transaction must have written before.
        """
        if not self.may_happen_to(event):
            return False
        order = {"of_order_id": event.order_id}
        if lock:
            # A statement of its own, since only the next one sees attempts that were stored while this one waited.
            connection.execute(self._lock_order, order).all()
        statement = self._superseded[event.name]
        return bool(connection.execute(statement, order | {"of_checkout_id": event.checkout_id}).scalar_one())
