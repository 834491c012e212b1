"""Reminders: an event at each time of PAYCHECKOUT_REMIND_AFTER at which an order still waits for its payment.

The row of an order's first checkout, or of a payment request, has the time of its next reminder. One conditional
statement moves it on, in the transaction that stores the event, so that of any number of processes one reminds. The
newest deposit is read first, with the other reads of the round; while it cannot be read, the reminder waits. While a
payment is under way, the time passes; the move that ends the payment makes the reminder due again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, exists, or_, select, update
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.requests import PaymentRequests, RequestMixin
from flask_paycheckout.checkouts.shop_answers import ShopAnswers
from flask_paycheckout.checkouts.states import OPEN, UNREMINDED
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.database.connections import begin_limited, lost_races_ignored
from flask_paycheckout.database.database_errors import is_passing
from flask_paycheckout.database.models import table_of
from flask_paycheckout.database.state_table import StateTable
from flask_paycheckout.database.transactions import ShopTransactions
from flask_paycheckout.events.events import HeldEvent, NewEvent
from flask_paycheckout.events.receivers import EventWriter
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.logs import about

# The most rows of each table that a round looks at; the others stay due for the next one.
_MOST = 500
# The time until an order is asked about again whose `order_total`, or atomic receiver, raised.
_AGAIN = timedelta(hours=1)
# The least time until a reminder is looked at again that waits for a read.
_SOON = timedelta(minutes=1)


# The row that has the time of its order's next reminder.
_Due = CheckoutMixin | RequestMixin


@dataclass(frozen=True, eq=False)
class Reminders:
    """Stores the reminders of one app's orders and payment requests."""

    wiring: Wiring
    checkouts: Checkouts
    requests: PaymentRequests
    answers: ShopAnswers
    events: EventWriter
    transactions: ShopTransactions

    def read_first(self) -> None:
        """Make the reads due of the orders that are to be reminded, but for those whose last read failed."""
        now, c = self.wiring.clock(), self.checkouts.table.c
        due = {one.order_id: one.remind_at for one in self._due_rows(now)}
        if not due:
            return
        unread = (
            or_(c.last_read_at.is_(None), c.last_read_at < now),
            or_(c.next_read_at.is_(None), c.next_read_at > now),
        )
        newest = c.current_order_id.in_(due), c.status.in_(OPEN), c.failed_reads == 0, *unread
        with lost_races_ignored(), begin_limited(self.wiring.engine()) as connection:
            connection.execute(update(self.checkouts.table).where(*newest).values(next_read_at=now))

    def store(self) -> Iterator[HeldEvent]:
        """Store the reminders that are due; the caller delivers them.

        Of several times that have passed meanwhile, the last one counts: nobody is reminded twice at once.
        """
        now = self.wiring.clock()
        for one in self._due_rows(now):
            if (event := self._attempt(one, now)) is not None:
                yield event

    def _due_rows(self, now: datetime) -> list[_Due]:
        return [*self._due(self.checkouts, now), *self._due(self.requests, now)]

    @staticmethod
    def _due(rows: StateTable[Any], now: datetime) -> list[Any]:
        c = rows.table.c
        due = select(rows.table).where(c.remind_at <= now).order_by(c.remind_at, c.id)
        return rows.loaded(due.limit(_MOST))

    def _attempt(self, one: _Due, now: datetime) -> HeldEvent | None:
        try:
            with lost_races_ignored():
                # Most orders are paid by now, and nobody need ask the shop about them.
                if self.checkouts.order_status(one.order_id) in UNREMINDED:
                    self._move_on(one, now)
                elif (readable_at := self._waits_for_read(one, now)) is not None:
                    self._move_on(one, now, readable_at)
                else:
                    return self._remind(one, now)
        except Exception as error:
            text = "order %s could not be looked at for its reminder"
            self.wiring.log.exception("reminders", text, one.order_id, extra=about(one.order_id))
            if not is_passing(error):
                # An error of the database may keep this from being stored, too.
                with suppress(SQLAlchemyError):
                    self._move_on(one, now, now + _AGAIN)
        return None

    def _waits_for_read(self, one: _Due, now: datetime) -> datetime | None:
        """The time of the next look at an order whose newest deposit was not read; None for one that was."""
        newest = self.checkouts.current(one.order_id)
        if newest is None or newest.status not in OPEN:
            return None
        due = one.remind_at or now
        if newest.failed_reads == 0 and newest.last_read_at is not None and newest.last_read_at >= due:
            return None
        return max(newest.next_read_at or now, now + _SOON)

    def _remind(self, one: _Due, now: datetime) -> HeldEvent | None:
        with self.transactions.begin() as shop:
            connection = shop.connection
            self.checkouts.lock_writer(connection)
            # On a server the shop's order is locked first, as by a settlement.
            payable = self.answers.is_payable_in(shop, one.order_id)
            if not (self._move(connection, one, now) and payable):
                return None
            self.checkouts.lock_order(connection, one.order_id)
            number = sum(one.created_at + after <= now for after in self.wiring.settings.remind_after)
            if self.checkouts.order_status(one.order_id, connection) in UNREMINDED or not number:
                return None
            if isinstance(one, RequestMixin):
                table: StateTable[Any] = self.requests
                about_it: Any = self.requests.require(one.reference, connection)
                name, checkout_id = "request_reminder", ""
            else:
                table, about_it = self.checkouts, self.checkouts.current(one.order_id, connection)
                name, checkout_id = "payment_reminder", about_it.checkout_id
            event = NewEvent(name, f"{one.order_id}:{number}", checkout_id, one.order_id, extra={"number": number})
            stored = self.wiring.models.events.c.once == f"{event.name}:{event.once}"
            if connection.execute(select(exists().where(stored))).scalar_one():
                return None
            return self.events.store(connection, shop, event, table, table.models.row_of(about_it), now)

    def _move_on(self, one: _Due, now: datetime, to: datetime | None = None) -> None:
        with begin_limited(self.wiring.engine()) as connection:
            self._move(connection, one, now, to)

    def _move(self, connection: Connection, one: _Due, now: datetime, to: datetime | None = None) -> bool:
        """Set the time of the next reminder of a row, unless another process has done so.

        :param to: that time; by default the first one of the settings that has not passed, if there is one.
        :returns: whether the row was changed.
        """
        table = table_of(type(one))
        same = update(table).where(table.c.id == one.id, table.c.remind_at == one.remind_at)
        later = same.values(remind_at=to or self._next(one.created_at, now))
        return connection.execute(later).rowcount > 0

    def _next(self, began: datetime, now: datetime) -> datetime | None:
        return next((began + after for after in self.wiring.settings.remind_after if began + after > now), None)
