"""Due payouts: queries and claims of payouts that are to be sent, looked up or read.

A claim moves `due_at` into the future, so that the payouts of a process that died become due again. Only one process
gets each payout.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, bindparam, case, exists, func, select, tuple_, update
from sqlalchemy.exc import IntegrityError

from flask_paycheckout.clock import Clock
from flask_paycheckout.database.connections import begin_limited, lost_races_ignored
from flask_paycheckout.database.mapping import MOMENT
from flask_paycheckout.database.state_table import Entry, appended, line
from flask_paycheckout.payouts.daily_limit import LimitedDay
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_schedule import QUESTIONS
from flask_paycheckout.payouts.payout_states import (
    LOOKED_UP,
    READ,
    RELEASING,
    SENDABLE,
    Doubt,
    PayoutEvidence,
    PayoutState,
    PayoutStatus,
)
from flask_paycheckout.payouts.payout_table import Payouts, is_stopped
from flask_paycheckout.service.limits import Cooldown
from flask_paycheckout.totals import number_of
from flask_paycheckout.wiring import Wiring

# The maximum number of lapsed payouts, and of postponed ones, that one round moves.
_MOVED = 1000
# The maximum number of reads that one webhook makes due.
_MOST = 10
# The minimum time between two webhooks that have an effect.
_BETWEEN_HINTS = timedelta(minutes=1)
# A webhook may be about a bank transfer that has ended within this time and came back. The newest ended transfers are
# read again, and then not for a while, because anybody can post webhooks.
_MAY_RETURN, _MOST_AGAIN, _BETWEEN_READS = timedelta(days=30), 100, timedelta(minutes=10)


class Backlog(NamedTuple):
    """The due work on payouts, by the steps of a round."""

    ready: int
    """The number of payouts that are ready to be sent, due or not."""

    lapsed: bool
    postponed: bool
    looked_up: bool
    sent: bool
    read: bool

    @property
    def is_empty(self) -> bool:
        """Whether nothing is due."""
        return not any(self[1:])


@dataclass(frozen=True, eq=False)
class DuePayouts:
    """Claims the due payouts of one app.

    :param database_clock: the clock by which all hosts agree on the day.
    """

    wiring: Wiring
    payouts: Payouts
    database_clock: Clock

    def backlog(self, due_by: datetime) -> Backlog:
        """Find out which steps have due payouts."""
        (row,) = self.payouts.rows(self._backlog, due_by=due_by)
        return Backlog(*row)

    @cached_property
    def _backlog(self) -> Any:
        """The query for a `Backlog`, built once because each round runs it.

        The installation's key is created first. A shop reconciles before it pays out, so every backup contains the key,
        even one without payouts.
        """
        due_by: Any = bindparam("due_by", type_=MOMENT)
        ready = select(func.count()).where(self.payouts.table.c.status == PayoutStatus.READY).scalar_subquery()
        lapsed, steps = exists().where(self._has_lapsed(due_by)), ([PayoutState.POSTPONED], LOOKED_UP, SENDABLE, READ)
        self.payouts.installation_key()
        return select(ready, lapsed, *[exists().where(self._is_due(states, due_by)) for states in steps])

    def overdue(self, due_by: datetime) -> Sequence[PayoutMixin]:
        """Payouts that nobody claimed in time, or that waited for this day; at most as many as one round moves."""
        table = self.payouts.table
        lapsed = select(table).where(self._has_lapsed(due_by)).order_by(table.c.claim_ends_at).limit(_MOVED)
        postponed = self.payouts.loaded(self._oldest([PayoutState.POSTPONED], due_by, _MOVED))
        # The daily limit uses the database's clock: a payout whose day has not begun there would only be postponed
        # again.
        day = self.database_clock() if postponed else due_by
        return [*self.payouts.loaded(lapsed), *(payout for payout in postponed if (payout.due_at or day) <= day)]

    def next_ready(
        self, due_by: datetime, without: Collection[str], away: Collection[str], locked: Collection[int]
    ) -> Row[Any] | None:
        """The row of the payout that is to be sent next, not claimed yet; None if there is none.

        :param without: merchant accounts whose payouts are not sent now, except payouts that have a payer already.
        :param away: payers that send nothing now; payouts that only they can pay are skipped.
        :param locked: ids of payouts that other transactions have locked.
        """
        c = self.payouts.table.c
        payable = case((c.paid_by.is_(None), c.account.not_in(without)), else_=c.paid_by.not_in(away))
        free = payable, c.id.not_in(locked), ~self._is_stopped
        return next(iter(self.payouts.rows(self._oldest(SENDABLE, due_by, 1, *free))), None)

    def take(self, first: Row[Any], due_by: datetime, *, paid_by: str, client_id: str | None) -> Sequence[PayoutMixin]:
        """Claim a ready payout for sending, with others that can go in the same call.

        A token payout, and a payout that may have been sent before, has a call of its own.

        :param first: the row of the payout.
        :param paid_by: the account whose access token sends them; stored unless another payer is stored already.
        :param client_id: the client id of that account's keys; stored likewise.

        :returns: the payouts, now in `sending`; empty if other processes have claimed them.
        """
        c, limit = self.payouts.table.c, self.wiring.settings.daily_limit.get(first.currency)
        # Read the clock before the transaction begins, because that may use the only connection.
        today = "" if limit is None else self.database_clock().date().isoformat()
        conditions: list[ColumnElement[bool]] = [c.id == first.id]
        if not (first.to_kind == "wallet" or first.doubt or first.earlier):
            conditions = [
                c.account == first.account,
                c.currency == first.currency,
                c.doubt.is_(None),
                c.earlier.is_(None),
            ]
        conditions.append(~self._is_stopped)
        due = self._oldest(SENDABLE, due_by, self.wiring.settings.payout_batch, *conditions)
        sent_by = {"paid_by": func.coalesce(c.paid_by, paid_by), "client_id": func.coalesce(c.client_id, client_id)}
        with suppress(IntegrityError), lost_races_ignored(), begin_limited(self.wiring.engine()) as connection:
            key = {"account": paid_by, "currency": first.currency, "day": today}
            day = None if limit is None else LimitedDay(connection, self.wiring.models.days, key, limit)
            return self._take(connection, day, due, sent_by)
        return []

    def _take(
        self, connection: Connection, day: LimitedDay | None, due: Any, sent_by: dict[str, Any]
    ) -> Sequence[PayoutMixin]:
        c, now = self.payouts.table.c, self.wiring.clock()
        self.payouts.lock_writer(connection)
        locked = self.payouts.rows(due.with_for_update(skip_locked=True), connection)
        # A payout whose sums another program has damaged stays ready, and does not stop the others.
        damaged = [row for row in locked if None in map(number_of, (row.amount, row.counts or "0"))]
        for row in damaged:
            problem = "a sum that is stored of it is no number"
            values = {"problem": problem, "problem_since": row.problem_since or now}
            self.payouts.change(connection, row._mapping, values)
        taken = [row for row in locked if row not in damaged]
        if day is not None:
            admitted = [row for row in taken if day.admits(row)]
            day.store()
            for row in set(taken) - set(admitted):
                self._postpone(connection, row, day, now)
            taken, sent_by = admitted, sent_by | {"counted_on": day.mark}
        if fresh := [row for row in taken if row.refund_of and row.taken_at is None]:
            self.payouts.number(connection, fresh)
        taking = update(self.payouts.table).where(c.id.in_([row.id for row in taken])).returning(*c)
        claim = self._claim(now) | sent_by
        entry = line(now, Entry.MOVED, to=PayoutStatus.SENDING, rule=PayoutEvidence.TAKEN)
        claim |= {
            "status": PayoutStatus.SENDING,
            "state": PayoutState.SENDING,
            "moved_at": now,
            "taken_at": func.coalesce(c.taken_at, now),
            "due_at": case((c.earlier.is_not(None) | c.refund_of.is_not(None), now + QUESTIONS), else_=claim["due_at"]),
            "history": appended(c.history, entry, always=False),
        }
        return sorted(self.payouts.loaded(taking.values(claim), connection), key=attrgetter("id"))

    def _postpone(self, connection: Connection, payout: Row[Any], day: LimitedDay, now: datetime) -> None:
        limit = f"the daily limit of {day.limit:f} {payout.currency}"
        never = f"it is more than {limit}, so that no day has room for it: approve it beyond the limit, or cancel it"
        today = f"it would exceed {limit}: it waits for the next day, or for approval"
        values = {
            "status": PayoutStatus.WAITING,
            "state": PayoutState.POSTPONED,
            "moved_at": now,
            "due_at": day.end,
            "problem": never if Decimal(payout.amount) > day.limit else today,
            "problem_since": payout.problem_since or now,
        }
        entry = line(now, Entry.MOVED, to=PayoutStatus.WAITING, rule=PayoutEvidence.OVER_LIMIT)
        self.payouts.change(connection, payout._mapping, values, entry)

    def take_due(
        self, states: Collection[PayoutState], due_by: datetime, limit: int, without: Collection[str]
    ) -> Sequence[PayoutMixin]:
        """Claim payouts that are to be looked up or read.

        :param states: `LOOKED_UP` or `READ`. A payout that is still in `sending` becomes lost, because the claim for
            its call has ended.
        :param without: merchant accounts whose payouts are skipped now.
        """
        c = self.payouts.table.c
        due = self._oldest(states, due_by, limit, c.account.not_in(without))
        state = case((c.state == PayoutState.SENDING, PayoutState.LOST), else_=c.state)
        return self.payouts.claimed(due.with_only_columns(c.id), self._claim(self.wiring.clock()) | {"state": state})

    def renew(self, claimed: Iterable[PayoutMixin]) -> Sequence[PayoutMixin]:
        """Extend the claims of payouts right before the call that sends them.

        :returns: the payouts that nobody else has claimed or changed meanwhile; only these may be sent.
        """
        c = self.payouts.table.c
        same = tuple_(c.id, c.changes).in_([(payout.id, payout.changes) for payout in claimed])
        return self.payouts.claimed(select(c.id).where(same), self._claim(self.wiring.clock()))

    def _oldest(
        self, states: Collection[PayoutState], due_by: datetime, limit: int, *conditions: ColumnElement[bool]
    ) -> Any:
        """Select the due payouts in these states that have waited for the longest time."""
        table = self.payouts.table
        due = select(table).where(self._is_due(states, due_by), *conditions)
        return due.order_by(table.c.due_at, table.c.id).limit(limit)

    def _is_due(self, states: Collection[PayoutState], due_by: datetime) -> ColumnElement[bool]:
        c = self.payouts.table.c
        due = c.due_at <= due_by
        if states is SENDABLE:
            # A payout that never failed is due: only a clock ahead of ours can have planned it later.
            due |= c.failures == 0
        return c.state.in_(states) & due

    @cached_property
    def _is_stopped(self) -> ColumnElement[bool]:
        return is_stopped(self.wiring.models)

    def _has_lapsed(self, due_by: datetime) -> ColumnElement[bool]:
        c = self.payouts.table.c
        return (c.state == PayoutState.CLAIMABLE) & (c.claim_ends_at <= due_by)

    def _claim(self, now: datetime) -> dict[str, Any]:
        """The values of a row that is claimed."""
        return {"due_at": now + self.wiring.claim, "changes": self.payouts.table.c.changes + 1}

    # Webhooks

    @cached_property
    def _reread_lately(self) -> Cooldown:
        return Cooldown(_BETWEEN_READS)

    @cached_property
    def _hinted_lately(self) -> Cooldown:
        return Cooldown(max(self.wiring.settings.webhook_cooldown, _BETWEEN_HINTS))

    def receive_hint(self) -> None:
        """Make the next planned reads of sent payouts due, unless a webhook about payouts did so recently.

        The sender of a webhook is not authenticated, so its cost is limited: it causes a few reads a minute, however
        many webhooks come. Payouts whose last read failed keep their time. The number of changes in the row stays, so
        that the result of a read under way is still stored. The newest ended transfers are read again, because banks
        return transfers, and the service may pay a failed one after all.
        """
        now, c = self.wiring.clock(), self.payouts.table.c
        if not self._hinted_lately.begin("", now):
            return
        conditions = c.state == PayoutState.SENT, c.due_at > now, c.failures == 0
        self._plan(select(c.id).where(*conditions).order_by(c.due_at, c.id).limit(_MOST), now)
        newest = select(c.id).where(*self._is_final(), c.moved_at > now - _MAY_RETURN).order_by(c.id.desc())
        wait = self._reread_lately.left("", now)
        if self._plan(newest.limit(_MOST_AGAIN), now + timedelta(seconds=wait)) and not wait:
            self._reread_lately.begin("", now)

    def read_again(self, reference: str) -> None:
        """Make a read of an ended bank transfer due: it may have come back since, or be paid after all."""
        c = self.payouts.table.c
        self._plan(select(c.id).where(*self._is_final(), c.reference == reference), self.wiring.clock())

    def _is_final(self) -> Sequence[ColumnElement[bool]]:
        """The conditions for ended bank transfers whose outcome may still change at the service."""
        c = self.payouts.table.c
        completed = c.state == PayoutState.COMPLETED
        known = c.disbursement_id.is_not(None) & c.doubt.is_distinct_from(Doubt.DENIED)
        failed = c.status.in_(RELEASING) & (known | c.earlier.is_not(None))
        return completed | failed, c.to_kind.in_(("bank", "recipient"))

    def _plan(self, ids: Any, at: datetime) -> Sequence[PayoutMixin]:
        """Plan the next reads of these payouts."""
        return self.payouts.claimed(ids, {"due_at": at})
