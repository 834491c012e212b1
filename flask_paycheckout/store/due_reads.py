"""Reads of deposits, planned and claimed: which checkout is read when, and what a read without a move writes down.

Each change is one conditional statement, so that of any number of processes each read falls to one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Integer,
    Table,
    bindparam,
    case,
    func,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.exc import OperationalError

from flask_paycheckout.rules.states import OPEN
from flask_paycheckout.store.autocommit import autocommit
from flask_paycheckout.store.checkouts import CheckoutSummary
from flask_paycheckout.store.database_errors import is_lost_race
from flask_paycheckout.store.history import Entry, appended, line
from flask_paycheckout.store.models import CheckoutMixin, Models
from flask_paycheckout.store.parameters import is_of, is_still, new_values, parameter

__all__ = ["DueReads", "as_loaded", "entry_and_values", "planned_values"]


class DueReads:
    """The planned reads of one app's checkouts.

    :param engine: returns the engine of the checkout table, when first needed.
    :ivar claim: how long a claimed read is left to its claimant before another process may read; longer than a read
        can take.
    """

    def __init__(self, engine: Callable[[], Engine], models: Models, claim: timedelta) -> None:
        self._engine = engine
        self._models = models
        self._table = models.checkouts
        self._notes: dict[tuple[frozenset[str], bool], Any] = {}
        self._claims: dict[tuple[bool, bool], Any] = {}
        self.claim = claim

    @property
    def single_writer(self) -> bool:
        """Whether the database has one writer at a time, so that a second thread could only wait for it."""
        return self._engine().dialect.name == "sqlite"

    def note(
        self, checkout: CheckoutMixin, entry: str | None, next_read_at: datetime | None, **values: Any
    ) -> CheckoutMixin | None:
        """Write down what was seen without moving the checkout.

        :param entry: a line for its history.
        :param values: further columns.
        :returns: the checkout as stored now; None when it moved meanwhile, and nothing was written.
        """
        values["next_read_at"] = next_read_at
        statement = self._note(values, told=entry is not None)
        try:
            with self._single.begin() as connection:
                return self._changed(connection, statement, as_loaded(checkout) | entry_and_values(entry, values))
        except OperationalError as error:
            if is_lost_race(error):
                return None
            raise

    def count_due(self, now: datetime) -> int:
        """How many reads are due."""
        counted = select(func.count()).select_from(self._table).where(self._table.c.next_read_at <= now)
        with self._single.connect() as connection:
            return int(connection.execute(counted).scalar_one())

    def claim_due(
        self, due_by: datetime, now: datetime, limit: int, *, failing: bool = False, newest_first: bool = False
    ) -> Sequence[CheckoutMixin]:
        """Claim reads that were due by then, and return their checkouts in order of age.

        If the claimant dies, its claim expires after `claim`.

        :param failing: those whose last read failed, instead of all others.
        :param newest_first: those that became due last, instead of the longest overdue.
        """
        statement = self._claim_due(failing=failing, newest_first=newest_first)
        claimed = self._claimed(statement, now, {"of_next_read_at": due_by, "limit": limit})
        return sorted(claimed, key=lambda checkout: checkout.id)

    def claim_again(self, checkout: CheckoutMixin, now: datetime) -> Sequence[CheckoutMixin]:
        """Claim the read of this checkout if it is due; none when it is not, or another process claimed it."""
        return self._claimed(self._claim_again, now, {"of_id": checkout.id, "of_next_read_at": now})

    def claim_page_read(self, seen: CheckoutSummary, now: datetime) -> CheckoutMixin | None:
        """Claim the read of a checkout for a status page.

        :returns: the checkout as it is now; None when it was read, or its read was claimed, since it was seen so.
        """
        unchanged = {f"of_{name}": getattr(seen, name) for name in ("id", "status", "next_read_at", "last_read_at")}
        # Marked before the answer is there: while the service is slow, visits must not pile up reads.
        mark = {"new_next_read_at": now + self.claim, "new_last_read_at": now}
        with self._single.begin() as connection:
            return self._changed(connection, self._claim_page_read, unchanged | mark)

    def note_webhook(
        self, checkout: CheckoutSummary, now: datetime, cooldown: timedelta, *, wait: timedelta = timedelta(0)
    ) -> CheckoutMixin | None:
        """Store that a webhook came, and that the read is due.

        Within the cool-down the read is due when that has passed again, so no hint is lost and none costs more than its
        share, whoever reads then. Of a decided checkout only the first webhook ever is stored; it tells that webhooks
        arrive.

        :param wait: how long reconcile leaves the read to the caller, who makes it at once.
        :returns: the checkout as it is now when this webhook may cause a read at once, else None.
        """
        told = {"of_id": checkout.id, "entry": line(now, Entry.WEBHOOK)}
        # Each statement by itself, and at most one of them changes the row.
        with self._single.begin() as connection:
            # As the row stands now, not as it was loaded: a hint must not be lost to a move made meanwhile.
            reading = {**told, "now": now, "free": now - cooldown, "due": now + wait}
            found = self._changed(connection, self._note_webhook_and_read, reading)
            if found is not None:
                return found
            waiting = {"of_id": checkout.id, "due": now + cooldown}
            if connection.execute(self._note_webhook, waiting).rowcount == 0:
                connection.execute(self._note_first_webhook, told)
        return None

    @property
    def _single(self) -> Engine:
        return autocommit(self._engine())

    def _claimed(self, statement: Any, now: datetime, due: dict[str, Any]) -> Sequence[CheckoutMixin]:
        try:
            with self._single.begin() as connection:
                claim = {"new_next_read_at": now + self.claim, "now": now}
                claimed = connection.execute(statement, due | claim).mappings().all()
        except OperationalError as error:
            if is_lost_race(error):
                return ()
            raise
        return [self._models.checkout_of_row(row) for row in claimed]

    def _changed(self, connection: Connection, statement: Any, parameters: dict[str, Any]) -> CheckoutMixin | None:
        row = connection.execute(statement, parameters).mappings().one_or_none()
        return None if row is None else self._models.checkout_of_row(row)

    # Statements

    def _note(self, columns: Collection[str], *, told: bool) -> Any:
        """Update these columns, `next_read_at` among them, unless the row's status changed.

        :param told: `entry` goes into its history.
        """
        key = frozenset(columns), told
        if key not in self._notes:
            values = planned_values(self._table, key[0])
            if told:
                values |= self._with_entry()
            unmoved = update(self._table).where(is_of(self._table, "id"), is_of(self._table, "status"))
            self._notes[key] = unmoved.values(values).returning(*self._table.c)
        return self._notes[key]

    def _claim_due(self, *, failing: bool, newest_first: bool) -> Any:
        key = failing, newest_first
        if key not in self._claims:
            c = self._table.c
            due = (
                select(c.id)
                .where(self._is_due, c.failed_reads > 0 if failing else c.failed_reads == 0)
                .order_by(c.next_read_at.desc() if newest_first else c.next_read_at)
                .limit(bindparam("limit", type_=Integer()))
                # Skip rows locked by another transaction; it is already handling them. SQLite has no such clause, and
                # one writer.
                .with_for_update(skip_locked=True)
            )
            # PostgreSQL runs a plain subquery with LIMIT anew where its plan says so, and skips what it just locked;
            # a common table expression that locks is run once.
            self._claims[key] = self._claiming(c.id.in_(select(due.cte("due").c.id)))
        return self._claims[key]

    @cached_property
    def _claim_again(self) -> Any:
        return self._claiming(is_of(self._table, "id"), self._is_due)

    @cached_property
    def _claim_page_read(self) -> Any:
        """Plan the next read of the row `of_id`, if nobody read or claimed it since it was loaded."""
        table = self._table
        unread = [is_still(table, column) for column in ("next_read_at", "last_read_at")]
        values = new_values(table, ("next_read_at", "last_read_at")) | self._hint_taken("new_last_read_at")
        mine = update(table).where(is_of(table, "id"), is_of(table, "status"), *unread)
        return mine.values(values).returning(*table.c)

    @cached_property
    def _note_webhook_and_read(self) -> Any:
        """A webhook came for the open row `of_id` and may cause a read `now`: the last such read was before `free`.

        Should nobody else read it, reconcile does at `due`.
        """
        table = self._table
        free = table.c.webhook_read_at <= parameter(table, "free", "webhook_read_at")
        values: dict[str, Any] = {
            "webhook_read_at": parameter(table, "now", "webhook_read_at"),
            "webhook_due_at": null(),
            "next_read_at": parameter(table, "due", "next_read_at"),
        }
        return (
            self._counting()
            .where(table.c.status.in_(OPEN), or_(table.c.webhook_read_at.is_(None), free))
            .values(values | self._with_entry())
            .returning(*table.c)
        )

    @cached_property
    def _note_webhook(self) -> Any:
        """A webhook came for the open row `of_id`: it is read at `due` at the latest."""
        c, due = self._table.c, parameter(self._table, "due", "next_read_at")
        sooner = case((c.next_read_at <= due, c.next_read_at), else_=due)
        hint = func.coalesce(c.webhook_due_at, due)
        return self._counting().where(c.status.in_(OPEN)).values(next_read_at=sooner, webhook_due_at=hint)

    @cached_property
    def _note_first_webhook(self) -> Any:
        """The first webhook ever came for the row `of_id`, which is decided."""
        c = self._table.c
        return self._counting().where(c.status.not_in(OPEN), c.webhooks == 0).values(self._with_entry())

    def _counting(self) -> Any:
        return update(self._table).where(is_of(self._table, "id")).values(webhooks=self._table.c.webhooks + 1)

    def _with_entry(self) -> dict[str, Any]:
        return {"history": appended(self._table.c.history, bindparam("entry"), always=False)}

    @property
    def _is_due(self) -> ColumnElement[bool]:
        return self._table.c.next_read_at <= parameter(self._table, "of_next_read_at", "next_read_at")

    def _claiming(self, *conditions: ColumnElement[bool]) -> Any:
        values = new_values(self._table, ["next_read_at"]) | self._hint_taken("now")
        return update(self._table).where(*conditions).values(values).returning(*self._table.c)

    def _hint_taken(self, now: str) -> dict[str, Any]:
        """A read that a webhook asked for counts as the webhook's, whoever makes it: the cool-down begins with it.

        :param now: the parameter with the time of the read.
        """
        c = self._table.c
        hinted = (c.webhook_due_at.is_not(None), parameter(self._table, now, "webhook_read_at"))
        return {"webhook_read_at": case(hinted, else_=c.webhook_read_at), "webhook_due_at": null()}


def planned_values(table: Table, columns: Collection[str]) -> dict[str, Any]:
    """The new values of these columns; a `next_read_at` among them yields to an earlier one that a webhook asked for.

    What was read since `of_webhooks` of them were counted may be older than the news that the webhook hinted at.
    """
    values = new_values(table, columns)
    if "next_read_at" in values:
        c, planned = table.c, values["next_read_at"]
        sooner = or_(planned.is_(None), c.next_read_at < planned)
        hinted = (c.webhooks != parameter(table, "of_webhooks", "webhooks")) & sooner
        values["next_read_at"] = case((hinted, c.next_read_at), else_=planned)
    return values


def as_loaded(checkout: CheckoutMixin) -> dict[str, Any]:
    """The `of_...` parameters of a statement that wants its row to be as it was when loaded."""
    return {f"of_{name}": getattr(checkout, name) for name in ("id", "status", "revision", "webhooks")}


def entry_and_values(entry: str | None, values: dict[str, Any]) -> dict[str, Any]:
    """The `new_...` parameters of columns, and the line of the history."""
    return {"entry": entry} | {f"new_{name}": value for name, value in values.items()}
