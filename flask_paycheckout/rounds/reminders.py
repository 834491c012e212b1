"""Reminders: an event at each time of PAYCHECKOUT_REMIND_AFTER at which an order still waits for its payment.

The row of an order's first checkout, or of a payment request, has the time of its next reminder. One conditional
statement moves it on, in the transaction that stores the event, so that of any number of processes one reminds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, Table, bindparam, exists, select, update

from flask_paycheckout.checkouts.requests import PaymentRequests
from flask_paycheckout.checkouts.shop_answers import ShopAnswers
from flask_paycheckout.checkouts.states import UNREMINDED
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.connections import begin_limited
from flask_paycheckout.database.database_errors import is_passing
from flask_paycheckout.database.order_ids import order_of_request, request_of
from flask_paycheckout.database.state_table import lost_races_ignored
from flask_paycheckout.events.event_writer import EventWriter
from flask_paycheckout.events.events import HeldEvent, NewEvent, Subject
from flask_paycheckout.events.shop_transaction import ShopTransaction, ShopTransactions
from flask_paycheckout.service.logs import about

if TYPE_CHECKING:
    from flask_paycheckout.parts import Parts

_NAME = "payment_reminder"
# The most rows of each table that a round looks at; the others stay due for the next one.
_MOST = 500
# The time until an order is asked about again whose `order_total`, or atomic receiver, raised.
_AGAIN = timedelta(hours=1)


class _Due(NamedTuple):
    """An order whose reminder is due."""

    table: Table
    id: int
    order_id: str
    began: datetime
    remind_at: datetime


@dataclass(frozen=True, eq=False)
class Reminders:
    """Stores the reminders of one app's orders and payment requests."""

    parts: Parts
    checkouts: Checkouts
    requests: PaymentRequests
    answers: ShopAnswers
    events: EventWriter
    transactions: ShopTransactions

    def store(self) -> Iterator[HeldEvent]:
        """Store the reminders that are due; the caller delivers them.

        Of several times that have passed meanwhile, the last one counts: nobody is reminded twice at once.
        """
        if not self.parts.settings.remind_after:
            return
        now = self.parts.clock()
        due = [*self._due(self.checkouts.table, "order_id", now), *self._due(self.requests.table, "reference", now)]
        statuses = self.checkouts.order_statuses([one.order_id for one in due])
        self._move_on([one for one in due if statuses[one.order_id] in UNREMINDED], now)
        for one in due:
            if statuses[one.order_id] not in UNREMINDED and (event := self._attempt(one, now)) is not None:
                yield event

    def _due(self, table: Table, name: str, now: datetime) -> Sequence[_Due]:
        c = table.c
        rows = select(c.id, c[name], c.created_at, c.remind_at).where(c.remind_at <= now)
        with self.parts.engine().connect() as connection:
            found = connection.execute(rows.order_by(c.remind_at, c.id).limit(_MOST)).all()
        named = (row if name == "order_id" else (row[0], order_of_request(row[1]), *row[2:]) for row in found)
        return [_Due(table, id_, order, as_utc(began), as_utc(at)) for id_, order, began, at in named]

    def _attempt(self, one: _Due, now: datetime) -> HeldEvent | None:
        try:
            with lost_races_ignored():
                return self._remind(one, now)
        except Exception as error:
            told = "order %s could not be looked at for its reminder", one.order_id
            self.parts.log.exception("reminders", *told, extra=about(one.order_id))
            if not is_passing(error):
                self._move_on([one], now, now + _AGAIN)
        return None

    def _remind(self, one: _Due, now: datetime) -> HeldEvent | None:
        with self.transactions.begin() as shop:
            connection = shop.connection
            # SQLite takes its one write lock first. On a server the shop's order is locked first, as by a settlement.
            locks_all = connection.dialect.name == "sqlite"
            moved = locks_all and self._move(connection, [one], now)
            payable = self.answers.is_payable_in(shop, one.order_id)
            moved = moved if locks_all else self._move(connection, [one], now)
            if not (moved and payable):
                return None
            self.checkouts.lock_order(connection, one.order_id)
            number = sum(one.began + after <= now for after in self.parts.settings.remind_after)
            event = NewEvent(_NAME, f"{one.order_id}:{number}", "", one.order_id, extra={"number": number})
            status = self.checkouts.order_statuses([one.order_id], connection)[one.order_id]
            if status in UNREMINDED or not number or self._is_stored(connection, event):
                return None
            return self._store(shop, event, now)

    def _store(self, shop: ShopTransaction, event: NewEvent, now: datetime) -> HeldEvent:
        order_id = event.order_id

        def subject(connection: Connection) -> Subject:
            newest: Iterable[Subject] = self.checkouts.of("current_order_id", order_id, connection)
            return next(iter(newest), None) or self.requests.find_in(connection, str(request_of(order_id)))

        about_it = subject(shop.connection)
        event = NewEvent(_NAME, event.once, getattr(about_it, "checkout_id", ""), order_id, extra=event.extra)
        return self.events.store(shop.connection, shop, event, lambda: about_it, subject, now)

    def _is_stored(self, connection: Connection, event: NewEvent) -> bool:
        stored = self.parts.models.events.c.once == f"{event.name}:{event.once}"
        return bool(connection.execute(select(exists().where(stored))).scalar_one())

    def _move_on(self, due: Sequence[_Due], now: datetime, to: datetime | None = None) -> None:
        for table in {one.table for one in due}:
            with lost_races_ignored(), begin_limited(self.parts.engine()) as connection:
                self._move(connection, [one for one in due if one.table is table], now, to)

    def _move(self, connection: Connection, due: Sequence[_Due], now: datetime, to: datetime | None = None) -> bool:
        """Set the time of the next reminder of rows of one table, unless another process has done so.

        :param to: that time; by default the first one of the settings that has not passed, if there is one.
        :returns: whether a row was changed.
        """
        c = due[0].table.c
        same = c.id == bindparam("of_id", type_=c.id.type), c.remind_at == bindparam("of_at", type_=c.remind_at.type)
        later = update(due[0].table).where(*same).values(remind_at=bindparam("new_at", type_=c.remind_at.type))
        rows = [{"of_id": one.id, "of_at": one.remind_at, "new_at": to or self._next(one.began, now)} for one in due]
        return connection.execute(later, rows).rowcount > 0

    def _next(self, began: datetime, now: datetime) -> datetime | None:
        return next((began + after for after in self.parts.settings.remind_after if began + after > now), None)
