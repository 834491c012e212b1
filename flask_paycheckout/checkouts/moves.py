"""Moves of checkouts between states: each is one conditional statement, with its event in the same transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple, cast

import msgspec
from sqlalchemy import ColumnElement, Connection, exists, select, update
from sqlalchemy.exc import IntegrityError

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin, total_columns
from flask_paycheckout.checkouts.ruling import Rest
from flask_paycheckout.checkouts.states import LIVE, OPEN, SIGNAL_OF, Reason, Status
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.database.database_errors import cut_row
from flask_paycheckout.database.deeds import record_deed
from flask_paycheckout.database.history import Entry, line
from flask_paycheckout.database.order_ids import request_of
from flask_paycheckout.database.state_table import lost_races_ignored
from flask_paycheckout.events.event_writer import EventWriter
from flask_paycheckout.events.events import HeldEvent, NewEvent
from flask_paycheckout.events.shop_transaction import ShopTransaction, ShopTransactions
from flask_paycheckout.totals import Total

Row = Mapping[Any, Any]


class _MoneyArrived(Exception):
    """Money of the order arrived meanwhile, so the transaction that would store another checkout is rolled back."""


class Asked(NamedTuple):
    """The money that a new checkout asks for."""

    total: Total
    due: Total
    """The amount that it asks for: the total, or a part of it."""

    account: str
    """The name of the merchant account whose order it is; empty for the one of the settings."""


class Decision(msgspec.Struct, frozen=True):
    """A person's decision on a held payment, with the name and the reason to record."""

    accepted: bool
    by: str
    why: str
    as_part: bool = False
    """Whether the payment is accepted as a part of what is left to pay."""

    refund_excess: bool = False
    """Whether what came too much is refunded."""


class Move(msgspec.Struct, frozen=True):
    """A change of a checkout's state, to be stored."""

    to: Status
    entry: str
    """The line for the history."""

    reason: str | None = None
    decision: Decision | None = None
    """A person's decision, which may accept this payment although another one paid the order."""

    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Further columns of the checkout with their values."""

    rest: Rest | None = None
    """The sums that are paid and left after it; None unless the order is paid in parts."""

    excess: Decimal = Decimal(0)
    """By how much the order is paid with more than it costs, negative for less; stored where `rest` is known."""

    then: Callable[[], object] | None = None
    """Called in the same transaction after it; its error rolls both back."""


class Moved(msgspec.Struct, frozen=True):
    """A move that was stored."""

    checkout: CheckoutMixin
    """The checkout after the move, detached from any session."""

    events: tuple[HeldEvent, ...]
    """The move's events, leased to the caller, who delivers them; empty when no signal is sent for this move."""


@dataclass(frozen=True, eq=False)
class Moves:
    """Stores new checkouts, and moves stored ones, of one app."""

    checkouts: Checkouts
    events: EventWriter
    transactions: ShopTransactions

    def store(
        self,
        order_id: str,
        checkout_id: str,
        url: str,
        asked: Asked,
        now: datetime,
        replaces: CheckoutMixin | None,
        client_id: str | None,
    ) -> Moved | None:
        """Store a new current checkout with its event; None when another start, or money of the order, was first.

        The unique `current_order_id` decides between simultaneous starts, in any number of processes.
        """
        c, times = self.checkouts.table.c, self.events.parts.settings.remind_after
        # Reminders of a request are counted from its making.
        reminds = times and replaces is None and request_of(order_id) is None
        row = {
            "checkout_id": checkout_id,
            "order_id": order_id,
            "account": asked.account,
            "client_id": client_id,
            "current_order_id": order_id,
            "url": url,
            "status": Status.CREATED.value,
            "created_at": now,
            "moved_at": now,
            "next_read_at": now,
            "remind_at": now + times[0] if reminds else None,
            "revision": 0,
            "reads": 0,
            "failed_reads": 0,
            "webhooks": 0,
            "history": line(now, Entry.CREATED, total=asked.due, replaces=replaces and replaces.checkout_id),
            **total_columns(asked.total),
            "due_amount": None if asked.due.amount == asked.total.amount else f"{asked.due.amount:f}",
        }
        in_session = self.events.has_atomic(SIGNAL_OF[Status.CREATED])
        try:
            with lost_races_ignored(), self.transactions.begin_for(shop=in_session) as (connection, shop):
                if replaces is not None:
                    older = update(self.checkouts.table).where(c.id == replaces.id)
                    connection.execute(older.values(current_order_id=None))
                    if self._has_other_due(connection, order_id, asked):
                        # An older checkout was paid while this one was being made, so give out no page for its money.
                        # Without an older checkout there is nothing to check, or the unique column refuses the row.
                        raise _MoneyArrived
                stored = connection.execute(self._insert, row).mappings().one()
                event = self._store_event(connection, shop, Status.CREATED, stored, now)
                return Moved(cast("CheckoutMixin", event.subject), (event,))
            return None
        except _MoneyArrived:
            return None
        except IntegrityError as error:
            other = (c.current_order_id == order_id) & (c.id != (0 if replaces is None else replaces.id))
            if self._exists((c.checkout_id == checkout_id) | other):
                return None
            # No other start was first, so the table refuses the row for another reason, which must be reported.
            # The refused row contains the payment URL.
            cut_row(error)
            raise

    def _has_other_due(self, connection: Connection, order_id: str, asked: Asked) -> bool:
        """Whether the order is settled, or parts of it leave something else to pay than a new checkout asks for."""
        counts = self.checkouts.counts(order_id, connection)
        if Status.PAID in counts or Status.HELD in counts:
            return True
        return Status.PART in counts and self.checkouts.balance(order_id, connection).due(asked.total) != asked.due

    def move(
        self, checkout: CheckoutMixin, move: Move | Callable[[ShopTransaction], Move], now: datetime
    ) -> Moved | None:
        """Move a checkout and store its events, in one transaction.

        The event of a person's decision comes before the event of the state.

        :param move: the move, or a function that decides it in the transaction, where it may call the shop's
            `order_total`. An error that it raises rolls the transaction back.
        :returns: None when the checkout, or another one of its order, moved meanwhile.
        :raises ReceiverFailed: an atomic receiver raised; nothing was stored.
        """
        in_session = not isinstance(move, Move) or any(
            map(self.events.has_atomic, (SIGNAL_OF[move.to], signal_of(move.to, move.decision)))
        )
        c = self.checkouts.table.c
        try:
            with lost_races_ignored(), self.transactions.begin_for(shop=in_session) as (connection, shop):
                if not isinstance(move, Move):
                    self.checkouts.lock_writer(connection)
                    move = move(cast("ShopTransaction", shop))
                return self.move_in(connection, shop, checkout, move, now)
            return None
        except IntegrityError as error:
            unmoved = (c.id == checkout.id) & (c.revision == checkout.revision)
            if self._exists(c.paid_order_id == checkout.order_id) or not self._exists(unmoved):
                return None
            # The refused row contains the payment URL.
            cut_row(error)
            raise

    def move_in(
        self,
        connection: Connection,
        shop: ShopTransaction | None,
        checkout: CheckoutMixin,
        move: Move,
        now: datetime,
        *,
        leased: bool = True,
    ) -> Moved | None:
        """Move a checkout in a transaction that the caller commits.

        :param shop: the transaction of the shop's session; None when no signal of the move has an atomic receiver.
        :param leased: whether the caller delivers the events; otherwise they are due for every process.
        :returns: None when the checkout moved meanwhile.
        :raises ReceiverFailed: an atomic receiver raised; the caller must roll back.
        """
        to, order_id = move.to, checkout.order_id
        values = {**move.values, "status": to.value, "reason": move.reason and str(move.reason)}
        values |= {"moved_at": now, "revision": checkout.revision + 1}
        pays = to is Status.PAID
        if move.decision or to in (Status.ABANDONED, Status.REJECTED):
            # Lock the order's checkouts, so that only one transaction at a time decides that the order is abandoned. A
            # payment needs no lock, since the unique column decides.
            pays = not self.checkouts.lock_order(connection, order_id) and pays
        if pays:
            # The unique column lets the database refuse a second payment of the order.
            values["paid_order_id"] = order_id
            values["excess"] = None if move.rest is None else f"{move.excess:f}"
        # The deposit of a decided checkout is never read again, whatever a webhook asks for.
        cleared = () if to in OPEN or to is Status.PART else ("next_read_at",)
        row = self.checkouts.change(connection, checkout, values, move.entry, always=True, cleared=cleared)
        if row is None:
            return None
        self.checkouts.book(connection, self.checkouts.models.row_of(checkout), row, now)
        if pays and move.rest is not None:
            self.checkouts.look_at_parts(connection, order_id, None)
        events: list[HeldEvent] = []

        def tell(status: Status, **more: Any) -> None:
            # Each from what the receivers of the one before have left.
            after = self.checkouts.models.row_of(cast("CheckoutMixin", events[-1].subject)) if events else row
            events.append(self._store_event(connection, shop, status, after, now, leased=leased, **more))

        if move.decision is not None:
            by, why = move.decision.by, move.decision.why
            deeds = self.checkouts.models.deeds
            record_deed(connection, deeds, now, by, "decided", checkout.checkout_id, why, order_id)
            tell(to, decision=move.decision)
        if self._is_news(connection, checkout, to, pays):
            extra = {"paid": f"{move.rest.paid:f}", "left": f"{move.rest.left:f}"} if move.rest and not pays else None
            tell(to, extra=extra)
            if move.reason == Reason.EXCESS:
                tell(Status.HELD)
        if move.then is not None:
            move.then()
        return Moved(cast("CheckoutMixin", events[-1].subject) if events else self.checkouts.made(row), tuple(events))

    def _exists(self, condition: ColumnElement[bool]) -> bool:
        ((found,),) = self.checkouts.rows(select(exists().select_from(self.checkouts.table).where(condition)))
        return bool(found)

    def _is_news(self, connection: Connection, checkout: CheckoutMixin, to: Status, pays: bool) -> bool:
        """Whether a signal is sent for this move; none is for an accepted second payment."""
        if to is Status.PAID:
            return pays
        if to in (Status.ABANDONED, Status.REJECTED):
            # Announce abandonment only when no other checkout of the order can still be paid.
            return self.checkouts.order_status(checkout.order_id, connection) not in LIVE
        return True

    def _store_event(
        self,
        connection: Connection,
        shop: ShopTransaction | None,
        status: Status,
        row: Row,
        now: datetime,
        *,
        decision: Decision | None = None,
        leased: bool = True,
        extra: Mapping[str, str] | None = None,
    ) -> HeldEvent:
        """Store the event of a row that was just changed, and run its atomic receivers.

        :param shop: the transaction of the shop's session; None when the signal has no atomic receiver.
        :param decision: the decision that the event is about; None when it is about the state.
        :param leased: whether the caller delivers the event after the commit.
        :param extra: further keywords for its receivers; those of a decision come from it.
        """
        name, order_id, checkout_id = signal_of(status, decision), row["order_id"], row["checkout_id"]
        once = f"order:{order_id}" if name == "order_paid" else f"{row['revision']}:{checkout_id}"
        told = {"accepted": decision.accepted, "by": decision.by, "why": decision.why} if decision else extra
        # Only `payment_held` passes the reason as a keyword; other receivers find it on the checkout.
        reason = row["reason"] if status is Status.HELD else None
        return self.events.store(
            connection,
            shop,
            NewEvent(name, once, checkout_id, order_id, reason=reason, extra=told),
            self.checkouts,
            row,
            now,
            leased=leased,
            # An excess is told after the payment, of the row as its receivers left it.
            decided=decision is None and status not in OPEN and row["reason"] != Reason.EXCESS,
        )

    # Statements

    @cached_property
    def _insert(self) -> Any:
        """Insert a row; it returns the whole row, of which the database or the shop may set columns."""
        return self.checkouts.table.insert().returning(*self.checkouts.table.c)


def signal_of(status: Status, decision: Decision | None) -> str:
    """The name of the signal for this state, or for the decision that led to it."""
    return "payment_resolved" if decision else SIGNAL_OF[status]
