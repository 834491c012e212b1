"""Reminders: an event at each time of PAYCHECKOUT_REMIND_AFTER at which an order still waits for its payment.

The row of an order's first checkout, or of a payment request, has the time of its next reminder. One conditional
statement advances it, in the transaction that stores the event, so that only one of any number of processes sends the
reminder. The newest deposit is read first, with the other reads of the round; while it cannot be read, the reminder
waits. While a payment is under way, no reminder is sent; the move that ends the payment makes the reminder due again.
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
from flask_paycheckout.checkouts.shop_answers import ShopAnswers, ShopFailed
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

# The maximum number of rows of each table in a round; other rows stay due for the next round.
_MOST = 500
# The time until an order is tried again whose `order_total` or atomic receiver raised, or whose watch is over.
_AGAIN = timedelta(hours=1)
# The minimum time until a reminder that waits for a read is tried again.
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
        """Plan a read now for each order whose reminder is due; a failed read keeps its planned time."""
        now, c = self.wiring.clock(), self.checkouts.table.c
        due = {row.order_id: row.remind_at for row in self._due_rows(now)}
        if not due:
            return
        unread = (
            or_(c.last_read_at.is_(None), c.last_read_at < now),
            or_(c.next_read_at.is_(None), (c.next_read_at > now) & (c.failed_reads == 0)),
        )
        newest = c.current_order_id.in_(due), c.status.in_(OPEN), *unread
        with lost_races_ignored(), begin_limited(self.wiring.engine()) as connection:
            connection.execute(update(self.checkouts.table).where(*newest).values(next_read_at=now))

    def store(self) -> Iterator[HeldEvent]:
        """Store the reminders that are due; the caller delivers them.

        If several times have passed meanwhile, only the last one counts, so that a customer gets one reminder at once.
        """
        now = self.wiring.clock()
        for row in self._due_rows(now):
            if (event := self._attempt(row, now)) is not None:
                yield event

    def _due_rows(self, now: datetime) -> list[_Due]:
        return [*self._due(self.checkouts, now), *self._due(self.requests, now)]

    @staticmethod
    def _due(rows: StateTable[Any], now: datetime) -> list[Any]:
        c = rows.table.c
        due = select(rows.table).where(c.remind_at <= now).order_by(c.remind_at, c.id)
        return rows.loaded(due.limit(_MOST))

    def _attempt(self, row: _Due, now: datetime) -> HeldEvent | None:
        try:
            with lost_races_ignored():
                # Most orders are paid by now; for these the shop's functions need not be called.
                if self.checkouts.order_status(row.order_id) in UNREMINDED:
                    self._move_on(row, now)
                elif (readable_at := self._waits_for_read(row, now)) is not None:
                    self._move_on(row, now, readable_at)
                else:
                    return self._remind(row, now)
        except Exception as error:
            text = "order %s could not be looked at for its reminder"
            self.wiring.log.exception("reminders", text, row.order_id, extra=about(row.order_id))
            if isinstance(error, ShopFailed):
                self.answers.problems.record(error.function, row.order_id, error.error)
            if not is_passing(error):
                # An error of the database may prevent this statement too.
                with suppress(SQLAlchemyError):
                    self._move_on(row, now, now + _AGAIN)
        return None

    def _waits_for_read(self, row: _Due, now: datetime) -> datetime | None:
        """The time of the next try for an order whose newest deposit was not read yet; None if it was read."""
        newest = self.checkouts.current(row.order_id)
        if newest is None or newest.status not in OPEN:
            return None
        due = row.remind_at or now
        if newest.failed_reads == 0 and newest.last_read_at is not None and newest.last_read_at >= due:
            return None
        # Without a planned read, the checkout's watch is over, and its read has just failed.
        return now + _AGAIN if newest.next_read_at is None else max(newest.next_read_at, now + _SOON)

    def _remind(self, row: _Due, now: datetime) -> HeldEvent | None:
        with self.transactions.begin() as shop:
            connection = shop.connection
            self.checkouts.lock_writer(connection)
            # On a database server, the shop's order is locked first, in the same order as by a settlement.
            payable = self.answers.is_payable_in(shop, row.order_id)
            if not (self._move(connection, row, now) and payable):
                return None
            self.checkouts.lock_order(connection, row.order_id)
            number = sum(row.created_at + after <= now for after in self.wiring.settings.remind_after)
            if self.checkouts.order_status(row.order_id, connection) in UNREMINDED or not number:
                return None
            if isinstance(row, RequestMixin):
                table: StateTable[Any] = self.requests
                subject: Any = self.requests.require(row.reference, connection)
                name, checkout_id = "request_reminder", ""
            else:
                table, subject = self.checkouts, self.checkouts.current(row.order_id, connection)
                name, checkout_id = "payment_reminder", subject.checkout_id
            event = NewEvent(name, f"{row.order_id}:{number}", checkout_id, row.order_id, extra={"number": number})
            earlier = self.wiring.models.events.c.once == f"{event.name}:{event.once}"
            if connection.execute(select(exists().where(earlier))).scalar_one():
                return None
            return self.events.store(connection, shop, event, table, table.models.row_of(subject), now)

    def _move_on(self, row: _Due, now: datetime, to: datetime | None = None) -> None:
        with begin_limited(self.wiring.engine()) as connection:
            self._move(connection, row, now, to)

    def _move(self, connection: Connection, row: _Due, now: datetime, to: datetime | None = None) -> bool:
        """Set the time of a row's next reminder, unless another process has done so.

        :param to: the new time; by default the next time of the settings, or None if all have passed.
        :returns: whether the row was changed.
        """
        table = table_of(type(row))
        unchanged = update(table).where(table.c.id == row.id, table.c.remind_at == row.remind_at)
        later = unchanged.values(remind_at=to or self._next(row.created_at, now))
        return connection.execute(later).rowcount > 0

    def _next(self, began: datetime, now: datetime) -> datetime | None:
        return next((began + after for after in self.wiring.settings.remind_after if began + after > now), None)
