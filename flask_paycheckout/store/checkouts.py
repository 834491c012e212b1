"""Attempts at paying, as they are stored: every statement on the checkout table is here.

Each change is one conditional statement, with its event in the same transaction. Connections are the extension's own:
nothing here ever commits what the shop has in `db.session`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Connection, Engine, exists, func, select
from sqlalchemy.exc import IntegrityError, OperationalError

from flask_paycheckout.clock import as_utc
from flask_paycheckout.rules.decisions import Decision
from flask_paycheckout.rules.receivers import Receiver
from flask_paycheckout.rules.states import OPEN, SIGNAL_OF, Status, best_of
from flask_paycheckout.store.autocommit import autocommit
from flask_paycheckout.store.checkout_statements import CheckoutStatements
from flask_paycheckout.store.database_errors import is_lost_race, without_row
from flask_paycheckout.store.events import HeldEvent, new_event, signal_of
from flask_paycheckout.store.history import line
from flask_paycheckout.store.models import CheckoutMixin, Models, total_columns
from flask_paycheckout.store.shop_transaction import ShopTransaction, ShopTransactions
from flask_paycheckout.totals import Total

__all__ = ["Attempts", "Glance", "Move"]

# Orders that one query is about; every database takes as many parameters.
_AT_ONCE = 500

Row = Mapping[Any, Any]


class _OrderPaid(Exception):
    """Ends the transaction that would have stored one attempt too many."""


@dataclass(frozen=True)
class Move:
    """A change of an attempt's state, to be stored.

    :ivar entry: the line of its history.
    :ivar decision: a person's, which may accept this payment although another one paid the order.
    :ivar values: further columns of the attempt.
    """

    to: Status
    entry: str
    reason: str | None = None
    decision: Decision | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


class Glance(NamedTuple):
    """As much of an attempt as tells whether a read of its deposit is worthwhile; cheaper to load than all of it."""

    id: int
    checkout_id: str
    current_order_id: str | None
    status: str
    next_read_at: datetime | None
    last_read_at: datetime | None
    failed_reads: int
    webhooks: int
    reason: str | None


class Attempts:
    """The stored attempts of one app's orders.

    :param engine: gives the engine of the checkout table, when first needed.
    :param claim: how long a claimed read is left to its claimant before somebody else may read; longer than a read
        can take.
    :param receivers: gives the receivers of a signal, by its name.
    :param is_unheard: whether somebody must be told of a signal's events, and nobody in this process listens.
    :param shop: opens transactions in which the shop takes part.
    """

    def __init__(
        self,
        engine: Callable[[], Engine],
        models: Models,
        claim: timedelta,
        receivers: Callable[[str], Sequence[Receiver]],
        is_unheard: Callable[[str], bool],
        shop: ShopTransactions,
    ) -> None:
        self._engine = engine
        self._models = models
        self._statements = CheckoutStatements(models.checkouts, Glance._fields)
        self._insert_event = models.events.insert().inline()
        self._receivers = receivers
        self._is_unheard = is_unheard
        self._shop = shop
        self.claim = claim

    @property
    def single_writer(self) -> bool:
        """Whether the database has one writer at a time, so that a second thread could only wait for it."""
        return self._engine().dialect.name == "sqlite"

    @cached_property
    def _single(self) -> Engine:
        """For what is one statement."""
        return autocommit(self._engine())

    # Reading

    def glance(self, checkout_id: str) -> Glance | None:
        """The attempt of this checkout id, in short."""
        return next(map(_glance, self._rows(self._statements.glance, of_checkout_id=checkout_id)), None)

    def newest(self, order_id: str) -> Sequence[Glance]:
        """The order's last attempts, newest first, in short; `NEWEST` and one more, which tells that there are more."""
        return [_glance(row) for row in self._rows(self._statements.newest, of_order_id=order_id)]

    def counts(self, order_id: str) -> dict[str, int]:
        """How many attempts of an order have each status."""
        return dict(self._rows(self._statements.counts, of_order_id=order_id))

    def order_statuses(self, order_ids: Sequence[str], connection: Connection | None = None) -> dict[str, str]:
        """How each of these orders stands, `unpaid` where nothing of it is stored.

        :param connection: of the transaction that asks; None for one of its own.
        """
        found: dict[str, set[str]] = {order_id: set() for order_id in order_ids}
        wanted = list(found)
        with nullcontext(connection) if connection is not None else self._single.connect() as connection:
            for first in range(0, len(wanted), _AT_ONCE):
                few = {"of_order_ids": wanted[first : first + _AT_ONCE]}
                for order_id, status in connection.execute(self._statements.order_statuses, few):
                    found[order_id].add(status)
        return {order_id: best_of(statuses) for order_id, statuses in found.items()}

    def current(self, order_id: str) -> CheckoutMixin | None:
        """The order's current attempt, detached from any session."""
        return next(iter(self._loaded(self._statements.current, of_current_order_id=order_id)), None)

    def find(self, checkout_id: str) -> CheckoutMixin | None:
        """The attempt of this checkout id, detached from any session."""
        return next(iter(self._loaded(self._statements.find, of_checkout_id=checkout_id)), None)

    def of_order(self, order_id: str) -> Sequence[CheckoutMixin]:
        """Every attempt of an order, oldest first."""
        return self._loaded(self._statements.of_order, of_order_id=order_id)

    def has_paid(self, order_id: str, connection: Connection | None = None) -> bool:
        """Whether an attempt of this order paid it.

        :param connection: of the transaction that asks; None for one of its own.
        """
        if connection is not None:
            return self._has_paid(connection, order_id)
        with self._single.connect() as own:
            return self._has_paid(own, order_id)

    def count_due(self, now: datetime) -> int:
        """How many reads are due."""
        table = self._models.checkouts
        with self._single.connect() as connection:
            counted = select(func.count()).select_from(table).where(table.c.next_read_at <= now)
            return connection.execute(counted).scalar_one()

    def _rows(self, statement: Any, **parameters: str) -> Sequence[Any]:
        with self._single.connect() as connection:
            return connection.execute(statement, parameters).all()

    def _loaded(self, statement: Any, **parameters: str) -> list[CheckoutMixin]:
        with self._single.connect() as connection:
            return [self._models.checkout_of_row(row) for row in connection.execute(statement, parameters).mappings()]

    # Writing

    def store(
        self, order_id: str, checkout_id: str, url: str, total: Total, now: datetime, replaces: CheckoutMixin | None
    ) -> HeldEvent | None:
        """Store a new current attempt with its event; None when another start of the order was first.

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
            "history": line(now, "created", total=total, replaces=replaces and replaces.checkout_id),
            **total_columns(total),
        }
        try:
            with self._transaction(in_session=self._has_atomic(SIGNAL_OF[Status.CREATED])) as (connection, shop):
                if replaces is not None:
                    connection.execute(self._statements.supersede, {"of_id": replaces.id})
                    if self._has_paid(connection, order_id):
                        # Paid on an older attempt while this one was being made: nobody gets a second page. A first
                        # attempt has no older one, or the unique column refuses it.
                        raise _OrderPaid
                stored = connection.execute(self._statements.insert, row).mappings().one()
                return self._store_event(connection, shop, Status.CREATED, stored, now, None)
        except _OrderPaid:
            return None
        except IntegrityError as error:
            table = self._models.checkouts
            if self._exists((table.c.checkout_id == checkout_id) | self._other_current(order_id, replaces)):
                return None
            # Nobody was first: the table refuses the row for a reason of its own, which must be seen.
            refused = without_row(error)
        except OperationalError as error:
            if is_lost_race(error):
                return None
            raise
        raise refused

    def note(self, attempt: CheckoutMixin, entry: str | None, next_read_at: datetime | None, **values: Any) -> bool:
        """Write down what was seen without moving the attempt; False when it moved meanwhile."""
        values["next_read_at"] = next_read_at
        statement = self._statements.note(values, told=entry is not None)
        try:
            with self._single.begin() as connection:
                return connection.execute(statement, _loaded(attempt) | _news(entry, values)).rowcount == 1
        except OperationalError as error:
            if is_lost_race(error):
                return False
            raise

    def claim_due(
        self, due_by: datetime, now: datetime, limit: int, *, failing: bool = False, newest_first: bool = False
    ) -> Sequence[CheckoutMixin]:
        """Take over reads that were due by then, and give their attempts in order of age.

        One statement, so that of any number of processes each read falls to one. Who dies over it loses it after
        `claim`.

        :param failing: those whose last read failed, instead of all others.
        :param newest_first: those that became due last, instead of the longest overdue.
        """
        claim = self._statements.claim_due(failing=failing, newest_first=newest_first)
        claimed = self._claim(claim, now, {"of_next_read_at": due_by, "limit": limit})
        return sorted(claimed, key=lambda attempt: attempt.id)

    def claim_again(self, attempt: CheckoutMixin, now: datetime) -> Sequence[CheckoutMixin]:
        """Take over the read of this attempt if it is due; none when it is not, or somebody else took it."""
        return self._claim(self._statements.claim_again, now, {"of_id": attempt.id, "of_next_read_at": now})

    def _claim(self, statement: Any, now: datetime, due: dict[str, Any]) -> Sequence[CheckoutMixin]:
        try:
            with self._single.begin() as connection:
                claim = {"new_next_read_at": now + self.claim, "now": now}
                claimed = connection.execute(statement, due | claim).mappings().all()
        except OperationalError as error:
            if is_lost_race(error):
                return ()
            raise
        return [self._models.checkout_of_row(row) for row in claimed]

    def claim_page_read(self, seen: Glance, now: datetime) -> CheckoutMixin | None:
        """The attempt as it is now, its next read taken for a status page.

        None when somebody read it, or took its read, since it was seen so.
        """
        same = {f"of_{name}": getattr(seen, name) for name in ("id", "status", "next_read_at", "last_read_at")}
        # Marked before the answer is there: while the service is slow, visits must not pile up reads.
        mark = {"new_next_read_at": now + self.claim, "new_last_read_at": now}
        with self._single.begin() as connection:
            return self._changed(connection, self._statements.claim_page_read, same | mark)

    def note_webhook(
        self, attempt: Glance, now: datetime, cooldown: timedelta, *, wait: timedelta = timedelta(0)
    ) -> CheckoutMixin | None:
        """Store that a webhook came: the read is due. The attempt as it is now, when this one may read at once.

        Within the cool-down the read is due when that has passed again, so no hint is lost and none costs more than its
        share, whoever reads then. Of a decided checkout only the first webhook ever is stored; it tells that webhooks
        arrive.

        :param wait: how long reconcile leaves the read to the caller, who makes it at once.
        """
        statements = self._statements
        told = {"of_id": attempt.id, "entry": line(now, "webhook")}
        # Each statement by itself, and at most one of them changes the row.
        with self._single.begin() as connection:
            # As the row stands now, not as it was loaded: a hint must not be lost to a move made meanwhile.
            reading = {**told, "now": now, "free": now - cooldown, "due": now + wait}
            found = self._changed(connection, statements.note_webhook_and_read, reading)
            if found is not None:
                return found
            waiting = {"of_id": attempt.id, "due": now + cooldown}
            if connection.execute(statements.note_webhook, waiting).rowcount == 0:
                connection.execute(statements.note_first_webhook, told)
        return None

    def move(
        self,
        attempt: CheckoutMixin,
        to: Status,
        now: datetime,
        entry: str,
        *,
        reason: str | None = None,
        decision: Decision | None = None,
        **values: Any,
    ) -> list[HeldEvent] | None:
        """Move an attempt and store its event, in one transaction.

        :param decision: a person's; an event of its own tells of it, before the one that tells of the state.
        :returns: the stored events, held by the caller, who delivers them; None when the attempt, or its order, moved
            meanwhile.
        :raises ReceiverFailed: an atomic receiver raised; nothing was stored.
        """
        move = Move(to, entry, reason, decision, values)
        in_session = self._has_atomic(SIGNAL_OF[to]) or self._has_atomic(signal_of(to, decision))
        return self._moved(attempt, now, lambda transaction: move, in_session=in_session, asks_shop=False)

    def move_as_shop_says(
        self, attempt: CheckoutMixin, now: datetime, decide: Callable[[ShopTransaction], Move]
    ) -> list[HeldEvent] | None:
        """Move an attempt as decided inside the transaction that moves it; otherwise as `move`.

        :param decide: called with the transaction, in which it may ask the shop. What it raises ends the transaction.
        """
        move = cast("Callable[[ShopTransaction | None], Move]", decide)
        return self._moved(attempt, now, move, in_session=True, asks_shop=True)

    def _moved(
        self,
        attempt: CheckoutMixin,
        now: datetime,
        decide: Callable[[ShopTransaction | None], Move],
        *,
        in_session: bool,
        asks_shop: bool,
    ) -> list[HeldEvent] | None:
        try:
            with self._transaction(in_session=in_session) as (connection, shop):
                # What the shop reads must still hold at the commit. SQLite has no locks of rows, only of everything.
                if asks_shop and self.single_writer and not self._lock(connection, attempt):
                    return None
                return self._store_move(connection, shop, attempt, decide(shop), now)
        except IntegrityError as error:
            table = self._models.checkouts
            unmoved = (table.c.id == attempt.id) & (table.c.revision == attempt.revision)
            if self._exists(table.c.paid_order_id == attempt.order_id) or not self._exists(unmoved):
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

    def _lock(self, connection: Connection, attempt: CheckoutMixin) -> bool:
        return connection.execute(self._statements.lock, _loaded(attempt)).rowcount == 1

    def _store_move(
        self, connection: Connection, shop: ShopTransaction | None, attempt: CheckoutMixin, move: Move, now: datetime
    ) -> list[HeldEvent] | None:
        to, order_id = move.to, attempt.order_id
        values = {**move.values, "status": to.value, "reason": move.reason}
        values |= {"moved_at": now, "revision": attempt.revision + 1}
        pays = to is Status.PAID
        if move.decision or to in (Status.ABANDONED, Status.REJECTED):
            pays = not self._lock_order(connection, order_id) and pays
        if pays:
            # Unique: the database itself refuses to take a second payment for the order's.
            values["paid_order_id"] = order_id
        statement = self._statements.move(values, decided=to not in OPEN)
        row = self._changed_row(connection, statement, _loaded(attempt) | _news(move.entry, values))
        if row is None:
            return None
        # Receivers of other signals find the reason on the checkout; it is a keyword of `payment_held` only.
        reason = move.reason if to is Status.HELD else None
        events: list[HeldEvent] = []
        if move.decision is not None:
            events.append(self._store_event(connection, shop, to, row, now, reason, move.decision))
            row = self._row_of(connection, attempt.checkout_id)
        if self._is_news(connection, attempt, to, pays):
            events.append(self._store_event(connection, shop, to, row, now, reason))
        return events

    def _exists(self, condition: ColumnElement[bool]) -> bool:
        with self._single.connect() as connection:
            found = select(exists().select_from(self._models.checkouts).where(condition))
            return bool(connection.execute(found).scalar_one())

    def _other_current(self, order_id: str, than: CheckoutMixin | None) -> ColumnElement[bool]:
        table = self._models.checkouts
        current = table.c.current_order_id == order_id
        return current if than is None else current & (table.c.id != than.id)

    def _is_news(self, connection: Connection, attempt: CheckoutMixin, to: Status, pays: bool) -> bool:
        """Whether a signal tells of this move: an accepted duplicate, or one lapsed attempt of several, is none."""
        if to is Status.PAID:
            return pays
        if to in (Status.ABANDONED, Status.REJECTED):
            # The last hope of the order is gone with this attempt, or it is not.
            return not connection.execute(self._statements.has_hope, {"of_order_id": attempt.order_id}).scalar_one()
        return True

    def _changed(self, connection: Connection, statement: Any, parameters: dict[str, Any]) -> CheckoutMixin | None:
        """The attempt whose row this statement changed, if it did."""
        row = self._changed_row(connection, statement, parameters)
        return None if row is None else self._models.checkout_of_row(row)

    def _changed_row(self, connection: Connection, statement: Any, parameters: dict[str, Any]) -> Row | None:
        return connection.execute(statement, parameters).mappings().one_or_none()

    def _lock_order(self, connection: Connection, order_id: str) -> bool:
        """One at a time decides that an order has no hope left; tells whether an attempt of it is paid.

        SQLite knows no such lock: it has one writer anyway. A payment needs none: the unique column decides.
        """
        return any(connection.execute(self._statements.lock_order, {"of_order_id": order_id}).scalars())

    def _has_paid(self, connection: Connection, order_id: str) -> bool:
        return bool(connection.execute(self._statements.has_paid, {"of_paid_order_id": order_id}).scalar_one())

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
            checkout = self._models.checkout_of_row(self._row_of(connection, checkout.checkout_id))
        return HeldEvent.of_row(event, checkout)

    def _row_of(self, connection: Connection, checkout_id: str) -> Row:
        return connection.execute(self._statements.find, {"of_checkout_id": checkout_id}).mappings().one()

    def _has_atomic(self, signal_name: str) -> bool:
        return any(receiver.atomic for receiver in self._receivers(signal_name))


def _loaded(attempt: CheckoutMixin) -> dict[str, Any]:
    """What a statement may ask of a row: that it still is as it was loaded."""
    names = ("id", "status", "revision", "webhooks")
    return {f"of_{name}": getattr(attempt, name) for name in names}


def _glance(row: tuple[Any, ...]) -> Glance:
    glance = Glance(*row)
    return glance._replace(next_read_at=_utc(glance.next_read_at), last_read_at=_utc(glance.last_read_at))


def _utc(stored: datetime | None) -> datetime | None:
    return None if stored is None else as_utc(stored)


def _news(entry: str | None, values: dict[str, Any]) -> dict[str, Any]:
    return {"entry": entry} | {f"new_{name}": value for name, value in values.items()}
