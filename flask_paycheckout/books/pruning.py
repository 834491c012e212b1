"""Removal of histories, delivered events, and abandoned checkouts that never had money, beside a working shop.

Money is never removed: not a row with any, nor a column of it, nor a payout's row, whose reference keeps the same
payout from being made again, nor the unique columns that keep an order from being paid twice. An abandoned checkout
whose deposit the service ever showed stays as well, because the service may still complete that deposit.

Rows are looked for in pages, without a lock. Each page is then removed by one short transaction, whose statement
repeats all conditions, so that a row that has changed meanwhile stays as it is. Rows that another transaction holds are
left to the next run. A run that was interrupted is continued by another one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from sqlalchemy import ColumnElement, Delete, Update, and_, exists, func, or_, select
from sqlalchemy.exc import DBAPIError

from flask_paycheckout.books.lists import pages
from flask_paycheckout.books.periods import earlier
from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS
from flask_paycheckout.checkouts.ruling import COMPLETED
from flask_paycheckout.checkouts.states import FINAL, Reason, Status
from flask_paycheckout.database.connections import autocommit
from flask_paycheckout.database.database_errors import is_lock_timeout, is_lost_race
from flask_paycheckout.database.models import Models
from flask_paycheckout.payouts.payout_states import PayoutStatus
from flask_paycheckout.text import first_line
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.logs import about

# The most rows in one transaction.
_ROWS = 200
_LONGEST_PAUSE = 1.0

Condition = ColumnElement[bool]
Removal = Delete | Update


@dataclass(frozen=True)
class Pruned:
    """The counts of one run; of a dry run what it would have removed."""

    before: datetime
    """Only what was decided and delivered before this time is removed."""

    dry_run: bool
    checkout_histories: int = 0
    """The number of checkouts whose history was removed."""

    payout_histories: int = 0
    """The number of payouts whose history was removed."""

    events: int = 0
    """The number of events that were removed."""

    checkouts: int = 0
    """The number of abandoned checkouts that were removed as a whole."""

    left: int = 0
    """The number of rows that changed meanwhile, were in use, that a table of the shop's own refers to, or that the
    database refused to change, as the log says."""


@dataclass(frozen=True)
class Pruning:
    """Prunes the tables of one app.

    :param pause: waits for so many seconds.
    """

    wiring: Wiring
    pause: Callable[[float], object] = time.sleep

    def run(self, older_than: timedelta, *, dry_run: bool = False) -> Pruned:
        """Remove what ended, and was told to every receiver, longer ago than this time.

        :param dry_run: only count it.
        """
        now, settings = self.wiring.clock(), self.wiring.settings
        before = earlier(now, older_than)
        # As long as a link to its order's page may be valid, an abandoned checkout tells what became of it.
        readable = max(settings.watch_for, settings.token_max_age)
        models = self.wiring.models
        prunable = Prunable(models, before, earlier(now, readable))
        of_checkouts, of_payouts = (
            table.update().values(history="", pruned_at=now).where(table.c.history != "")
            for table in (models.checkouts, models.payouts)
        )
        # By the field of `Pruned` that counts the rows.
        removals: dict[str, Removal] = {
            # Not the rows of checkouts that go as a whole.
            "checkout_histories": of_checkouts.where(prunable.decided_checkout(), ~prunable.checkout()),
            "payout_histories": of_payouts.where(prunable.decided_payout()),
            "checkouts": models.checkouts.delete().where(prunable.checkout()),
            # After the checkouts, whose events are told of nothing then.
            "events": models.events.delete().where(prunable.event()),
        }
        counts: Counter[str] = Counter()
        for counted_as, removal in removals.items():
            found = select(removal.table.c.id).where(cast("Condition", removal.whereclause))
            for page in pages(autocommit(self.wiring.engine()), found, ["id"], _ROWS):
                ids = [row["id"] for row in page]
                removed = len(ids) if dry_run else self._removed_each(removal, ids)
                counts[counted_as] += removed
                counts["left"] += len(ids) - removed
        return Pruned(before, dry_run, **counts)

    def _removed_each(self, removal: Removal, ids: Sequence[int]) -> int:
        """Remove rows in one transaction, or one by one where some cannot be removed, as a table of the shop's own may
        refer to one.
        """
        try:
            return self._removed(removal, ids)
        except Exception as error:
            if len(ids) == 1:
                told = "row %d of %s cannot be pruned: %s", ids[0], removal.table.description, first_line(error)
                self.wiring.log.warning("rows that are pruned", *told, extra=about(), error=error)
                return 0
        return sum(self._removed_each(removal, [one]) for one in ids)

    def _removed(self, removal: Removal, ids: Sequence[int]) -> int:
        """Remove rows in one short transaction, and let others have as much time; none where the database is busy."""
        began, table = time.monotonic(), removal.table
        locked = table.alias().c
        # Not those that another transaction holds; SQLite has one writer, and no such locks.
        free = select(locked.id).where(locked.id.in_(ids)).with_for_update(skip_locked=True)
        try:
            with self.wiring.engine().begin() as connection:
                removed = connection.execute(removal.where(table.c.id.in_(free))).rowcount
        except DBAPIError as error:
            if not (is_lock_timeout(error) or is_lost_race(error)):
                raise
            return 0
        self.pause(min(time.monotonic() - began, _LONGEST_PAUSE))
        return removed


@dataclass(frozen=True)
class Prunable:
    """The conditions of rows that may be removed once they are old.

    :param before: only what was decided, and delivered, before this time.
    :param abandoned_before: only checkouts that were abandoned before this time are removed as a whole.
    """

    models: Models
    before: datetime
    abandoned_before: datetime

    def event(self) -> Condition:
        """An event that may go: the rows that it is about are decided, or gone."""
        e, checkouts, payouts = self.models.events.c, self.models.checkouts.c, self.models.payouts.c
        of_checkout = checkouts.checkout_id == e.checkout_id, ~self.decided_checkout()
        of_payout = payouts.reference == e.payout_reference, ~self.decided_payout()
        return and_(self._is_told(), ~exists().where(*of_checkout), ~exists().where(*of_payout))

    def checkout(self) -> Condition:
        """A checkout that may go as a whole: nobody ever picked a payment method, so that there is no deposit.

        Nor is there anything that knows it: no refund and no webhook.
        """
        c, p = self.models.checkouts.c, self.models.payouts.c
        never = ("paid_order_id", "payback", "refunded_amount", "found_by", "deposit_status", *PAYMENT_COLUMNS)
        return and_(
            self.decided_checkout(),
            c.status == Status.ABANDONED,
            c.moved_at < self.abandoned_before,
            c.webhooks == 0,
            *(c[name].is_(None) for name in never),
            ~exists().where(p.refund_of == c.checkout_id),
        )

    def decided_checkout(self) -> Condition:
        """A checkout that is decided, or abandoned without money and read by nothing, all of whose events may go."""
        c, e = self.models.checkouts.c, self.models.events.c
        # Money that paid no order waits for a person, and a part for the rest.
        pays = and_(c.paid_order_id.is_not(None), func.coalesce(c.reason, "") != Reason.EXCESS)
        settled = and_(c.status.in_(FINAL), or_(pays, c.payback.is_not(None)))
        part = and_(c.status == Status.PART, c.next_read_at.is_(None))
        idle = "next_read_at", "webhook_due_at", "remind_at", "problem", "problem_since"
        never_arrived = "payment_completed_at", "payment_paid_amount"
        over = and_(
            c.status == Status.ABANDONED,
            func.coalesce(c.deposit_status, "") != COMPLETED,
            *(c[name].is_(None) for name in (*idle, *never_arrived)),
        )
        told = self._are_told(e.order_id == c.order_id, e.checkout_id == c.checkout_id)
        return and_(c.moved_at < self.before, or_(settled, part, over), told)

    def decided_payout(self) -> Condition:
        """A payout at its end, all of whose events may go."""
        p = self.models.payouts.c
        # A token transfer that was sent has no next step, and is at its end.
        ended = and_(p.status == PayoutStatus.SENT, p.due_at.is_(None))
        return and_(
            p.moved_at < self.before,
            or_(p.status.in_([PayoutStatus.COMPLETED, PayoutStatus.CANCELLED]), ended),
            p.problem.is_(None),
            self._are_told(self.models.events.c.payout_reference == p.reference),
        )

    def _is_told(self) -> Condition:
        """Whether an event's last receiver ran long ago, or it was superseded then, or nobody has listened since."""
        e = self.models.events.c
        told_at = func.coalesce(e.delivered_at, e.superseded_at, e.occurred_at)
        return func.coalesce(and_(e.next_attempt_at.is_(None), told_at < self.before), False)

    def _are_told(self, *about: Condition) -> Condition:
        """Whether that is so of all events about a row."""
        return ~exists().where(*about, ~self._is_told())
