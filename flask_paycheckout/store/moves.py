"""Moves of checkouts between states: each is one conditional statement, with its event in the same transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, Engine, bindparam, exists, select, update
from sqlalchemy.exc import IntegrityError, OperationalError

from flask_paycheckout.rules.decisions import Decision
from flask_paycheckout.rules.receivers import Receiver
from flask_paycheckout.rules.states import OPEN, SIGNAL_OF, Status
from flask_paycheckout.store.autocommit import autocommit
from flask_paycheckout.store.checkouts import Checkouts
from flask_paycheckout.store.database_errors import is_lost_race, without_row
from flask_paycheckout.store.due_reads import as_loaded, entry_and_values, planned_values
from flask_paycheckout.store.events import HeldEvent, new_event, signal_of
from flask_paycheckout.store.history import Entry, appended, line
from flask_paycheckout.store.models import CheckoutMixin, Models, total_columns
from flask_paycheckout.store.parameters import is_of
from flask_paycheckout.store.shop_transaction import ShopTransaction, ShopTransactions
from flask_paycheckout.totals import Total

__all__ = ["Move", "Moved", "Moves"]

Row = Mapping[Any, Any]


class _OrderPaid(Exception):
    """Ends the transaction that would have stored a checkout of an order that is paid."""


@dataclass(frozen=True)
class Move:
    """A change of a checkout's state, to be stored.

    :ivar entry: the line of its history.
    :ivar decision: a person's, which may accept this payment although another one paid the order.
    :ivar values: further columns of the checkout.
    """

    to: Status
    entry: str
    reason: str | None = None
    decision: Decision | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Moved:
    """A move that was stored.

    :ivar checkout: as the move left it, detached from any session.
    :ivar events: that tell of it, held by the caller, who delivers them; none where no signal tells of this move.
    """

    checkout: CheckoutMixin
    events: tuple[HeldEvent, ...] = ()


class Moves:
    """Stores new checkouts, and moves stored ones, of one app.

    :param engine: returns the engine of the checkout table, when first needed.
    :param receivers: returns the receivers of a signal, by its name.
    :param is_unheard: whether somebody must be told of a signal's events, and nobody in this process listens.
    :param shop: opens transactions in which the shop takes part.
    """

    def __init__(
        self,
        engine: Callable[[], Engine],
        models: Models,
        checkouts: Checkouts,
        receivers: Callable[[str], Sequence[Receiver]],
        is_unheard: Callable[[str], bool],
        shop: ShopTransactions,
    ) -> None:
        self._engine = engine
        self._models = models
        self._table = models.checkouts
        self._checkouts = checkouts
        self._receivers = receivers
        self._is_unheard = is_unheard
        self._shop = shop
        self._updates: dict[tuple[frozenset[str], bool], Any] = {}
        self._insert_event = models.events.insert().inline()

    def store(
        self, order_id: str, checkout_id: str, url: str, total: Total, now: datetime, replaces: CheckoutMixin | None
    ) -> Moved | None:
        """Store a new current checkout with its event; None when another start of the order was first.

        The unique `current_order_id` decides between simultaneous starts, in any number of processes.
        """
        row = {
            "checkout_id": checkout_id,
            "order_id": order_id,
            "current_order_id": order_id,
            "url": url,
            "status": Status.CREATED.value,
            "created_at": now,
            "moved_at": now,
            "next_read_at": now,
            "revision": 0,
            "reads": 0,
            "not_found_reads": 0,
            "failed_reads": 0,
            "webhooks": 0,
            "history": line(now, Entry.CREATED, total=total, replaces=replaces and replaces.checkout_id),
            **total_columns(total),
        }
        try:
            with self._transaction(in_session=self._has_atomic(SIGNAL_OF[Status.CREATED])) as (connection, shop):
                if replaces is not None:
                    connection.execute(self._replace, {"of_id": replaces.id})
                    if self._checkouts.has_paid(order_id, connection):
                        # Paid on an older checkout while this one was being made: nobody gets a second page. A first
                        # checkout has no older one, or the unique column refuses it.
                        raise _OrderPaid
                stored = connection.execute(self._insert, row).mappings().one()
                event = self._store_event(connection, shop, Status.CREATED, stored, now, None)
                return Moved(event.checkout, (event,))
        except _OrderPaid:
            return None
        except IntegrityError as error:
            if self._exists((self._table.c.checkout_id == checkout_id) | self._other_current(order_id, replaces)):
                return None
            # Nobody was first: the table refuses the row for a reason of its own, which must be seen.
            refused = without_row(error)
        except OperationalError as error:
            if is_lost_race(error):
                return None
            raise
        raise refused

    def move(self, checkout: CheckoutMixin, move: Move, now: datetime) -> Moved | None:
        """Move a checkout and store its events, in one transaction.

        An event of a person's decision comes before the one that tells of the state.

        :returns: None when the checkout, or its order, moved meanwhile.
        :raises ReceiverFailed: an atomic receiver raised; nothing was stored.
        """
        in_session = self._has_atomic(SIGNAL_OF[move.to]) or self._has_atomic(signal_of(move.to, move.decision))
        return self._moved(checkout, now, lambda transaction: move, in_session=in_session, asks_shop=False)

    def move_as_shop_says(
        self, checkout: CheckoutMixin, now: datetime, decide: Callable[[ShopTransaction], Move]
    ) -> Moved | None:
        """Move a checkout as decided inside the transaction that moves it; otherwise as `move`.

        :param decide: called with the transaction, in which it may ask the shop. An error that it raises ends the
            transaction.
        """
        deciding = cast("Callable[[ShopTransaction | None], Move]", decide)
        return self._moved(checkout, now, deciding, in_session=True, asks_shop=True)

    def _moved(
        self,
        checkout: CheckoutMixin,
        now: datetime,
        decide: Callable[[ShopTransaction | None], Move],
        *,
        in_session: bool,
        asks_shop: bool,
    ) -> Moved | None:
        try:
            with self._transaction(in_session=in_session) as (connection, shop):
                # What the shop reads must still hold at the commit. SQLite has no locks of rows, only of everything.
                if asks_shop and connection.dialect.name == "sqlite" and not self._lock(connection, checkout):
                    return None
                return self._store_move(connection, shop, checkout, decide(shop), now)
        except IntegrityError as error:
            c = self._table.c
            unmoved = (c.id == checkout.id) & (c.revision == checkout.revision)
            if self._exists(c.paid_order_id == checkout.order_id) or not self._exists(unmoved):
                return None
            refused = without_row(error)
        except OperationalError as error:
            if is_lost_race(error):
                return None
            raise
        raise refused

    @contextmanager
    def _transaction(self, *, in_session: bool) -> Iterator[tuple[Connection, ShopTransaction | None]]:
        """A transaction on the checkout table, of the shop's session where the shop takes part in it."""
        if in_session:
            with self._shop.begin() as transaction:
                yield transaction.connection, transaction
        else:
            with self._engine().begin() as connection:
                yield connection, None

    def _lock(self, connection: Connection, checkout: CheckoutMixin) -> bool:
        """Take SQLite's write lock, and check that the row still is as it was when loaded."""
        return connection.execute(self._take_lock, as_loaded(checkout)).rowcount == 1

    def _store_move(
        self, connection: Connection, shop: ShopTransaction | None, checkout: CheckoutMixin, move: Move, now: datetime
    ) -> Moved | None:
        to, order_id = move.to, checkout.order_id
        values = {**move.values, "status": to.value, "reason": move.reason and str(move.reason)}
        values |= {"moved_at": now, "revision": checkout.revision + 1}
        pays = to is Status.PAID
        if move.decision or to in (Status.ABANDONED, Status.REJECTED):
            # One at a time decides that an order has no hope left. A payment needs no lock: the unique column decides.
            pays = not self._checkouts.lock_order(connection, order_id) and pays
        if pays:
            # Unique: the database itself refuses to take a second payment for the order's.
            values["paid_order_id"] = order_id
        statement = self._update(values, decided=to not in OPEN)
        parameters = as_loaded(checkout) | entry_and_values(move.entry, values)
        row: Row | None = connection.execute(statement, parameters).mappings().one_or_none()
        if row is None:
            return None
        # Receivers of other signals find the reason on the checkout; it is a keyword of `payment_held` only.
        reason = move.reason if to is Status.HELD else None
        moved = Moved(self._models.checkout_of_row(row))
        if move.decision is not None:
            event = self._store_event(connection, shop, to, row, now, reason, move.decision)
            moved = Moved(event.checkout, (event,))
            row = self._models.row_of_checkout(event.checkout)
        if self._is_news(connection, checkout, to, pays):
            event = self._store_event(connection, shop, to, row, now, reason)
            moved = Moved(event.checkout, (*moved.events, event))
        return moved

    def _exists(self, condition: ColumnElement[bool]) -> bool:
        with autocommit(self._engine()).connect() as connection:
            found = select(exists().select_from(self._table).where(condition))
            return bool(connection.execute(found).scalar_one())

    def _other_current(self, order_id: str, than: CheckoutMixin | None) -> ColumnElement[bool]:
        current = self._table.c.current_order_id == order_id
        return current if than is None else current & (self._table.c.id != than.id)

    def _is_news(self, connection: Connection, checkout: CheckoutMixin, to: Status, pays: bool) -> bool:
        """Whether a signal tells of this move; none does of an accepted duplicate."""
        if to is Status.PAID:
            return pays
        if to in (Status.ABANDONED, Status.REJECTED):
            # Announce abandonment only when no other checkout of the order can still be paid.
            return not self._checkouts.has_hope(connection, checkout.order_id)
        return True

    def _store_event(
        self,
        connection: Connection,
        shop: ShopTransaction | None,
        status: Status,
        row: Row,
        now: datetime,
        reason: str | None,
        decision: Decision | None = None,
    ) -> HeldEvent:
        """Store the event of a row that was just changed, and run its atomic receivers.

        :param shop: the transaction of the shop's session; None where no atomic receiver listens.
        :param decision: the event tells of this, and not of the state.
        """
        name = signal_of(status, decision)
        receivers = self._receivers(name)
        atomic = [receiver for receiver in receivers if receiver.atomic and shop is not None]
        checkout = self._models.checkout_of_row(row)
        done = [receiver.name for receiver in atomic]
        told, unheard = len(done) == len(receivers), self._is_unheard(name)
        event = new_event(status, checkout, now, reason, decision=decision, done=done, told=told, unheard=unheard)
        connection.execute(self._insert_event, event)
        if shop is not None and atomic:
            shop.run(event, self._models.checkout_of_row(row), atomic)
            # They may have written to the row.
            checkout = self._checkouts.find_in(connection, checkout.checkout_id)
        return HeldEvent.of_row(event, checkout)

    def _has_atomic(self, signal_name: str) -> bool:
        return any(receiver.atomic for receiver in self._receivers(signal_name))

    # Statements

    @cached_property
    def _insert(self) -> Any:
        return self._table.insert().returning(*self._table.c)

    @cached_property
    def _replace(self) -> Any:
        """The row `of_id` is not its order's current one any more."""
        return update(self._table).where(is_of(self._table, "id")).values(current_order_id=None)

    @cached_property
    def _take_lock(self) -> Any:
        unmoved = [is_of(self._table, column) for column in ("id", "status", "revision")]
        return update(self._table).where(*unmoved).values(revision=self._table.c.revision)

    def _update(self, columns: Collection[str], *, decided: bool) -> Any:
        """Update these columns in the row if it is as it was when loaded, and return it; `entry` is its history's.

        :param decided: it is never read again, whatever webhooks say.
        """
        key = frozenset(columns), decided
        if key not in self._updates:
            values = planned_values(self._table, key[0])
            values["history"] = appended(self._table.c.history, bindparam("entry"), always=True)
            if decided:
                values["next_read_at"] = None
            unmoved = [is_of(self._table, column) for column in ("id", "status", "revision")]
            self._updates[key] = update(self._table).where(*unmoved).values(values).returning(*self._table.c)
        return self._updates[key]
