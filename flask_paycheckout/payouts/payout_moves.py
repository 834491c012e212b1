"""Moves of payouts between states: each is one conditional statement, with booking and event in its transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

import msgspec
from sqlalchemy import Connection, Engine, Table, bindparam, update
from sqlalchemy.exc import OperationalError

from flask_paycheckout.database.database_errors import is_lost_race
from flask_paycheckout.database.history import Entry, appended, line
from flask_paycheckout.database.lock_limit import begin_limited
from flask_paycheckout.database.parameters import is_of, new_values
from flask_paycheckout.events.event_writer import EventWriter
from flask_paycheckout.events.events import HeldEvent, NewEvent
from flask_paycheckout.events.shop_transaction import ShopTransaction, ShopTransactions
from flask_paycheckout.payouts.paybacks import RefundLimits
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import (
    PAYOUT_SIGNAL_OF,
    PAYOUT_TRANSITIONS,
    RELEASING,
    WIPING,
    PayoutEvidence,
    PayoutStatus,
)
from flask_paycheckout.payouts.stored import Payouts

if TYPE_CHECKING:
    from flask_paycheckout.books.ledger import Bookings
    from flask_paycheckout.models import Models


# A service that is away for months must not make histories grow without end.
_ROUTINE = frozenset({PayoutEvidence.NOT_CARRIED_OUT, PayoutEvidence.MISSED})


class PayoutMove(msgspec.Struct, frozen=True):
    """A change of a payout's state, to be stored."""

    evidence: PayoutEvidence
    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Further columns of the payout with their values."""

    facts: Mapping[str, object] = msgspec.field(default_factory=dict)
    """Facts for the line of the history, such as who decided, and why."""


class MovedPayout(msgspec.Struct, frozen=True):
    """A move that was stored."""

    payout: PayoutMixin
    """The payout after the move, detached from any session."""

    events: tuple[HeldEvent, ...] = ()
    """The move's event, leased to the caller, who delivers it; empty when no signal is sent for this move."""


class PayoutMoves:
    """Moves the stored payouts of one app.

    :param engine: returns the engine of the payout table, when first needed.
    """

    def __init__(
        self,
        engine: Callable[[], Engine],
        models: Models,
        payouts: Payouts,
        limits: RefundLimits,
        bookings: Bookings,
        events: EventWriter,
        transactions: ShopTransactions,
    ) -> None:
        self._engine = engine
        self._models = models
        self._table: Table = models.payouts
        self._payouts = payouts
        self._limits = limits
        self._bookings = bookings
        self._events = events
        self._transactions = transactions
        self._updates: dict[tuple[frozenset[str], bool], Any] = {}

    def move(self, payout: PayoutMixin, move: PayoutMove, now: datetime) -> MovedPayout | None:
        """Move a payout, book it and store its event, in one transaction; a refund counts against what arrived, or not.

        The statement requires the row as it was loaded, its lease included, so that a process which lost its lease
        changes nothing.

        :returns: None when the payout moved, or another process took it, meanwhile.
        :raises KeyError: the table of states has no such transition.
        :raises RefundTooLarge: a failed refund is tried again, and others have taken its money.
        :raises ReceiverFailed: an atomic receiver raised; nothing was stored.
        """
        to = PAYOUT_TRANSITIONS[PayoutStatus(payout.status), move.evidence]
        signal = _signal_of(to, move.evidence)
        in_session = signal is not None and self._events.has_atomic(signal)
        try:
            with self._begin(in_session=in_session) as (connection, shop):
                return self._store(connection, shop, payout, to, move, signal, now)
        except OperationalError as error:
            if is_lost_race(error):
                return None
            raise

    def move_in(self, shop: ShopTransaction, payout: PayoutMixin, move: PayoutMove, now: datetime) -> None:
        """Move a payout that the shop's transaction has just stored; its event is delivered by others.

        :raises ReceiverFailed: an atomic receiver raised; the shop must roll back.
        """
        to = PAYOUT_TRANSITIONS[PayoutStatus(payout.status), move.evidence]
        signal = _signal_of(to, move.evidence)
        self._store(shop.connection, shop, payout, to, move, signal, now, leased=False)

    def note(self, payout: PayoutMixin, entry: str | None = None, **values: Any) -> PayoutMixin | None:
        """Change columns of a payout that does not move; None when it has changed meanwhile.

        :param entry: a line for the history, left out once the history is long.
        """
        statement = self._update(values, recorded=False)
        with begin_limited(self._engine()) as connection:
            row = connection.execute(statement, _as_loaded(payout) | _new(values, entry)).mappings().one_or_none()
        return None if row is None else self._models.payout_of_row(row)

    def _begin(self, *, in_session: bool) -> AbstractContextManager[tuple[Connection, ShopTransaction | None]]:
        return self._transactions.begin_for(shop=in_session)

    def _store(
        self,
        connection: Connection,
        shop: ShopTransaction | None,
        payout: PayoutMixin,
        to: PayoutStatus,
        move: PayoutMove,
        signal: str | None,
        now: datetime,
        *,
        leased: bool = True,
    ) -> MovedPayout | None:
        values = {**move.values, "status": to.value, "moved_at": now}
        if to in WIPING and payout.to_kind == "bank":
            values["to_details"] = None
        entry = line(now, Entry.MOVED, to=to, rule=move.evidence, **move.facts)
        parameters = _as_loaded(payout) | _new(values, entry)
        statement = self._update(values, recorded=move.evidence not in _ROUTINE)
        row = connection.execute(statement, parameters).mappings().one_or_none()
        if row is None:
            return None
        self._count_refund(connection, payout, to, Decimal(row["amount"]))
        self._bookings.book_payout(connection, self._models.row_of_payout(payout), row, now)
        if signal is None:
            return MovedPayout(self._models.payout_of_row(row))
        event = self._events.store(
            connection,
            shop,
            NewEvent(
                signal,
                # Notes of failed tries change neither; a payout that is sent again has a new reference at the service.
                f"{payout.moved_at.timestamp()}:{row['revision']}:{payout.service_reference}:{payout.reference}",
                payout.refund_of or "",
                payout.order_id or "",
                payout.reference,
            ),
            lambda: self._models.payout_of_row(row),
            lambda open_connection: self._payouts.find_in(open_connection, payout.reference),
            now,
            leased=leased,
        )
        return MovedPayout(cast("PayoutMixin", event.subject), (event,))

    def _count_refund(self, connection: Connection, payout: PayoutMixin, to: PayoutStatus, amount: Decimal) -> None:
        """Keep the sum of the checkout's refunds.

        :param amount: the payout's after the move.
        """
        if payout.refund_of is None:
            return
        before = payout.amount if PayoutStatus(payout.status) not in RELEASING else None
        after = amount if to not in RELEASING else None
        if before == after:
            return
        if before is not None:
            self._limits.give_back(connection, payout.refund_of, before)
        if after is not None:
            self._limits.take(connection, self._limits.lock(connection, payout.refund_of), after)

    def _update(self, columns: Collection[str], *, recorded: bool) -> Any:
        """Update these columns and append `entry` to the history, if the row is unchanged since it was loaded.

        :param recorded: whether the entry is appended also to a history that is long already.
        """
        key = frozenset(columns), recorded
        if key not in self._updates:
            c = self._table.c
            values = new_values(self._table, key[0])
            # A line that is not stored is NULL; what decides about money is always recorded.
            entry = bindparam("entry", type_=c.history.type)
            values["history"] = appended(c.history, entry, always=recorded)
            values["changes"] = c.changes + 1
            unmoved = [is_of(self._table, column) for column in ("id", "status", "changes")]
            self._updates[key] = update(self._table).where(*unmoved).values(values).returning(*c)
        return self._updates[key]


def _signal_of(to: PayoutStatus, evidence: PayoutEvidence) -> str | None:
    return PAYOUT_SIGNAL_OF.get(evidence) or PAYOUT_SIGNAL_OF.get(to)


def _as_loaded(payout: PayoutMixin) -> dict[str, Any]:
    """The `of_...` parameters of a statement that requires the row to be unchanged since it was loaded."""
    return {f"of_{name}": getattr(payout, name) for name in ("id", "status", "changes")}


def _new(values: Mapping[str, Any], entry: str | None) -> dict[str, Any]:
    """The `new_...` parameters of columns, and the line of the history."""
    return {"entry": entry or ""} | {f"new_{name}": value for name, value in values.items()}
