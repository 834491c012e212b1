"""Attempts at paying, as they are stored: every statement on the checkout table is here.

Each change is one conditional statement, with its event in the same transaction. Connections are the extension's own:
nothing here ever commits what the shop has in `db.session`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, case, exists, func, literal, select, update
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import Session

from flask_paycheckout.history import appended, line
from flask_paycheckout.models import CheckoutMixin, Models, total_columns
from flask_paycheckout.states import OPEN, SIGNAL_OF, Status
from flask_paycheckout.totals import Total

__all__ = ["Attempts"]

# While one of these exists, the order is not abandoned.
_HOPEFUL = (Status.CREATED, Status.PENDING, Status.HELD, Status.PAID)


# PostgreSQL's words for a transaction that it took back because of another one, and that may simply be tried again.
_SERIALIZATION_FAILURE, _DEADLOCK_DETECTED = "40001", "40P01"


class _OrderPaid(Exception):
    """Ends the transaction that would have stored one attempt too many."""


class Attempts:
    """The stored attempts of one app's orders.

    :param engine: gives the engine of the checkout table, when first needed.
    :param claim: how long a claimed read is left to its claimant before somebody else may read; longer than a read
        can take.
    """

    def __init__(self, engine: Callable[[], Engine], models: Models, claim: timedelta) -> None:
        self._engine = engine
        self._models = models
        self.claim = claim

    @property
    def single_writer(self) -> bool:
        """Whether the database has one writer at a time, so that a second thread could only wait for it."""
        return self._engine().dialect.name == "sqlite"

    # Reading

    def find(self, checkout_id: str) -> CheckoutMixin | None:
        """The attempt of this checkout id, detached from any session."""
        found = self._load(self._models.checkouts.c.checkout_id == checkout_id)
        return found[0] if found else None

    def of_order(self, order_id: str) -> Sequence[CheckoutMixin]:
        """Every attempt of an order, oldest first."""
        return self._load(self._models.checkouts.c.order_id == order_id)

    def has_paid(self, order_id: str) -> bool:
        """Whether an attempt of this order paid it."""
        return self._exists(self._models.checkouts.c.paid_order_id == order_id)

    def count_due(self, now: datetime) -> int:
        """How many reads are due."""
        table = self._models.checkouts
        with self._engine().connect() as connection:
            counted = select(func.count()).select_from(table).where(table.c.next_read_at <= now)
            return connection.execute(counted).scalar_one()

    def _load(self, condition: Any) -> Sequence[CheckoutMixin]:
        model = self._models.Checkout
        with Session(self._engine(), expire_on_commit=False) as session:
            found = session.scalars(select(model).where(condition).order_by(model.id)).all()
            session.expunge_all()
        return found

    # Writing

    def store(
        self, order_id: str, checkout_id: str, url: str, total: Total, now: datetime, replaces: CheckoutMixin | None
    ) -> str | None:
        """Store a new current attempt with its event; None when another start of the order was first.

        The unique `current_order_id` decides between simultaneous starts, in any number of processes.
        """
        table = self._models.checkouts
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
            with self._engine().begin() as connection:
                if replaces is not None:
                    connection.execute(update(table).where(table.c.id == replaces.id).values(current_order_id=None))
                if self._has_paid(connection, order_id):
                    # Paid on an older attempt while this one was being made: nobody gets a second page.
                    raise _OrderPaid
                connection.execute(table.insert().values(row))
                return self._add_event(connection, Status.CREATED, order_id, checkout_id, 0, now, None)
        except _OrderPaid:
            return None
        except IntegrityError as error:
            if self._exists((table.c.checkout_id == checkout_id) | self._other_current(order_id, replaces)):
                return None
            # Nobody was first: the table refuses the row for a reason of its own, which must be seen.
            refused = _without_row(error)
        except OperationalError as error:
            if _is_lost_race(error):
                return None
            raise
        raise refused

    def note(self, attempt: CheckoutMixin, entry: str | None, next_read_at: datetime | None, **values: Any) -> bool:
        """Write down what was seen without moving the attempt; False when it moved meanwhile."""
        table = self._models.checkouts
        values["next_read_at"] = self._next_read(attempt, next_read_at)
        if entry is not None:
            values["history"] = appended(table.c.history, entry, always=False)
        statement = update(table).where(table.c.id == attempt.id, table.c.status == attempt.status).values(values)
        try:
            with self._engine().begin() as connection:
                return connection.execute(statement).rowcount == 1
        except OperationalError as error:
            if _is_lost_race(error):
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
        table = self._models.checkouts
        due = (
            select(table.c.id)
            .where(table.c.next_read_at <= due_by, table.c.failed_reads > 0 if failing else table.c.failed_reads == 0)
            .order_by(table.c.next_read_at.desc() if newest_first else table.c.next_read_at)
            .limit(limit)
            # What somebody is writing at this moment is being looked after. SQLite has no such clause, and one writer.
            .with_for_update(skip_locked=True)
        )
        return self._claim(table.c.id.in_(due.scalar_subquery()), now)

    def claim_again(self, attempt: CheckoutMixin, now: datetime) -> Sequence[CheckoutMixin]:
        """Take over the read of this attempt if it is due; none when it is not, or somebody else took it."""
        table = self._models.checkouts
        return self._claim((table.c.id == attempt.id) & (table.c.next_read_at <= now), now)

    def _claim(self, condition: ColumnElement[bool], now: datetime) -> Sequence[CheckoutMixin]:
        model = self._models.Checkout
        statement = update(model).where(condition).values(next_read_at=now + self.claim).returning(model)
        try:
            with Session(self._engine(), expire_on_commit=False) as session:
                claimed = session.scalars(statement.execution_options(synchronize_session=False)).all()
                session.commit()
                session.expunge_all()
        except OperationalError as error:
            if _is_lost_race(error):
                return ()
            raise
        return sorted(claimed, key=lambda attempt: attempt.id)

    def claim_page_read(self, attempt: CheckoutMixin, now: datetime) -> bool:
        """Take the next read for a status page; False when somebody read, or took it, since `attempt` was loaded."""
        table = self._models.checkouts
        statement = (
            update(table)
            .where(
                table.c.id == attempt.id,
                table.c.status == attempt.status,
                table.c.next_read_at.is_not_distinct_from(attempt.next_read_at),
                table.c.last_read_at.is_not_distinct_from(attempt.last_read_at),
            )
            # Marked before the answer is there: while the service is slow, visits must not pile up reads.
            .values(next_read_at=now + self.claim, last_read_at=now)
        )
        with self._engine().begin() as connection:
            return connection.execute(statement).rowcount == 1

    def note_webhook(self, attempt: CheckoutMixin, now: datetime, cooldown: timedelta) -> bool:
        """Store that a webhook came: the read is due. True when this one may read at once.

        Within the cool-down the read stays due at its end, so no hint is lost and none costs more than its share.
        Of a decided checkout only the first webhook ever is stored; it tells that webhooks arrive.
        """
        table = self._models.checkouts
        free = (table.c.webhook_read_at.is_(None)) | (table.c.webhook_read_at <= now - cooldown)
        mine = update(table).where(table.c.id == attempt.id)
        # As it stands now, not as it was loaded: a hint must not be lost to a move made meanwhile.
        still_open = table.c.status.in_(OPEN)
        counted = {"webhooks": table.c.webhooks + 1}
        told = counted | {"history": appended(table.c.history, line(now, "webhook"), always=False)}
        due = literal(now + cooldown, table.c.next_read_at.type)
        sooner = case((table.c.next_read_at <= due, table.c.next_read_at), else_=due)
        with self._engine().begin() as connection:
            reading = mine.where(still_open, free).values(webhook_read_at=now, next_read_at=now, **told)
            if connection.execute(reading).rowcount == 1:
                return True
            waiting = mine.where(still_open).values(next_read_at=sooner, **counted)
            if connection.execute(waiting).rowcount == 0:
                connection.execute(mine.where(~still_open, table.c.webhooks == 0).values(told))
        return False

    def move(
        self,
        attempt: CheckoutMixin,
        to: Status,
        now: datetime,
        entry: str,
        *,
        reason: str | None = None,
        beside_paid: bool = False,
        **values: Any,
    ) -> list[str] | None:
        """Move an attempt and store its event, in one transaction.

        :param beside_paid: a person decided that this attempt is paid although another one of the order is.
        :returns: the ids of the stored events; None when the attempt, or its order, moved meanwhile.
        """
        table = self._models.checkouts
        statement = update(table).where(
            table.c.id == attempt.id, table.c.status == attempt.status, table.c.revision == attempt.revision
        )
        values |= {"status": to.value, "reason": reason, "moved_at": now, "revision": attempt.revision + 1}
        values["history"] = appended(table.c.history, entry, always=True)
        if to in OPEN:
            values["next_read_at"] = self._next_read(attempt, values["next_read_at"])
        try:
            with self._engine().begin() as connection:
                settled = self._lock_order(connection, attempt.order_id)
                pays = to is Status.PAID and not settled
                if to is Status.PAID and settled and not beside_paid:
                    return None
                if pays:
                    # Unique: the database itself refuses to take a second payment for the order's.
                    values["paid_order_id"] = attempt.order_id
                if connection.execute(statement.values(values)).rowcount != 1:
                    return None
                if not self._is_news(connection, attempt, to, pays):
                    return []
                return [
                    self._add_event(
                        connection, to, attempt.order_id, attempt.checkout_id, attempt.revision + 1, now, reason
                    )
                ]
        except IntegrityError as error:
            unmoved = (table.c.id == attempt.id) & (table.c.revision == attempt.revision)
            if self._exists(table.c.paid_order_id == attempt.order_id) or not self._exists(unmoved):
                return None
            refused = _without_row(error)
        except OperationalError as error:
            if _is_lost_race(error):
                return None
            raise
        raise refused

    def _exists(self, condition: ColumnElement[bool]) -> bool:
        with self._engine().connect() as connection:
            found = select(exists().select_from(self._models.checkouts).where(condition))
            return bool(connection.execute(found).scalar_one())

    def _other_current(self, order_id: str, than: CheckoutMixin | None) -> ColumnElement[bool]:
        table = self._models.checkouts
        current = table.c.current_order_id == order_id
        return current if than is None else current & (table.c.id != than.id)

    def _next_read(self, attempt: CheckoutMixin, planned: datetime | None) -> ColumnElement[Any]:
        """The planned time, or the earlier one that a webhook asked for since `attempt` was loaded.

        What was read meanwhile may be older than the news that the webhook hinted at.
        """
        table = self._models.checkouts
        hinted = table.c.webhooks != attempt.webhooks
        if planned is not None:
            hinted &= table.c.next_read_at < planned
        return case((hinted, table.c.next_read_at), else_=literal(planned, table.c.next_read_at.type))

    def _is_news(self, connection: Connection, attempt: CheckoutMixin, to: Status, pays: bool) -> bool:
        """Whether a signal tells of this move: an accepted duplicate, or one lapsed attempt of several, is none."""
        if to is Status.PAID:
            return pays
        if to in (Status.ABANDONED, Status.REJECTED):
            # The last hope of the order is gone with this attempt, or it is not.
            table = self._models.checkouts
            hopeful = exists().where(table.c.order_id == attempt.order_id, table.c.status.in_(_HOPEFUL))
            return not connection.execute(select(hopeful)).scalar_one()
        return True

    def _lock_order(self, connection: Connection, order_id: str) -> bool:
        """One writer per order; tells whether an attempt of it is paid.

        SQLite knows no such lock: it has one writer anyway, and the unique column decides.
        """
        table = self._models.checkouts
        attempts = select(table.c.paid_order_id).where(table.c.order_id == order_id).order_by(table.c.id)
        return any(connection.execute(attempts.with_for_update()).scalars())

    def _has_paid(self, connection: Connection, order_id: str) -> bool:
        table = self._models.checkouts
        return bool(connection.execute(select(exists().where(table.c.paid_order_id == order_id))).scalar_one())

    def _add_event(
        self,
        connection: Connection,
        status: Status,
        order_id: str,
        checkout_id: str,
        revision: int,
        now: datetime,
        reason: str | None,
    ) -> str:
        event_id = str(uuid.uuid4())
        name = SIGNAL_OF[status]
        row = {
            "event_id": event_id,
            "once": f"{name}:order:{order_id}" if status is Status.PAID else f"{name}:{revision}:{checkout_id}",
            "name": name,
            "checkout_id": checkout_id,
            "order_id": order_id,
            "reason": reason,
            "occurred_at": now,
            "attempts": 0,
            "next_attempt_at": now,
            "receivers_done": "[]",
        }
        connection.execute(self._models.events.insert(), row)
        return event_id


def _without_row(error: IntegrityError) -> IntegrityError:
    """The same error in the first line of the database's words; PostgreSQL adds the whole row, and so the URL.

    Raised outside of the handler, so that the longer one does not come along as its context.
    """
    orig: Any = error.orig
    return IntegrityError(error.statement, None, type(orig)(str(orig).partition("\n")[0]), hide_parameters=True)


def _is_lost_race(error: OperationalError) -> bool:
    """Whether the transaction was ended in favour of another one: under a stricter isolation level, or a deadlock."""
    # As psycopg and as psycopg2 call it.
    state = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)
    return state in (_SERIALIZATION_FAILURE, _DEADLOCK_DETECTED)
