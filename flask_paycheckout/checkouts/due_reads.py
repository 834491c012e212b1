"""Planned reads of deposits: their times, claims, and the results of reads that change no state.

Each change is one conditional statement, so that among any number of processes exactly one makes each read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ColumnElement,
    Table,
    case,
    func,
    null,
    or_,
    select,
    update,
)

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.states import OPEN
from flask_paycheckout.checkouts.stored import Checkouts, CheckoutSummary
from flask_paycheckout.database.history import Entry, appended, line
from flask_paycheckout.database.lock_limit import begin_limited
from flask_paycheckout.database.parameters import is_of, is_still, new_values, parameter
from flask_paycheckout.database.state_table import lost_races_ignored

if TYPE_CHECKING:
    from flask_paycheckout.books.ledger import Bookings
    from flask_paycheckout.parts import Parts


@dataclass(frozen=True, eq=False)
class DueReads:
    """The planned reads of one app's checkouts."""

    parts: Parts
    checkouts: Checkouts
    bookings: Bookings
    _claims: dict[tuple[bool, bool, bool], Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def claim(self) -> timedelta:
        """The time after which another process may make a claimed read; longer than a read can take."""
        return self.parts.claim

    @property
    def single_writer(self) -> bool:
        """Whether the database has one writer at a time, so that a second thread could only wait for it."""
        return self.parts.engine().dialect.name == "sqlite"

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
        unmoved: tuple[str, ...] = ("id", "status")
        if moves_money:
            # A move that began before must not book the money as if nobody had seen this.
            values["revision"], unmoved = checkout.revision + 1, self.checkouts.unmoved
        with lost_races_ignored(), begin_limited(self.parts.engine()) as connection:
            row = self.checkouts.change(connection, checkout, values, entry, unmoved=unmoved)
            if row is None:
                return None
            if moves_money:
                before = self.checkouts.row_of(checkout)
                self.bookings.book_checkout(connection, before, row, values["last_read_at"])
            return self.checkouts.made(row)
        return None

    def count_due(self, now: datetime) -> int:
        """Count the reads that are due."""
        ((due,),) = self.checkouts.rows(select(func.count()).where(self._is_due), of_next_read_at=now)
        return int(due)

    def due_accounts(self, due_by: datetime) -> list[str]:
        """The names of the merchant accounts with reads that were due at this time."""
        accounts = select(self._table.c.account).where(self._is_due).distinct()
        return sorted(row[0] for row in self.checkouts.rows(accounts, of_next_read_at=due_by))

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
        due |= {"new_next_read_at": now + self.claim, "now": now}
        return self.checkouts.claimed(statement, due if account is None else due | {"of_account": account})

    def claim_page_read(self, seen: CheckoutSummary, now: datetime) -> CheckoutMixin | None:
        """Claim the read of a checkout for a status page.

        :returns: the checkout as it is now; None when it was read or claimed since `seen` was loaded, or another
            transaction holds it, for which no page waits.
        """
        unchanged = {f"of_{name}": getattr(seen, name) for name in ("id", "status", "next_read_at", "last_read_at")}
        # Set before the answer arrives, so that visits do not pile up reads while the service is slow.
        mark = {"new_next_read_at": now + self.claim, "new_last_read_at": now}
        return next(iter(self.checkouts.claimed(self._claim_page_read, unchanged | mark)), None)

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
        with begin_limited(self.parts.engine()) as connection:
            # Conditions on the row as it is now: a move since it was loaded must not lose the webhook.
            if read_at is None or not now - cooldown < read_at <= now:
                reading = {**webhook, "now": now, "free": now - cooldown}
                found = connection.execute(self._note_webhook_and_read, reading).mappings().one_or_none()
                if found is not None:
                    return self.checkouts.made(found)
                read_at = now
            waiting = {"of_id": checkout.id, "now": now, "due": read_at + cooldown}
            if connection.execute(self._note_webhook, waiting).rowcount == 0:
                connection.execute(self._note_first_webhook, webhook)
        return None

    @property
    def _table(self) -> Table:
        return self.checkouts.table

    # Statements

    def _claim_due(self, *, failing: bool, newest_first: bool, of_account: bool) -> Any:
        key = failing, newest_first, of_account
        if key not in self._claims:
            c = self._table.c
            failed = c.failed_reads > 0 if failing else c.failed_reads == 0
            account = [is_of(self._table, "account")] if of_account else []
            order = c.next_read_at.desc() if newest_first else c.next_read_at
            first = self.checkouts.is_first(self._is_due, failed, *account, order=(order,))
            self._claims[key] = self._claiming(first)
        return self._claims[key]

    @cached_property
    def _claim_page_read(self) -> Any:
        """Claim the read of the row `of_id`, unless it was read or claimed since it was loaded."""
        table = self._table
        unread = [is_still(table, column) for column in ("next_read_at", "last_read_at")]
        values = new_values(table, ("next_read_at", "last_read_at")) | self._hint_taken("new_last_read_at")
        mine = (is_of(table, "id"), is_of(table, "status"), *unread)
        claimed = update(table).where(*mine, self.checkouts.unlocked(select(table.c.id).where(*mine)))
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
        return {"history": appended(self._table.c.history, self.checkouts.entry, always=False)}

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
