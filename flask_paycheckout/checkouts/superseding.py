"""Whether an event of an order is still true when it would be delivered."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, or_, select

from flask_paycheckout.checkouts.requests import PaymentRequests
from flask_paycheckout.checkouts.shop_answers import ShopAnswers
from flask_paycheckout.checkouts.states import LIVE, OPEN, UNREMINDED, Status
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.events.event_model import EventMixin
from flask_paycheckout.events.events import HeldEvent

_ABANDONED, _PENDING, _REMINDER = "order_abandoned", "order_pending", "payment_reminder"


@dataclass(frozen=True, eq=False)
class OrderSuperseding:
    """The `events.Superseding` of one app.

    `order_abandoned` is superseded while the order is created, pending, part, held or paid; `order_pending` once the
    order is paid or held, or its own checkout is decided; `payment_reminder` once money is on its way, held or here, or
    nobody can pay any more. All other events stay true.
    """

    checkouts: Checkouts
    requests: PaymentRequests
    answers: ShopAnswers

    def has_happened_to(self, event: HeldEvent | EventMixin, connection: Connection | None = None) -> bool:
        """See `Superseding`."""
        if event.name not in (_ABANDONED, _PENDING, _REMINDER):
            return False
        if connection is not None:
            # A separate statement, since only the next one sees checkouts that were stored while this one waited.
            self.checkouts.lock_order(connection, event.order_id)
        if event.name == _PENDING:
            c = self.checkouts.table.c
            settled = (c.order_id == event.order_id) & c.status.in_((Status.PAID, Status.HELD))
            decided = (c.checkout_id == event.checkout_id) & c.status.not_in(OPEN)
            return bool(self.checkouts.rows(select(c.id).where(or_(settled, decided)).limit(1), connection))
        status = self.checkouts.order_status(event.order_id, connection)
        if event.name == _ABANDONED:
            return status in LIVE
        return status in UNREMINDED or self.requests.has_ended(event.order_id, connection)

    def is_unwanted(self, event: HeldEvent) -> bool:
        """See `Superseding`."""
        return event.name == _REMINDER and not self.answers.is_payable(event.order_id)
