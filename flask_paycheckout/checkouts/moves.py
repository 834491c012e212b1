"""Moves of checkouts: one conditional statement each, with its records and events in the same transaction.

One function makes each kind of `Move`: `await_money`, `take_part`, `confirm`, `hold`, `abandon`, `accept` and `reject`;
for a payment that had arrived, `reverse` and `restore`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple, cast

import msgspec
from sqlalchemy import ColumnElement, Connection, exists, func, or_, select, update
from sqlalchemy.exc import IntegrityError

from flask_paycheckout.checkouts.checkout_model import ANOTHER_AMOUNT, CheckoutMixin, total_columns
from flask_paycheckout.checkouts.ruling import Balance, OrderPayments
from flask_paycheckout.checkouts.states import LIVE, OPEN, Reason, Status
from flask_paycheckout.checkouts.stored import Checkouts, change_excess
from flask_paycheckout.database.connections import lost_races_ignored
from flask_paycheckout.database.database_errors import cut_row
from flask_paycheckout.database.deeds import record_deed
from flask_paycheckout.database.state_table import Entry, line
from flask_paycheckout.database.transactions import ShopTransaction, ShopTransactions
from flask_paycheckout.events.events import HeldEvent, NewEvent
from flask_paycheckout.events.receivers import EventWriter
from flask_paycheckout.text import request_of
from flask_paycheckout.totals import EXACT, Total, amount_of, whole_units

Row = Mapping[Any, Any]
Values = dict[str, Any]

# The signals of a payment request, by the corresponding signal of an order; a request has no other signals.
_OF_REQUEST = {"order_paid": "request_paid"}
# The signals that are sent once for an order, and the signals that may be sent several times for a checkout.
_OF_ORDER = {"order_paid", "request_paid"}
_REPEATED = {"order_pending", "order_abandoned", "payment_reversed"}


class _MoneyArrived(Exception):
    """Money of the order arrived meanwhile, so the transaction that would store another checkout is rolled back."""


class NewCheckout(NamedTuple):
    """The amount and account of a new checkout."""

    total: Total
    due: Total
    """The amount that it requests: the total, or a part of it."""

    account: str
    """The name of the order's merchant account; empty for the account of the settings."""


class Decision(msgspec.Struct, frozen=True):
    """A person's decision on a held payment, with the name and the reason to record."""

    accepted: bool
    by: str
    why: str
    as_part: bool = False
    """Whether the payment is accepted as a part of what is left to pay."""

    refund_excess: bool = False
    """Whether the excess is refunded."""


class Move(msgspec.Struct, frozen=True):
    """A change of a checkout's state, to be stored; the functions below make it."""

    to: Status
    entry: str
    """The line for the history."""

    signals: tuple[str, ...]
    """The signals that announce it, in this order; `order_abandoned` is left out while the order is live."""

    values: Values = {}
    """Further columns of the checkout with their values."""

    reason: str | None = None
    pays: bool = False
    """Whether the order is paid by it; the database refuses a second such move of an order."""

    decision: Decision | None = None
    balance: Balance | None = None
    """The sums that are paid and left after the move; None unless the order is paid in parts."""

    excess: Decimal = Decimal(0)
    """The amount that is paid beyond the order's total, negative for less; stored if `balance` is known."""

    then: Callable[[], object] | None = None
    """A function that is called after the move, in the same transaction; its error rolls both back."""


Decide = Callable[[ShopTransaction, Callable[[], OrderPayments]], Move]
"""Decides a move in its transaction; the second argument returns the order's payments, after the shop was asked."""


def await_money(entry: str, values: Values) -> Move:
    """Move to `pending`: the customer picked a payment method."""
    return Move(Status.PENDING, entry, ("order_pending",), values)


def abandon(entry: str, values: Values, reason: Reason) -> Move:
    """Move to `abandoned`: no money arrived in time."""
    return Move(Status.ABANDONED, entry, ("order_abandoned",), values, reason)


def hold(entry: str, values: Values, reason: Reason | None) -> Move:
    """Move to `held`: money arrived that a person must decide about."""
    return Move(Status.HELD, entry, ("payment_held",), values, reason)


def take_part(entry: str, values: Values, balance: Balance | None) -> Move:
    """Move to `part`: a part of the order's total arrived."""
    return Move(Status.PART, entry, ("order_part_paid",), values, balance=balance)


def confirm(entry: str, values: Values, balance: Balance | None, excess: Decimal = Decimal(0)) -> Move:
    """Move to `paid`: the payment pays its order, alone or with earlier parts.

    :param excess: the amount that arrived beyond the order's total.
    """
    too_much = excess > 0
    signals = ("order_paid", "payment_held") if too_much else ("order_paid",)
    reason = Reason.EXCESS if too_much else None
    return Move(Status.PAID, entry, signals, values, reason, pays=True, balance=balance, excess=excess)


def accept(decision: Decision, checkout: CheckoutMixin, to: Status, entry: str, values: Values, **more: Any) -> Move:
    """A person accepts a held payment, which pays its order, pays a part of it, or is kept as a second payment."""
    announces = {Status.PART: ("order_part_paid",), Status.PAID: ("order_paid",) if more.get("pays") else ()}
    return Move(to, entry, ("payment_resolved", *announces[to]), values, checkout.reason, decision=decision, **more)


def reject(decision: Decision, checkout: CheckoutMixin, entry: str) -> Move:
    """A person rejects a held payment."""
    signals = ("payment_resolved", "order_abandoned")
    return Move(Status.REJECTED, entry, signals, reason=checkout.reason, decision=decision)


def reverse(checkout: CheckoutMixin, entry: str, values: Values, *, announced: bool) -> Move:
    """The service took back a payment that had arrived; the state stays.

    :param announced: whether `payment_reversed` is sent.
    """
    signals = ("payment_reversed",) if announced else ()
    return Move(Status(checkout.status), entry, signals, values | {"payback": None}, checkout.reason)


def restore(checkout: CheckoutMixin, entry: str, values: Values, *, otherwise: bool) -> Move:
    """A payment that the service had taken back has arrived after all.

    :param otherwise: whether the amount differs from the one that had paid the order.
    """
    paid = amount_of(values["payment_paid_amount"], values["payment_paid_currency"])
    payback = ANOTHER_AMOUNT if otherwise else None
    if payback is None and paid is not None and paid.amount > 0:
        left = EXACT.subtract(paid.amount, Decimal(checkout.refunded_amount or 0))
        payback = None if whole_units(left, paid.currency) > 0 else "refunded"
    return Move(Status(checkout.status), entry, (), values | {"payback": payback}, checkout.reason)


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
        new: NewCheckout,
        now: datetime,
        replaces: CheckoutMixin | None,
        client_id: str | None,
    ) -> Moved | None:
        """Store a new current checkout with its event; None if another start, or a payment of the order, was first.

        The unique `current_order_id` decides between simultaneous starts, in any number of processes.
        """
        c, times = self.checkouts.table.c, self.events.wiring.settings.remind_after
        signals = _signals(order_id, ("checkout_created",))
        # The reminders of a request are counted from its creation.
        reminds = times and replaces is None and request_of(order_id) is None
        row = {
            "checkout_id": checkout_id,
            "order_id": order_id,
            "account": new.account,
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
            "history": line(now, Entry.CREATED, total=new.due, replaces=replaces and replaces.checkout_id),
            **total_columns(new.total),
            "due_amount": None if new.due.amount == new.total.amount else f"{new.due.amount:f}",
        }
        in_session = any(map(self.events.has_atomic, signals))
        try:
            with lost_races_ignored(), self.transactions.begin_for(shop=in_session) as (connection, shop):
                if replaces is not None:
                    older = update(self.checkouts.table).where(c.id == replaces.id)
                    connection.execute(older.values(current_order_id=None))
                    if self._has_other_due(connection, order_id, new):
                        # An older checkout was paid while this one was being made, so give out no page for its money.
                        # Without an older checkout there is nothing to check, or the unique column refuses the row.
                        raise _MoneyArrived
                stored = connection.execute(self._insert, row).mappings().one()
                events = [self._store_event(connection, shop, name, stored, now) for name in signals]
                return self._moved(stored, events)
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

    def _has_other_due(self, connection: Connection, order_id: str, new: NewCheckout) -> bool:
        """Whether the order is settled, or its parts leave another amount to pay than the new checkout requests."""
        counts = self.checkouts.counts(order_id, connection)
        if Status.PAID in counts or Status.HELD in counts:
            return True
        return Status.PART in counts and self.checkouts.order_payments(order_id, connection).due(new.total) != new.due

    def move(self, checkout: CheckoutMixin, move: Move | Decide, now: datetime) -> Moved | None:
        """Move a checkout and store its events, in one transaction.

        :param move: the move, or a function that decides it in the transaction, where it may call the shop's
            `order_total`. An error that it raises rolls the transaction back.
        :returns: None when the checkout, or another one of its order, moved meanwhile.
        :raises ReceiverFailed: an atomic receiver raised; nothing was stored.
        """
        signals = _signals(checkout.order_id, move.signals if isinstance(move, Move) else ())
        in_session = not isinstance(move, Move) or any(map(self.events.has_atomic, signals))
        c = self.checkouts.table.c
        try:
            with lost_races_ignored(), self.transactions.begin_for(shop=in_session) as (connection, shop):
                if not isinstance(move, Move):
                    payments = self.checkouts.payments_in(connection, checkout.order_id)
                    move = move(cast("ShopTransaction", shop), payments)
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
        if "order_abandoned" in move.signals:
            # Only one transaction at a time decides that the order is abandoned.
            self.checkouts.lock_order(connection, checkout.order_id)
        before = self.checkouts.models.row_of(checkout)
        row = self._change(connection, before, move, now)
        if row is None:
            return None
        self._record(connection, checkout, before, row, move, now)
        events = self._announce(connection, shop, row, move, now, leased)
        if move.then is not None:
            move.then()
        return self._moved(row, events)

    # The steps of a move

    def _change(self, connection: Connection, before: Row, move: Move, now: datetime) -> Row | None:
        """Change the row; None when it has changed meanwhile."""
        values = {**move.values, "status": move.to.value, "reason": move.reason and str(move.reason)}
        values["revision"] = before["revision"] + 1
        if move.to != before["status"]:
            values["moved_at"] = now
        if move.pays:
            # The unique column lets the database refuse a second payment of the order.
            values["paid_order_id"] = before["order_id"]
            values["excess"] = None if move.balance is None else f"{move.excess:f}"
        if move.to not in OPEN:
            # The deposit of a decided checkout is read only if a webhook asks for it.
            due = before["webhook_due_at"]
            values.setdefault("next_read_at", due and max(due, now))
        return self.checkouts.change(connection, before, values, move.entry, always=True)

    def _record(
        self, connection: Connection, checkout: CheckoutMixin, before: Row, row: Row, move: Move, now: datetime
    ) -> None:
        """Book the money, record a person's decision, and plan what follows for the order."""
        order_id, models = checkout.order_id, self.checkouts.models
        self.checkouts.book(connection, before, row, now)
        if move.decision is not None:
            by, why = move.decision.by, move.decision.why
            record_deed(connection, models.deeds, now, by, "decided", checkout.checkout_id, why, order_id)
        if move.pays and move.balance is not None:
            self.checkouts.look_at_parts(connection, order_id, None)
        if move.to == checkout.status:
            self._count_again(connection, checkout, row)
        elif move.to in (Status.ABANDONED, Status.REJECTED):
            self._remind_again(connection, order_id, now)

    def _announce(
        self,
        connection: Connection,
        shop: ShopTransaction | None,
        row: Row,
        move: Move,
        now: datetime,
        leased: bool,
    ) -> list[HeldEvent]:
        """Store the events of the move, each with the row as the receivers of the previous event left it."""
        events: list[HeldEvent] = []
        for name in _signals(row["order_id"], move.signals):
            if name == "order_abandoned" and self.checkouts.order_status(row["order_id"], connection) in LIVE:
                continue
            after = self.checkouts.models.row_of(cast("CheckoutMixin", events[-1].subject)) if events else row
            events.append(self._store_event(connection, shop, name, after, now, move, leased=leased))
        return events

    def _store_event(
        self,
        connection: Connection,
        shop: ShopTransaction | None,
        name: str,
        row: Row,
        now: datetime,
        move: Move | None = None,
        *,
        leased: bool = True,
    ) -> HeldEvent:
        """Store the event of a row that was just changed, and run its atomic receivers.

        :param shop: the transaction of the shop's session; None when the signal has no atomic receiver.
        :param leased: whether the caller delivers the event after the commit.
        """
        order_id, checkout_id, extra = row["order_id"], row["checkout_id"], None
        if move and name == "payment_resolved" and move.decision:
            extra = {"accepted": move.decision.accepted, "by": move.decision.by, "why": move.decision.why}
        elif move and name == "order_part_paid" and move.balance:
            extra = {"paid": f"{move.balance.paid:f}", "left": f"{move.balance.left:f}"}
        # Other receivers find the reason on the checkout.
        reason = row["reason"] if name == "payment_held" else None
        # The event's key stays the same after a failed try, although the revision may have changed by then.
        once = f"{row['revision']}:{checkout_id}" if name in _REPEATED else f"{reason == Reason.EXCESS}:{checkout_id}"
        if name in _OF_ORDER:
            once = f"order:{order_id}"
        event = NewEvent(name, once, checkout_id, order_id, reason=reason, extra=extra)
        is_last = move is not None and move.to not in OPEN and name == move.signals[-1]
        return self.events.store(connection, shop, event, self.checkouts, row, now, leased=leased, decided=is_last)

    def _moved(self, row: Row, events: list[HeldEvent]) -> Moved:
        return Moved(cast("CheckoutMixin", events[-1].subject) if events else self.checkouts.made(row), (*events,))

    def _count_again(self, connection: Connection, before: CheckoutMixin, after: Row) -> None:
        """Update the excess of an order one of whose payments was taken back, or has arrived after all."""
        paid = amount_of(after["payment_paid_amount"], after["payment_paid_currency"])
        if paid is not None and (before.status == Status.PART or before.paid_order_id is not None):
            kept = EXACT.subtract(paid.amount, Decimal(before.refunded_amount or 0))
            gone = EXACT.minus(kept) if before.taken_back else kept
            change_excess(connection, self.checkouts.table, before.order_id, gone)

    def _remind_again(self, connection: Connection, order_id: str, now: datetime) -> None:
        """Make a reminder due if its time passed while a payment of the order was under way.

        The event of a reminder that was sent already is not stored again.
        """
        times = self.events.wiring.settings.remind_after
        if not times:
            return
        reference, table = request_of(order_id), self.checkouts.table
        if reference is None:
            first = select(func.min(table.c.id)).where(table.c.order_id == order_id).scalar_subquery()
            is_counted_from = table.c.id == first
        else:
            table = self.checkouts.models.requests
            is_counted_from = table.c.reference == reference
        c = table.c
        missed = is_counted_from, c.created_at <= now - times[0], or_(c.remind_at.is_(None), c.remind_at > now)
        connection.execute(update(table).where(*missed).values(remind_at=now))

    # Statements

    def _exists(self, condition: ColumnElement[bool]) -> bool:
        ((answer,),) = self.checkouts.rows(select(exists().select_from(self.checkouts.table).where(condition)))
        return bool(answer)

    @cached_property
    def _insert(self) -> Any:
        """Insert a row; it returns the whole row, of which the database or the shop may set columns."""
        return self.checkouts.table.insert().returning(*self.checkouts.table.c)


def _signals(order_id: str, signals: tuple[str, ...]) -> tuple[str, ...]:
    """The signals to send about an order; for the order of a payment request, the request's signals."""
    if not signals or request_of(order_id) is None:
        return signals
    return tuple(_OF_REQUEST[name] for name in signals if name in _OF_REQUEST)
