"""Planned reads of deposits: their times, claims, and the results of reads that change no state.

Each change is one conditional statement, so that among any number of processes exactly one makes each read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Table, Update, case, func, literal, or_, select, update

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.states import OPEN, Status
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.database.connections import begin_limited
from flask_paycheckout.database.history import Entry, appended, line
from flask_paycheckout.database.state_table import Book, lost_races_ignored
from flask_paycheckout.parts import Parts


@dataclass(frozen=True, eq=False)
class DueReads:
    """The planned reads of one app's checkouts."""

    parts: Parts
    checkouts: Checkouts
    book: Book

    def note(
        self, checkout: CheckoutMixin, entry: str | None, next_read_at: datetime | None, **values: Any
    ) -> CheckoutMixin | None:
        """Store the result of a read that does not change the state.

        :param entry: a line for the history, or None.
        :param values: further columns.
        :returns: the checkout as stored now; None when its state or money has changed meanwhile, and nothing was
            written.
        """
        values["next_read_at"] = next_read_at
        before, after = checkout.payment_completed_at, values.get("payment_completed_at", checkout.payment_completed_at)
        moves_money = (before is None) is not (after is None)
        if moves_money:
            # A read or a move that began before must not be stored as if nobody had seen this.
            values["revision"] = checkout.revision + 1
        with lost_races_ignored(), begin_limited(self.parts.engine()) as connection:
            row = self.checkouts.change(connection, checkout, values, entry)
            if row is None:
                return None
            if moves_money:
                self.book(connection, self.checkouts.models.row_of(checkout), row, values["last_read_at"])
            return self.checkouts.made(row)
        return None

    def count_due(self, now: datetime) -> int:
        """Count the reads that are due."""
        ((due,),) = self.checkouts.rows(select(func.count()).where(*self._is_due(now)))
        return int(due)

    def due_accounts(self, due_by: datetime) -> list[str]:
        """The names of the merchant accounts with reads that were due at this time."""
        c = self._table.c
        return sorted(row[0] for row in self.checkouts.rows(select(c.account).where(*self._is_due(due_by)).distinct()))

    def claim_due(
        self,
        due_by: datetime,
        now: datetime,
        limit: int,
        *,
        account: str,
        failing: bool = False,
        newest_first: bool = False,
    ) -> Sequence[CheckoutMixin]:
        """Claim due reads, and return their checkouts, oldest first.

        If the claimant dies, its claim expires after `Parts.claim`.

        :param due_by: claim reads that were due at this time.
        :param account: claim only reads of this merchant account.
        :param failing: claim only those whose last read failed; otherwise only the others.
        :param newest_first: claim those that became due last, instead of the longest overdue.
        """
        c = self._table.c
        failed = c.failed_reads > 0 if failing else c.failed_reads == 0
        due = select(c.id).where(*self._is_due(due_by), failed, c.account == account)
        due = due.order_by(c.next_read_at.desc() if newest_first else c.next_read_at).limit(limit)
        return self._claimed(update(self._table).where(self.checkouts.unlocked(due)), now)

    def claim_page_read(self, seen: CheckoutMixin, now: datetime) -> CheckoutMixin | None:
        """Claim the read of a checkout for a status page.

        :returns: the checkout as it is now; None when it was read or claimed since `seen` was loaded, or another
            transaction holds it, for which no page waits.
        """
        c = self._table.c
        unread = (c[name].is_not_distinct_from(getattr(seen, name)) for name in ("next_read_at", "last_read_at"))
        mine = c.id == seen.id, c.status == seen.status, *unread
        claiming = update(self._table).where(self.checkouts.unlocked(select(c.id).where(*mine)), *mine)
        return next(iter(self._claimed(claiming, now)), None)

    def note_webhook(
        self, checkout: CheckoutMixin, now: datetime, cooldown: timedelta, *, read_at: datetime | None = None
    ) -> CheckoutMixin | None:
        """Store a webhook, and make the read due.

        Within the cool-down the read becomes due at its end, so that no webhook is lost and reads stay limited. Of a
        decided checkout only the very first webhook is stored, as proof that webhooks arrive.

        :param read_at: when the last read for a webhook began, if that may not be stored yet.
        :returns: the checkout as it is now if this webhook may cause a read at once, else None.
        """
        c = self._table.c
        counting = update(self._table).where(c.id == checkout.id).values(webhooks=c.webhooks + 1)
        entry = {"history": appended(c.history, line(now, Entry.WEBHOOK), always=False)}
        # At most one of these statements changes the row.
        with begin_limited(self.parts.engine()) as connection:
            # Conditions on the row as it is now: a move since it was loaded must not lose the webhook.
            if read_at is None or not now - cooldown < read_at <= now:
                free = c.status.in_(OPEN), or_(c.webhook_read_at.is_(None), c.webhook_read_at <= now - cooldown)
                reading = counting.where(*free).values(entry | {"webhook_read_at": now, "webhook_due_at": None})
                row = connection.execute(reading.values(next_read_at=now).returning(*c)).mappings().one_or_none()
                if row is not None:
                    return self.checkouts.made(row)
                read_at = now
            due = literal(read_at + cooldown, c.next_read_at.type)
            sooner = case((c.next_read_at <= due, c.next_read_at), else_=due)
            # A time in the past belongs to an earlier webhook, whose deposit has been read since then.
            hint = case((c.webhook_due_at > now, c.webhook_due_at), else_=due)
            waiting = counting.where(c.status.in_(OPEN)).values(next_read_at=sooner, webhook_due_at=hint)
            if connection.execute(waiting).rowcount == 0:
                connection.execute(counting.where(c.status.not_in(OPEN), c.webhooks == 0).values(entry))
        return None

    @property
    def _table(self) -> Table:
        return self.checkouts.table

    def _is_due(self, due_by: datetime) -> tuple[ColumnElement[bool], ...]:
        c = self._table.c
        # A part has no deposit to read any more; see `PartPayments`.
        return c.next_read_at <= due_by, c.status != Status.PART.value

    def _claimed(self, claiming: Update, now: datetime) -> list[CheckoutMixin]:
        """Claim reads, and return their checkouts; the cool-down of a webhook begins with the read that it caused."""
        c = self._table.c
        hinted = c.webhook_due_at.is_not(None), literal(now, c.webhook_read_at.type)
        read_at = case(hinted, else_=c.webhook_read_at)
        planned = claiming.values(next_read_at=now + self.parts.claim, webhook_read_at=read_at, webhook_due_at=None)
        return self.checkouts.claimed(planned.returning(*c))
