"""Planned reads of deposits: their times, claims, and the results of reads that change no state.

Each change is one conditional statement, so that among any number of processes exactly one makes each read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Integer,
    RowMapping,
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

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS
from flask_paycheckout.checkouts.states import OPEN
from flask_paycheckout.checkouts.stored import CheckoutSummary
from flask_paycheckout.database.autocommit import autocommit
from flask_paycheckout.database.database_errors import is_lost_race
from flask_paycheckout.database.history import Entry, appended, line
from flask_paycheckout.database.lock_limit import begin_limited
from flask_paycheckout.database.parameters import is_of, is_still, new_values, parameter

if TYPE_CHECKING:
    from flask_paycheckout.books.ledger import Bookings
    from flask_paycheckout.models import Models


class DueReads:
    """The planned reads of one app's checkouts.

    :param engine: returns the engine of the checkout table, when first needed.
    """

    def __init__(self, engine: Callable[[], Engine], models: Models, bookings: Bookings, claim: timedelta) -> None:
        self._engine = engine
        self._models = models
        self._bookings = bookings
        self._table = models.checkouts
        self._notes: dict[tuple[frozenset[str], bool], Any] = {}
        self._claims: dict[tuple[bool, bool, bool], Any] = {}
        self.claim = claim
        """The time after which another process may make a claimed read; longer than a read can take."""

    @property
    def single_writer(self) -> bool:
        """Whether the database has one writer at a time, so that a second thread could only wait for it."""
        return self._engine().dialect.name == "sqlite"

    def note(
        self, checkout: CheckoutMixin, entry: str | None, next_read_at: datetime | None, **values: Any
    ) -> CheckoutMixin | None:
        """Store the result of a read that does not change the state.

        :param entry: a line for the history, or None.
        :param values: further columns.
        :returns: the checkout as stored now; None when its state has changed meanwhile, and nothing was written.
        """
        values["next_read_at"] = next_read_at
        arrived = checkout.payment_completed_at is not None
        moves_money = (values.get("payment_completed_at", checkout.payment_completed_at) is not None) is not arrived
        if moves_money:
            # A move that began before must not book the money as if nobody had seen this.
            values["revision"] = checkout.revision + 1
        statement = self._note(values, with_entry=entry is not None)
        try:
            with begin_limited(self._engine()) as connection:
                row = self._row(connection, statement, as_loaded(checkout) | entry_and_values(entry, values))
                if row is None:
                    return None
                if moves_money:
                    before = self._models.row_of_checkout(checkout)
                    self._bookings.book_checkout(connection, before, row, values["last_read_at"])
                return self._models.checkout_of_row(row)
        except OperationalError as error:
            if is_lost_race(error):
                return None
            raise

    def count_due(self, now: datetime) -> int:
        """Count the reads that are due."""
        counted = select(func.count()).select_from(self._table).where(self._table.c.next_read_at <= now)
        with self._single.connect() as connection:
            return int(connection.execute(counted).scalar_one())

    def due_accounts(self, due_by: datetime) -> list[str]:
        """The names of the merchant accounts with reads that were due at this time."""
        c = self._table.c
        with self._single.connect() as connection:
            found = connection.execute(select(c.account).where(c.next_read_at <= due_by).distinct())
            return sorted(found.scalars())

    def claim_due(
        self,
        due_by: datetime,
        now: datetime,
        limit: int,
        *,
        account: str | None = None,
        failing: bool = False,
        newest_first: bool = False,
    ) -> Sequence[CheckoutMixin]:
        """Claim due reads, and return their checkouts, oldest first.

        If the claimant dies, its claim expires after `claim`.

        :param due_by: claim reads that were due at this time.
        :param account: claim only reads of this merchant account; None for those of all.
        :param failing: claim only those whose last read failed; otherwise only the others.
        :param newest_first: claim those that became due last, instead of the longest overdue.
        """
        statement = self._claim_due(failing=failing, newest_first=newest_first, of_account=account is not None)
        due: dict[str, Any] = {"of_next_read_at": due_by, "limit": limit}
        claimed = self._claimed(statement, now, due if account is None else due | {"of_account": account})
        return sorted(claimed, key=lambda checkout: checkout.id)

    def claim_page_read(self, seen: CheckoutSummary, now: datetime) -> CheckoutMixin | None:
        """Claim the read of a checkout for a status page.

        :returns: the checkout as it is now; None when it was read or claimed since `seen` was loaded, or another
            transaction holds it, for which no page waits.
        """
        unchanged = {f"of_{name}": getattr(seen, name) for name in ("id", "status", "next_read_at", "last_read_at")}
        # Set before the answer arrives, so that visits do not pile up reads while the service is slow.
        mark = {"new_next_read_at": now + self.claim, "new_last_read_at": now}
        with self._single.begin() as connection:
            return self._changed(connection, self._claim_page_read, unchanged | mark)

    def note_webhook(
        self, checkout: CheckoutMixin, now: datetime, cooldown: timedelta, *, read_at: datetime | None = None
    ) -> CheckoutMixin | None:
        """Store a webhook, and make the read due.

        Within the cool-down the read becomes due at its end, so that no webhook is lost and reads stay limited. Of a
        decided checkout only the very first webhook is stored, as proof that webhooks arrive.

        :param read_at: when the last read for a webhook began, if that may not be stored yet.
        :returns: the checkout as it is now if this webhook may cause a read at once, else None.
        """
        webhook = {"of_id": checkout.id, "entry": line(now, Entry.WEBHOOK)}
        # At most one of these statements changes the row.
        with begin_limited(self._engine()) as connection:
            # Conditions on the row as it is now: a move since it was loaded must not lose the webhook.
            if read_at is None or not now - cooldown < read_at <= now:
                reading = {**webhook, "now": now, "free": now - cooldown}
                found = self._changed(connection, self._note_webhook_and_read, reading)
                if found is not None:
                    return found
                read_at = now
            waiting = {"of_id": checkout.id, "now": now, "due": read_at + cooldown}
            if connection.execute(self._note_webhook, waiting).rowcount == 0:
                connection.execute(self._note_first_webhook, webhook)
        return None

    @cached_property
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
        row = self._row(connection, statement, parameters)
        return None if row is None else self._models.checkout_of_row(row)

    def _row(self, connection: Connection, statement: Any, parameters: dict[str, Any]) -> RowMapping | None:
        return connection.execute(statement, parameters).mappings().one_or_none()

    # Statements

    def _note(self, columns: Collection[str], *, with_entry: bool) -> Any:
        """Update these columns, including `next_read_at`, unless the row's status has changed.

        :param with_entry: whether `entry` is appended to the history.
        """
        key = frozenset(columns), with_entry
        if key not in self._notes:
            values = planned_values(self._table, key[0])
            if with_entry:
                values |= self._with_entry()
            same = ("id", "status", "revision") if "revision" in key[0] else ("id", "status")
            unmoved = update(self._table).where(*(is_of(self._table, column) for column in same))
            self._notes[key] = unmoved.values(values).returning(*self._table.c)
        return self._notes[key]

    def _claim_due(self, *, failing: bool, newest_first: bool, of_account: bool) -> Any:
        key = failing, newest_first, of_account
        if key not in self._claims:
            c = self._table.c
            due = (
                select(c.id)
                .where(self._is_due, c.failed_reads > 0 if failing else c.failed_reads == 0)
                .where(*([is_of(self._table, "account")] if of_account else []))
                .order_by(c.next_read_at.desc() if newest_first else c.next_read_at)
                .limit(bindparam("limit", type_=Integer()))
                # Skip rows locked by another transaction; it is already handling them. SQLite has no such clause, and
                # one writer.
                .with_for_update(skip_locked=True)
            )
            # As a common table expression, which PostgreSQL runs once: it may repeat a plain subquery with LIMIT, and
            # then skip the rows that it has just locked.
            self._claims[key] = self._claiming(c.id.in_(select(due.cte("due").c.id)))
        return self._claims[key]

    @cached_property
    def _claim_page_read(self) -> Any:
        """Claim the read of the row `of_id`, unless it was read or claimed since it was loaded."""
        table = self._table
        unread = [is_still(table, column) for column in ("next_read_at", "last_read_at")]
        values = new_values(table, ("next_read_at", "last_read_at")) | self._hint_taken("new_last_read_at")
        mine = (is_of(table, "id"), is_of(table, "status"), *unread)
        free = select(table.c.id).where(*mine).with_for_update(skip_locked=True).cte("free")
        claimed = update(table).where(*mine, table.c.id.in_(select(free.c.id)))
        return claimed.values(values).returning(*table.c)

    @cached_property
    def _note_webhook_and_read(self) -> Any:
        """Count a webhook of the open row `of_id`, and make its read due, unless a webhook caused one since `free`."""
        table = self._table
        free = table.c.webhook_read_at <= parameter(table, "free", "webhook_read_at")
        now = parameter(table, "now", "webhook_read_at")
        values: dict[str, Any] = {"webhook_read_at": now, "webhook_due_at": null(), "next_read_at": now}
        return (
            self._counting()
            .where(table.c.status.in_(OPEN), or_(table.c.webhook_read_at.is_(None), free))
            .values(values | self._with_entry())
            .returning(*table.c)
        )

    @cached_property
    def _note_webhook(self) -> Any:
        """Count a webhook of the open row `of_id`, and make its read due at `due` at the latest."""
        c, due = self._table.c, parameter(self._table, "due", "next_read_at")
        sooner = case((c.next_read_at <= due, c.next_read_at), else_=due)
        # A time in the past belongs to an earlier webhook, whose deposit has been read since then.
        ahead = c.webhook_due_at > parameter(self._table, "now", "webhook_due_at")
        hint = case((ahead, c.webhook_due_at), else_=due)
        return self._counting().where(c.status.in_(OPEN)).values(next_read_at=sooner, webhook_due_at=hint)

    @cached_property
    def _note_first_webhook(self) -> Any:
        """Count the first webhook of the decided row `of_id`."""
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
        """The columns by which the cool-down begins with a read that a webhook caused, whoever makes it.

        :param now: the name of the parameter with the time of the read.
        """
        c = self._table.c
        hinted = (c.webhook_due_at.is_not(None), parameter(self._table, now, "webhook_read_at"))
        return {"webhook_read_at": case(hinted, else_=c.webhook_read_at), "webhook_due_at": null()}


def planned_values(table: Table, columns: Collection[str]) -> dict[str, Any]:
    """The new values of these columns; the earlier read that a newer webhook asked for is kept.

    The deposit may have been read before the change that a webhook beyond `of_webhooks` announced. `webhooks` is the
    number of webhooks to add. The columns of a payment keep what was stored first, because the books of a closed month
    must not change; only their time is taken away, when the service does not report the deposit as completed any more.
    """
    values = new_values(table, columns)
    c = table.c
    for name in values.keys() & {*PAYMENT_COLUMNS} if "payment_paid_amount" in values else ():
        values[name] = case((c.payment_completed_at.is_(None), values[name]), else_=c[name])
    hinted = c.webhooks != parameter(table, "of_webhooks", "webhooks")
    if "next_read_at" in values:
        planned, wanted = values["next_read_at"], func.coalesce(c.webhook_due_at, c.next_read_at)
        sooner = or_(planned.is_(None), wanted < planned)
        values["next_read_at"] = case((hinted & sooner, wanted), else_=planned)
    if "webhooks" in values:
        # The webhook that caused the read; newer ones keep what they have set.
        values["webhooks"] = c.webhooks + values["webhooks"]
        later = c.webhook_read_at > values["webhook_read_at"]
        values["webhook_read_at"] = case((later, c.webhook_read_at), else_=values["webhook_read_at"])
        values["webhook_due_at"] = case((hinted, c.webhook_due_at), else_=values["webhook_due_at"])
    return values


def as_loaded(checkout: CheckoutMixin) -> dict[str, Any]:
    """The `of_...` parameters of a statement that requires the row to be unchanged since it was loaded."""
    return {f"of_{name}": getattr(checkout, name) for name in ("id", "status", "revision", "webhooks")}


def entry_and_values(entry: str | None, values: dict[str, Any]) -> dict[str, Any]:
    """The `new_...` parameters of columns, and the line of the history."""
    return {"entry": entry} | {f"new_{name}": value for name, value in values.items()}
