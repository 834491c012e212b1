"""The SQL on the checkout table that busy shops run most, each statement built once and run with parameters.

Building a statement, and finding its compiled form again, costs more than the database takes to run it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Integer,
    Table,
    bindparam,
    case,
    exists,
    func,
    literal_column,
    null,
    or_,
    select,
    update,
)

from flask_paycheckout.rules.states import OPEN, Status
from flask_paycheckout.store.history import appended

__all__ = ["NEWEST", "CheckoutStatements"]

NEWEST = 3
"""Attempts of an order that a page's visit may read; those before them are left to reconcile."""

# While one of these exists, the order is not abandoned.
_HOPEFUL = (Status.CREATED, Status.PENDING, Status.HELD, Status.PAID)


class CheckoutStatements:
    """Statements on one app's checkout table.

    A parameter `new_…` is a column's new value, one `of_…` the value that it must still have, or the order's or row's
    it is about.

    :param short: the columns that are enough to see whether an attempt is worth a read.
    """

    def __init__(self, table: Table, short: Sequence[str] = ()) -> None:
        self._table = table
        self._short = [table.c[name] for name in short]
        self._moves: dict[tuple[frozenset[str], bool], Any] = {}
        self._claims: dict[tuple[bool, bool], Any] = {}
        self._notes: dict[tuple[frozenset[str], bool], Any] = {}

    # Reading

    @cached_property
    def glance(self) -> Any:
        """The row of `of_checkout_id`, in short."""
        return select(*self._short).where(self._is("checkout_id"))

    @cached_property
    def newest(self) -> Any:
        """The rows of `of_order_id` that were stored last, newest first, in short; one more than a page reads."""
        rows = select(*self._short).where(self._is("order_id"))
        return rows.order_by(self._table.c.id.desc()).limit(literal_column(str(NEWEST + 1)))

    @cached_property
    def counts(self) -> Any:
        """How many rows of `of_order_id` have each status."""
        c = self._table.c
        return select(c.status, func.count()).where(self._is("order_id")).group_by(c.status)

    @cached_property
    def order_statuses(self) -> Any:
        """The statuses of the rows of each of `of_order_ids`."""
        c = self._table.c
        wanted = bindparam("of_order_ids", expanding=True, type_=c.order_id.type)
        return select(c.order_id, c.status).where(c.order_id.in_(wanted)).distinct()

    @cached_property
    def current(self) -> Any:
        """The row whose `of_current_order_id` this is."""
        return select(self._table).where(self._is("current_order_id"))

    @cached_property
    def find(self) -> Any:
        """The row of `of_checkout_id`."""
        return select(self._table).where(self._is("checkout_id"))

    @cached_property
    def of_order(self) -> Any:
        """The rows of `of_order_id`, oldest first."""
        return select(self._table).where(self._is("order_id")).order_by(self._table.c.id)

    @cached_property
    def has_paid(self) -> Any:
        """Whether an attempt paid `of_paid_order_id`."""
        return select(exists().where(self._is("paid_order_id")))

    @cached_property
    def has_hope(self) -> Any:
        """Whether an attempt of `of_order_id` may still bring its money, or has brought it."""
        return select(exists().where(self._is("order_id"), self._table.c.status.in_(_HOPEFUL)))

    @cached_property
    def lock_order(self) -> Any:
        """What each attempt of `of_order_id` paid, and their rows locked where the database has such locks."""
        attempts = select(self._table.c.paid_order_id).where(self._is("order_id"))
        return attempts.order_by(self._table.c.id).with_for_update()

    # Writing

    @cached_property
    def insert(self) -> Any:
        """Store a row, and give it."""
        return self._table.insert().returning(*self._table.c)

    @cached_property
    def supersede(self) -> Any:
        """The row `of_id` is not its order's current one any more."""
        return update(self._table).where(self._is("id")).values(current_order_id=None)

    @cached_property
    def lock(self) -> Any:
        """Take SQLite's write lock, and see that the row still is as it was when loaded."""
        same = (self._is("id"), self._is("status"), self._is("revision"))
        return update(self._table).where(*same).values(revision=self._table.c.revision)

    def move(self, columns: Collection[str], *, decided: bool) -> Any:
        """Give these columns new values in the row as it was when loaded, and give the row; `entry` is its history's.

        No row when it moved meanwhile.

        :param decided: it is never read again, whatever webhooks say.
        """
        key = frozenset(columns), decided
        if key not in self._moves:
            values = self._values(key[0]) | {
                "history": appended(self._table.c.history, bindparam("entry"), always=True)
            }
            if decided:
                values["next_read_at"] = None
            moved = update(self._table).where(self._is("id"), self._is("status"), self._is("revision")).values(values)
            self._moves[key] = moved.returning(*self._table.c)
        return self._moves[key]

    def note(self, columns: Collection[str], *, told: bool) -> Any:
        """Give these columns new values, `next_read_at` among them, unless the row's status changed.

        :param told: `entry` goes into its history.
        """
        key = frozenset(columns), told
        if key not in self._notes:
            values = self._values(key[0])
            if told:
                values["history"] = appended(self._table.c.history, bindparam("entry"), always=False)
            self._notes[key] = update(self._table).where(self._is("id"), self._is("status")).values(values)
        return self._notes[key]

    def claim_due(self, *, failing: bool, newest_first: bool) -> Any:
        """Read up to `limit` rows that were due by `of_next_read_at` at a new time, and give them.

        :param failing: those whose last read failed, instead of all others.
        :param newest_first: those that became due last, instead of the longest overdue.
        """
        key = failing, newest_first
        if key not in self._claims:
            c = self._table.c
            due = (
                select(c.id)
                .where(self._due, c.failed_reads > 0 if failing else c.failed_reads == 0)
                .order_by(c.next_read_at.desc() if newest_first else c.next_read_at)
                .limit(bindparam("limit", type_=Integer()))
                # What somebody is writing at this moment is being looked after. SQLite has no such clause, and one
                # writer.
                .with_for_update(skip_locked=True)
            )
            # PostgreSQL runs a plain subquery with LIMIT anew where its plan says so, and skips what it just locked;
            # a common table expression that locks is run once.
            self._claims[key] = self._claiming(c.id.in_(select(due.cte("due").c.id)))
        return self._claims[key]

    @cached_property
    def claim_again(self) -> Any:
        """Read the row `of_id` at a new time, and give it, if it was due by `of_next_read_at`."""
        return self._claiming(self._is("id"), self._due)

    @cached_property
    def claim_page_read(self) -> Any:
        """Read the row `of_id` at a new time, if nobody read or claimed it since it was loaded."""
        same = [self._is_still(column) for column in ("next_read_at", "last_read_at")]
        values = self._plain_values(("next_read_at", "last_read_at")) | self._hint_taken("new_last_read_at")
        mine = update(self._table).where(self._is("id"), self._is("status"), *same)
        return mine.values(values).returning(*self._table.c)

    @cached_property
    def note_webhook_and_read(self) -> Any:
        """A webhook came for the open row `of_id` and may cause a read `now`: the last such read was before `free`.

        Should nobody else read it, reconcile does at `due`.
        """
        free = self._table.c.webhook_read_at <= self._param("free", "webhook_read_at")
        values: dict[str, Any] = {
            "webhook_read_at": self._param("now", "webhook_read_at"),
            "webhook_due_at": null(),
            "next_read_at": self._param("due", "next_read_at"),
        }
        return (
            self._counting()
            .where(self._table.c.status.in_(OPEN), or_(self._table.c.webhook_read_at.is_(None), free))
            .values(values | self._told())
            .returning(*self._table.c)
        )

    @cached_property
    def note_webhook(self) -> Any:
        """A webhook came for the open row `of_id`: it is read at `due` at the latest."""
        c, due = self._table.c, self._param("due", "next_read_at")
        sooner = case((c.next_read_at <= due, c.next_read_at), else_=due)
        hint = func.coalesce(c.webhook_due_at, due)
        return self._counting().where(c.status.in_(OPEN)).values(next_read_at=sooner, webhook_due_at=hint)

    @cached_property
    def note_first_webhook(self) -> Any:
        """The first webhook ever came for the row `of_id`, which is decided."""
        c = self._table.c
        return self._counting().where(c.status.not_in(OPEN), c.webhooks == 0).values(self._told())

    def _counting(self) -> Any:
        return update(self._table).where(self._is("id")).values(webhooks=self._table.c.webhooks + 1)

    def _told(self) -> dict[str, Any]:
        return {"history": appended(self._table.c.history, bindparam("entry"), always=False)}

    @property
    def _due(self) -> ColumnElement[bool]:
        return self._table.c.next_read_at <= self._param("of_next_read_at", "next_read_at")

    def _claiming(self, *conditions: ColumnElement[bool]) -> Any:
        values = self._plain_values(["next_read_at"]) | self._hint_taken("now")
        return update(self._table).where(*conditions).values(values).returning(*self._table.c)

    def _hint_taken(self, now: str) -> dict[str, Any]:
        """A read that a webhook asked for counts as the webhook's, whoever makes it: the cool-down begins with it.

        :param now: the parameter with the time of the read.
        """
        c = self._table.c
        read_at = case((c.webhook_due_at.is_not(None), self._param(now, "webhook_read_at")), else_=c.webhook_read_at)
        return {"webhook_read_at": read_at, "webhook_due_at": null()}

    def _plain_values(self, columns: Collection[str]) -> dict[str, Any]:
        return {name: self._param(f"new_{name}", name) for name in columns}

    def _values(self, columns: Collection[str]) -> dict[str, Any]:
        values = self._plain_values(columns)
        if "next_read_at" in values:
            values["next_read_at"] = self._next_read(values["next_read_at"])
        return values

    def _next_read(self, planned: BindParameter[Any]) -> ColumnElement[Any]:
        """The planned time, or the earlier one that a webhook asked for since `of_webhooks` of them were counted.

        What was read meanwhile may be older than the news that the webhook hinted at.
        """
        c = self._table.c
        sooner = or_(planned.is_(None), c.next_read_at < planned)
        hinted = (c.webhooks != self._param("of_webhooks", "webhooks")) & sooner
        return case((hinted, c.next_read_at), else_=planned)

    def _is(self, column: str) -> ColumnElement[bool]:
        return self._table.c[column] == self._param(f"of_{column}", column)

    def _is_still(self, column: str) -> ColumnElement[bool]:
        """The same for a column that may be NULL."""
        return self._table.c[column].is_not_distinct_from(self._param(f"of_{column}", column))

    def _param(self, name: str, column: str) -> BindParameter[Any]:
        return bindparam(name, type_=self._table.c[column].type)
