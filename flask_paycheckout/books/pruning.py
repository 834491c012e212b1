"""Removal of histories, delivered events, and abandoned checkouts that never had money, beside a working shop.

Money is never removed: not a row with any, nor a column of it, nor a payout's row, whose reference keeps the same
payout from being made again, nor the unique columns that keep an order from being paid twice. An abandoned checkout
whose deposit the service ever showed stays as well, because the service may still complete that deposit.

Rows are looked for in windows of ids, without a lock. What was found is then removed by short transactions of few rows,
in which each statement repeats all conditions, so that a row that has changed meanwhile stays as it is. Rows that
another transaction holds are left to the next run. A run that was interrupted is continued by another one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Table,
    and_,
    case,
    delete,
    exists,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError

from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS
from flask_paycheckout.checkouts.ruling import COMPLETED
from flask_paycheckout.checkouts.states import Reason, Status
from flask_paycheckout.database.connections import autocommit
from flask_paycheckout.database.database_errors import first_line, is_passing
from flask_paycheckout.database.history import Entry, without
from flask_paycheckout.payouts.payout_states import PayoutStatus
from flask_paycheckout.service.logs import about

if TYPE_CHECKING:
    from flask_paycheckout.models import Models
    from flask_paycheckout.parts import Parts


# The ids in one query, and the most rows in one transaction.
_WINDOW = 2_000
_ROWS = 200
_LONGEST_PAUSE = 1.0
# The longest time that a datetime can be ahead of; no shop is older.
_LONGEST = timedelta(days=36_500)

_PAID = (Status.PAID.value, Status.REJECTED.value)
_FINAL_PAYOUTS = (PayoutStatus.COMPLETED.value, PayoutStatus.CANCELLED.value)
_MONEY_MOVED = frozenset({PayoutStatus.SENT.value, PayoutStatus.FAILED.value})

Condition = ColumnElement[bool]


@dataclass(frozen=True)
class Pruned:
    """The counts of one run; of a dry run what it would have removed."""

    before: datetime
    """Only what was decided and delivered before this time is removed."""

    dry_run: bool
    checkout_histories: int = 0
    """The number of checkouts whose history was removed, except for decisions of people."""

    payout_histories: int = 0
    """The number of payouts whose history was removed, except for decisions and moves of money."""

    events: int = 0
    """The number of events that were removed."""

    checkouts: int = 0
    """The number of abandoned checkouts that were removed as a whole."""

    left: int = 0
    """The number of rows that changed meanwhile, were in use, that a table of the shop's own refers to, or that the
    database refused to change, as the log says."""


class _Kind(NamedTuple):
    """Rows that are removed in one way."""

    counted_as: str
    """The field of `Pruned`."""

    table: Table
    condition: Condition
    is_kept: Callable[[dict[str, Any]], bool] | None = None
    """Whether an entry stays of the rows' histories, which are shortened; None for rows that go as a whole."""


@dataclass(frozen=True)
class Pruning:
    """Prunes the tables of one app.

    :param pause: waits for so many seconds.
    """

    parts: Parts
    pause: Callable[[float], object] = time.sleep

    def run(self, older_than: timedelta, *, dry_run: bool = False) -> Pruned:
        """Remove what ended, and was told to every receiver, longer ago than this time.

        :param dry_run: only count it.
        """
        now, settings = self.parts.clock(), self.parts.settings
        before = now - min(older_than, _LONGEST)
        # As long as a link to its order's page may be valid, an abandoned checkout tells what became of it.
        readable = max(settings.watch_for, settings.token_max_age)
        models = self.parts.models
        prunable = Prunable(models, before, now - min(readable, _LONGEST))
        kinds = (
            _Kind("checkout_histories", models.checkouts, prunable.checkout_history(), _is_decision),
            _Kind("payout_histories", models.payouts, prunable.payout_history(), _is_decision_or_money),
            _Kind("checkouts", models.checkouts, prunable.checkout()),
            # After the checkouts, whose events are told of nothing then.
            _Kind("events", models.events, prunable.event()),
        )
        counts: Counter[str] = Counter()
        for kind in kinds:
            for ids in self._found(kind):
                removed = len(ids) if dry_run else self._removed_each(kind, ids, now)
                counts[kind.counted_as] += removed
                counts["left"] += len(ids) - removed
        return Pruned(before, dry_run, **counts)

    def _found(self, kind: _Kind) -> Iterator[Sequence[int]]:
        """The ids of the rows for which the condition holds, as many at once as a transaction takes."""
        c: Any = kind.table.c
        place = 0
        while True:
            with self._single.connect() as connection:
                first = connection.execute(select(func.min(c.id)).where(c.id > place)).scalar()
                if first is None:
                    return
                place = first - 1 + _WINDOW
                rows = select(c.id).where(c.id.between(first, place), kind.condition).order_by(c.id)
                ids = connection.execute(rows).scalars().all()
            for number in range(0, len(ids), _ROWS):
                yield ids[number : number + _ROWS]

    def _removed_each(self, kind: _Kind, ids: Sequence[int], now: datetime) -> int:
        """Remove rows in one transaction, or one by one where some cannot be removed, as a table of the shop's own may
        refer to one.
        """
        if not ids:
            return 0
        try:
            return self._removed(kind, ids, now)
        except Exception as error:
            if len(ids) == 1:
                text, told = "row %d of %s cannot be pruned: %s", (ids[0], kind.table.name, first_line(error))
                self.parts.log.warning("rows that are pruned", text, *told, extra=about(), error=error)
                return 0
        return sum(self._removed_each(kind, [one], now) for one in ids)

    def _removed(self, kind: _Kind, ids: Sequence[int], now: datetime) -> int:
        """Remove rows in one short transaction, and let others have as much time; none where the database is busy."""
        began = time.monotonic()
        try:
            with self.parts.engine().begin() as connection:
                removed = _remove(connection, kind, ids, now)
        except DBAPIError as error:
            if not is_passing(error):
                raise
            return 0
        self.pause(min(time.monotonic() - began, _LONGEST_PAUSE))
        return removed

    @cached_property
    def _single(self) -> Engine:
        """The engine for single statements."""
        return autocommit(self.parts.engine())


def _remove(connection: Connection, kind: _Kind, ids: Sequence[int], now: datetime) -> int:
    """Remove rows, or the entries of their histories that are not kept; not those that another transaction locks."""
    table, is_kept = kind.table, kind.is_kept
    histories = connection.execute(select(table.c.id, table.c.history).where(table.c.id.in_(ids))) if is_kept else ()
    history_of = {row.id: row.history for row in histories}
    if connection.dialect.name != "sqlite":
        # Without waiting; SQLite has one writer, and no such locks.
        unlocked = select(table.c.id).where(table.c.id.in_(ids)).order_by(table.c.id).with_for_update(skip_locked=True)
        ids = connection.execute(unlocked).scalars().all()
    if is_kept is None:
        return connection.execute(delete(table).where(table.c.id.in_(ids), kind.condition)).rowcount
    removed = 0
    for one in ids:
        # The history only grows, and is compared: an entry that was added meanwhile must not be lost.
        same = table.c.id == one, table.c.history == history_of[one], kind.condition
        shortened = {"history": without(history_of[one], is_kept), "pruned_at": now}
        removed += connection.execute(update(table).where(*same).values(shortened)).rowcount
    return removed


def _is_decision(entry: dict[str, Any]) -> bool:
    """Whether an entry names a person who decided."""
    return "by" in entry


def _is_decision_or_money(entry: dict[str, Any]) -> bool:
    """Whether an entry of a payout names a person, or says when its money moved, or may have."""
    moved = entry["what"] == Entry.MOVED and entry.get("to") in _MONEY_MOVED
    return "by" in entry or moved or entry["what"] == Entry.NOT_APPLIED


@dataclass(frozen=True)
class Prunable:
    """The conditions of rows that may be removed once they are old.

    :param before: only what was decided, and delivered, before this time.
    :param abandoned_before: only checkouts that were abandoned before this time are removed as a whole.
    """

    models: Models
    before: datetime
    abandoned_before: datetime

    def checkout_history(self) -> Condition:
        """A checkout whose history may go; not one that goes as a whole."""
        return and_(self._is_unpruned(self.models.checkouts), self._checkout_is_decided(), ~self.checkout())

    def payout_history(self) -> Condition:
        """A payout whose history may go."""
        return and_(self._is_unpruned(self.models.payouts), self._payout_is_decided())

    def event(self) -> Condition:
        """An event that may go: its receivers have run, and the row that it is about is decided, or is gone."""
        e, checkouts, payouts = self.models.events.c, self.models.checkouts.c, self.models.payouts.c
        of_checkout = checkouts.checkout_id == e.checkout_id, ~func.coalesce(self._checkout_is_decided(), False)
        of_payout = payouts.reference == e.payout_reference, ~func.coalesce(self._payout_is_decided(), False)
        about = case((e.payout_reference.is_(None), ~exists().where(*of_checkout)), else_=~exists().where(*of_payout))
        return and_(self.is_delivered(), about)

    def is_delivered(self) -> Condition:
        """An event whose last receiver ran long ago, or that was superseded then."""
        e = self.models.events.c
        return and_(e.next_attempt_at.is_(None), func.coalesce(e.delivered_at, e.superseded_at) < self.before)

    def checkout(self) -> Condition:
        """A checkout that may go as a whole: nobody ever picked a payment method, so that there is no deposit.

        Nor is there anything that knows it: no refund, no webhook, and no event that is younger or not delivered.
        """
        c, e, p = self.models.checkouts.c, self.models.events.c, self.models.payouts.c
        never = ("paid_order_id", "payback", "refunded_amount", "found_by", "deposit_status", *PAYMENT_COLUMNS)
        told = and_(
            e.order_id == c.order_id, e.checkout_id == c.checkout_id, ~func.coalesce(self.is_delivered(), False)
        )
        return and_(
            self._is_over(),
            c.moved_at < min(self.before, self.abandoned_before),
            c.webhooks == 0,
            *(c[name].is_(None) for name in never),
            ~exists().where(told),
            ~exists().where(p.refund_of == c.checkout_id),
        )

    def _checkout_is_decided(self) -> Condition:
        c = self.models.checkouts.c
        # Money that paid no order waits for a person, and a part for the rest.
        pays = and_(c.paid_order_id.is_not(None), func.coalesce(c.reason, "") != Reason.EXCESS.value)
        settled = and_(c.status.in_(_PAID), or_(pays, c.payback.is_not(None)))
        settled = or_(settled, and_(c.status == Status.PART.value, c.next_read_at.is_(None)))
        e = self.models.events.c
        waiting = (e.order_id == c.order_id, e.checkout_id == c.checkout_id, e.next_attempt_at.is_not(None))
        return and_(c.moved_at < self.before, or_(settled, self._is_over()), ~exists().where(*waiting))

    def _is_over(self) -> Condition:
        """An abandoned checkout that nothing reads any more."""
        c = self.models.checkouts.c
        unread = [
            c[name].is_(None) for name in ("next_read_at", "webhook_due_at", "remind_at", "problem", "problem_since")
        ]
        never_arrived = and_(c.payment_completed_at.is_(None), c.payment_paid_amount.is_(None))
        no_money = and_(never_arrived, func.coalesce(c.deposit_status, "") != COMPLETED)
        return and_(c.status == Status.ABANDONED.value, no_money, *unread)

    def _payout_is_decided(self) -> Condition:
        p, e = self.models.payouts.c, self.models.events.c
        # A token transfer that was sent has no next step, and is at its end.
        ended = and_(p.status == PayoutStatus.SENT.value, p.next_attempt_at.is_(None))
        idle = [p[name].is_(None) for name in ("lease_token", "problem", "problem_since")]
        waiting = exists().where(e.payout_reference == p.reference, e.next_attempt_at.is_not(None))
        return and_(p.moved_at < self.before, or_(p.status.in_(_FINAL_PAYOUTS), ended), *idle, ~waiting)

    @staticmethod
    def _is_unpruned(table: Table) -> Condition:
        """Not pruned since the row was last moved."""
        c: Any = table.c
        return or_(c.pruned_at.is_(None), c.pruned_at <= c.moved_at)
