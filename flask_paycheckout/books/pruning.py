"""Removal of histories, delivered events, and abandoned checkouts that never had money, while the shop runs.

Records of money are never removed: no row or column with an amount; no row of a payout, because its reference prevents
the same payout from being made again; and no unique column that prevents an order from being paid twice. An abandoned
checkout whose deposit the service ever showed stays as well, because the service may still complete that deposit.

Rows are selected in pages, without a lock. One short transaction then removes each page; its statement repeats all
conditions, so that a row that has changed meanwhile stays as it is. Rows that another transaction has locked are left
to the next run, which also continues an interrupted run.
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

# The maximum number of rows in one transaction.
_ROWS = 200
_LONGEST_PAUSE = 1.0

Condition = ColumnElement[bool]
Removal = Delete | Update


@dataclass(frozen=True)
class Pruned:
    """The counts of one run; for a dry run, the counts that it would have had."""

    before: datetime
    """Only rows that were decided and delivered before this time are removed."""

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
    """The number of rows that were left: changed meanwhile, in use, or refused by the database, as the log says."""


@dataclass(frozen=True)
class Pruning:
    """Prunes the tables of one app.

    :param pause: waits for so many seconds.
    """

    wiring: Wiring
    pause: Callable[[float], object] = time.sleep

    def run(self, older_than: timedelta, *, dry_run: bool = False) -> Pruned:
        """Remove rows that ended, and were delivered to every receiver, longer ago than this time.

        :param dry_run: only count the rows.
        """
        now, settings = self.wiring.clock(), self.wiring.settings
        before = earlier(now, older_than)
        # Keep an abandoned checkout as long as a link to its order's page, which shows it, may be valid.
        readable = max(settings.watch_for, settings.token_max_age)
        models = self.wiring.models
        prunable = Prunable(models, before, earlier(now, readable))
        of_checkouts, of_payouts = (
            table.update().values(history="", pruned_at=now).where(table.c.history != "")
            for table in (models.checkouts, models.payouts)
        )
        # The keys are the fields of `Pruned` that count the rows.
        removals: dict[str, Removal] = {
            # Skip the rows of checkouts that are removed as a whole.
            "checkout_histories": of_checkouts.where(prunable.decided_checkout(), ~prunable.checkout()),
            "payout_histories": of_payouts.where(prunable.decided_payout()),
            "checkouts": models.checkouts.delete().where(prunable.checkout()),
            # Remove events after checkouts, because the events of a removed checkout may be removed, too.
            "events": models.events.delete().where(prunable.event()),
        }
        counts: Counter[str] = Counter()
        for counted_as, removal in removals.items():
            ids_to_remove = select(removal.table.c.id).where(cast("Condition", removal.whereclause))
            for page in pages(autocommit(self.wiring.engine()), ids_to_remove, ["id"], _ROWS):
                ids = [row["id"] for row in page]
                removed = len(ids) if dry_run else self._removed_each(removal, ids)
                counts[counted_as] += removed
                counts["left"] += len(ids) - removed
        return Pruned(before, dry_run, **counts)

    def _removed_each(self, removal: Removal, ids: Sequence[int]) -> int:
        """Remove rows in one transaction, or one by one if some cannot be removed.

        A table of the shop may refer to such a row.
        """
        try:
            return self._removed(removal, ids)
        except Exception as error:
            if len(ids) == 1:
                message = "row %d of %s cannot be pruned: %s", ids[0], removal.table.description, first_line(error)
                self.wiring.log.warning("rows that are pruned", *message, extra=about(), error=error)
                return 0
        return sum(self._removed_each(removal, [row_id]) for row_id in ids)

    def _removed(self, removal: Removal, ids: Sequence[int]) -> int:
        """Remove rows in one short transaction, and pause for as long; remove none if the database is busy."""
        began, table = time.monotonic(), removal.table
        locked = table.alias().c
        # Skip rows that another transaction has locked; SQLite has one writer and no row locks.
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

    :param before: only rows that were decided and delivered before this time.
    :param abandoned_before: only checkouts that were abandoned before this time are removed as a whole.
    """

    models: Models
    before: datetime
    abandoned_before: datetime

    def event(self) -> Condition:
        """An event that may be removed: the rows that it is about are decided, or removed."""
        e, checkouts, payouts = self.models.events.c, self.models.checkouts.c, self.models.payouts.c
        of_checkout = checkouts.checkout_id == e.checkout_id, ~self.decided_checkout()
        of_payout = payouts.reference == e.payout_reference, ~self.decided_payout()
        return and_(self._is_delivered(), ~exists().where(*of_checkout), ~exists().where(*of_payout))

    def checkout(self) -> Condition:
        """A checkout that may be removed as a whole: nobody ever picked a payment method, so that there is no deposit.

        No refund and no webhook refers to it either.
        """
        c, p, other = self.models.checkouts.c, self.models.payouts.c, self.models.checkouts.alias().c
        # The owner's list of orders shows each order by its newest checkout.
        is_listed_by = c.current_order_id == other.order_id, c.id != other.id
        never = ("paid_order_id", "payback", "refunded_amount", "found_by", "deposit_status", *PAYMENT_COLUMNS)
        return and_(
            self.decided_checkout(),
            c.status == Status.ABANDONED,
            c.moved_at < self.abandoned_before,
            c.webhooks == 0,
            *(c[name].is_(None) for name in never),
            ~exists().where(p.refund_of == c.checkout_id),
            ~exists().where(*is_listed_by),
        )

    def decided_checkout(self) -> Condition:
        """A checkout that is decided, or abandoned without money or planned reads; all its events may be removed."""
        c, e = self.models.checkouts.c, self.models.events.c
        # Money that paid no order waits for a person, and a part waits for the rest of the order's total.
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
        delivered = self._are_delivered(e.order_id == c.order_id, e.checkout_id == c.checkout_id)
        return and_(c.moved_at < self.before, or_(settled, part, over), delivered)

    def decided_payout(self) -> Condition:
        """A payout that has ended; all its events may be removed."""
        p = self.models.payouts.c
        # A token payout that was sent has no next step, so it has ended.
        ended = and_(p.status == PayoutStatus.SENT, p.due_at.is_(None))
        return and_(
            p.moved_at < self.before,
            or_(p.status.in_([PayoutStatus.COMPLETED, PayoutStatus.CANCELLED]), ended),
            p.problem.is_(None),
            self._are_delivered(self.models.events.c.payout_reference == p.reference),
        )

    def _is_delivered(self) -> Condition:
        """Whether an event was delivered or superseded long ago, or occurred long ago and has no listener."""
        e = self.models.events.c
        done_at = func.coalesce(e.delivered_at, e.superseded_at, e.occurred_at)
        return func.coalesce(and_(e.next_attempt_at.is_(None), done_at < self.before), False)

    def _are_delivered(self, *about: Condition) -> Condition:
        """Whether `_is_delivered` holds for all events about a row."""
        return ~exists().where(*about, ~self._is_delivered())
