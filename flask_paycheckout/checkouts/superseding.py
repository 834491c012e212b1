"""Whether an event of an order is still true when it would be delivered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, case, select

from flask_paycheckout.checkouts.requests import PaymentRequests
from flask_paycheckout.checkouts.shop_answers import ShopAnswers
from flask_paycheckout.checkouts.states import LIVE, OPEN, UNREMINDED, Status, best_of
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.events.event_model import EventMixin
from flask_paycheckout.events.events import HeldEvent

_ABANDONED, _PENDING = "order_abandoned", "order_pending"
_REMINDERS = "payment_reminder", "request_reminder"


@dataclass(frozen=True, eq=False)
class OrderSuperseding:
    """The `events.Superseding` of one app.

    `order_abandoned` is superseded while the order is created, pending, part, held or paid; `order_pending` once the
    order is paid or held, or its own checkout is decided; `payment_reminder` and `request_reminder` once money is on
    its way, held or here, or nobody can pay any more; `claim_wanted` once the payout is claimed or cancelled. All other
    events stay true.
    """

    checkouts: Checkouts
    requests: PaymentRequests
    answers: ShopAnswers

    def overtaken(
        self, events: Sequence[HeldEvent | EventMixin], connection: Connection | None = None
    ) -> Sequence[HeldEvent | EventMixin]:
        """See `Superseding`."""
        events = [event for event in events if event.name in (_ABANDONED, _PENDING, *_REMINDERS)]
        if not events:
            return events
        order_id, c = events[0].order_id, self.checkouts.table.c
        if connection is not None:
            # Lock by a separate statement, because only the next one sees checkouts that were stored while this one
            # waited.
            self.checkouts.lock_order(connection, order_id)
        # Select the ids of those checkouts only that the events are about: an order may have very many.
        named = case((c.checkout_id.in_([event.checkout_id for event in events]), c.checkout_id))
        rows = self.checkouts.rows(select(named, c.status).where(c.order_id == order_id).distinct(), connection)
        statuses, status = dict(rows), best_of([row.status for row in rows])

        def is_over(event: HeldEvent | EventMixin) -> bool:
            if event.name == _ABANDONED:
                return status in LIVE
            if event.name == _PENDING:
                return status in (Status.PAID, Status.HELD) or statuses.get(event.checkout_id) not in (None, *OPEN)
            return status in UNREMINDED or self.requests.has_ended(order_id, connection)

        return [event for event in events if is_over(event)]

    def is_unwanted(self, event: HeldEvent) -> bool:
        """See `Superseding`."""
        if event.name == "claim_wanted":
            return getattr(event.subject, "status", None) != "claimable"
        if event.name not in _REMINDERS:
            return False
        with self.answers.transactions.open() as transaction:
            return not self.answers.is_payable_in(transaction, event.order_id)
