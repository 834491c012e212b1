"""Payouts that are due to be sent, looked up or read, and webhooks, by which reads become due sooner.

Each claim is one conditional statement, so that among any number of processes exactly one gets a row. A claim ends at
`next_attempt_at`, so that the rows of a process that died are found again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Engine,
    Integer,
    Table,
    bindparam,
    exists,
    false,
    func,
    literal,
    not_,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError, OperationalError

from flask_paycheckout.clock import Clock, as_utc
from flask_paycheckout.database.autocommit import autocommit
from flask_paycheckout.database.database_errors import is_lost_race
from flask_paycheckout.database.history import Entry, appended, line
from flask_paycheckout.database.lock_limit import begin_limited
from flask_paycheckout.database.parameters import is_of, new_values, parameter
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutEvidence, PayoutStatus
from flask_paycheckout.payouts.payout_tries import installation_key
from flask_paycheckout.totals import is_token

if TYPE_CHECKING:
    from flask_paycheckout.models import Models


_READY, _SENDING, _SENT = PayoutStatus.READY.value, PayoutStatus.SENDING.value, PayoutStatus.SENT.value
_LEASED = ("next_attempt_at", "lease_token")
_KEYS = ("paid_by", "client_id")


class ReadyPayout(msgspec.Struct, frozen=True):
    """The payout that has been ready for the longest time."""

    id: int
    account: str
    currency: str
    alone: bool
    paid_by: str | None
    """The account that must pay it again, as its money may have paid already; None: any."""


class Backlog(msgspec.Struct, frozen=True):
    """The work that waits."""

    due: bool
    """Whether anything is due to be sent, looked up or read."""

    ready: int
    """The number of payouts that are ready to be sent, now or later."""


class PayoutQueue:
    """Claims the due payouts of one app.

    :param engine: returns the engine of the payout table, when first needed.
    :param lease: the time for which a claim holds; longer than a call of the service can take.
    :param batch: the most payouts that are sent in one call.
    """

    def __init__(self, engine: Callable[[], Engine], models: Models, lease: timedelta, batch: int) -> None:
        self._engine = engine
        self._models = models
        self._table: Table = models.payouts
        self._lease = lease
        self._batch = batch
        self._has_key = False

    def backlog(self, due_by: datetime) -> Backlog:
        """Count the work that waits.

        A shop reconciles before it pays out, so that each backup from which it forgets payouts has the key of their
        service references.
        """
        if not self._has_key:
            with self._engine().begin() as connection:
                installation_key(connection, self._models.services)
            self._has_key = True
        with self._single.connect() as connection:
            due, ready = connection.execute(self._select_backlog, {"of_next_attempt_at": due_by}).one()
        return Backlog(bool(due), int(ready))

    def next_ready(self, due_by: datetime, without: Collection[str] = ()) -> ReadyPayout | None:
        """The payout that is to be sent next, not claimed yet.

        :param without: merchant accounts that send nothing now.
        """
        due = {"of_next_attempt_at": due_by, "without": list(without)}
        with self._single.connect() as connection:
            row = connection.execute(self._select_next, due).one_or_none()
        return None if row is None else ReadyPayout(*row)

    def take(
        self, first: ReadyPayout, due_by: datetime, now: datetime, *, paid_by: str, client_id: str | None
    ) -> Sequence[PayoutMixin]:
        """Claim a ready payout to be sent, with others that can go in the same call.

        Tokens go one to a call, as do payouts whose batch was refused, and those that may have been sent before.

        :param paid_by: the account whose access token they are sent with; stored, unless another one is already.
        :param client_id: of that account's keys; stored likewise.

        :returns: the payouts, now sending, with one lease; empty when other processes have claimed them.
        """
        one = first.alone or is_token(first.currency) or first.paid_by is not None
        entry = line(now, Entry.MOVED, to=PayoutStatus.SENDING, rule=PayoutEvidence.TAKEN)
        parameters = {"of_next_attempt_at": due_by, "now": now, "entry": entry}
        parameters |= {"new_paid_by": paid_by, "new_client_id": client_id}
        if one:
            return self._claimed(self._take_one, now, parameters | {"of_id": first.id})
        group = {"of_account": first.account, "of_currency": first.currency, "limit": self._batch}
        return self._claimed(self._take_batch, now, parameters | group)

    def take_look_ups(
        self, due_by: datetime, now: datetime, limit: int, without: Collection[str] = ()
    ) -> Sequence[PayoutMixin]:
        """Claim payouts in sending whose claim has ended, or whose next look-up is due.

        They are marked as doubted, unless they were refused: whoever sent them never stored an answer.

        :param without: merchant accounts that are not asked now.
        """
        due = {"of_next_attempt_at": due_by, "limit": limit, "without": list(without)}
        return self._claimed(self._take_look_ups, now, due)

    def take_reads(
        self, due_by: datetime, now: datetime, limit: int, without: Collection[str] = ()
    ) -> Sequence[PayoutMixin]:
        """Claim sent payouts whose read is due.

        :param without: merchant accounts that are not asked now.
        """
        due = {"of_next_attempt_at": due_by, "limit": limit, "without": list(without)}
        return self._claimed(self._take_reads, now, due)

    def renew(self, lease_token: str, now: datetime) -> Sequence[PayoutMixin]:
        """Prolong the claim of payouts in sending, right before the call.

        :returns: the payouts that are still held, and only these may be sent; none once the lease has ended.
        """
        return self._changed(self._renew, {"of_lease_token": lease_token, "now": now, **self._leased(now, lease_token)})

    @cached_property
    def _single(self) -> Engine:
        """The engine for single statements."""
        return autocommit(self._engine())

    def _leased(self, now: datetime, lease_token: str) -> dict[str, Any]:
        return {"new_next_attempt_at": now + self._lease, "new_lease_token": lease_token}

    def _claimed(self, statement: Any, now: datetime, parameters: dict[str, Any]) -> Sequence[PayoutMixin]:
        return self._changed(statement, parameters | self._leased(now, str(uuid.uuid4())))

    def _changed(self, statement: Any, parameters: dict[str, Any]) -> Sequence[PayoutMixin]:
        try:
            with self._single.begin() as connection:
                rows = connection.execute(statement, parameters).mappings().all()
        except OperationalError as error:
            if is_lost_race(error):
                return ()
            raise
        return sorted((self._models.payout_of_row(row) for row in rows), key=lambda payout: payout.id)

    # Statements

    @cached_property
    def _select_backlog(self) -> Any:
        c = self._table.c
        due = exists().where(c.status.in_((_READY, _SENDING, _SENT)), self._is_due)
        ready = select(func.count()).select_from(self._table).where(c.status == _READY).scalar_subquery()
        return select(due, ready)

    @cached_property
    def _select_next(self) -> Any:
        c = self._table.c
        columns = c.id, c.account, c.currency, c.alone, c.paid_by
        due = select(*columns).where(c.status == _READY, self._is_due, self._is_others)
        return due.order_by(c.next_attempt_at, c.id).limit(1).with_for_update(skip_locked=True)

    @cached_property
    def _take_one(self) -> Any:
        one = select(self._table.c.id).where(is_of(self._table, "id"))
        return self._taking(self._unlocked(one), self._table.c.status == _READY, self._is_due)

    @cached_property
    def _take_batch(self) -> Any:
        c = self._table.c
        group = is_of(self._table, "account"), is_of(self._table, "currency"), c.alone.is_(False), c.paid_by.is_(None)
        return self._taking(self._first(_READY, *group), c.status == _READY)

    @cached_property
    def _take_look_ups(self) -> Any:
        due = self._first(_SENDING, self._is_others)
        doubted = or_(self._table.c.doubted, not_(self._table.c.refused))
        return self._claiming(due, self._table.c.status == _SENDING).values(doubted=doubted).returning(*self._table.c)

    @cached_property
    def _take_reads(self) -> Any:
        due = self._first(_SENT, self._is_others)
        return self._claiming(due, self._table.c.status == _SENT).returning(*self._table.c)

    @cached_property
    def _renew(self) -> Any:
        c = self._table.c
        held = c.next_attempt_at > parameter(self._table, "now", "next_attempt_at")
        mine = is_of(self._table, "lease_token"), c.status == _SENDING, held
        return self._claiming(self._unlocked(select(c.id).where(*mine)), *mine).returning(*c)

    @property
    def _is_due(self) -> ColumnElement[bool]:
        return self._table.c.next_attempt_at <= parameter(self._table, "of_next_attempt_at", "next_attempt_at")

    @property
    def _is_others(self) -> ColumnElement[bool]:
        """Whether a row is of none of the accounts `without`."""
        c = self._table.c
        return c.account.not_in(bindparam("without", expanding=True, type_=c.account.type))

    def _first(self, status: str, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
        """Whether a row is among the longest waiting ones in a state."""
        c = self._table.c
        waiting = select(c.id).where(c.status == status, self._is_due, *conditions).order_by(c.next_attempt_at, c.id)
        return self._unlocked(waiting.limit(bindparam("limit", type_=Integer())))

    def _unlocked(self, ids: Any) -> ColumnElement[bool]:
        """Whether a row is one of these that no other transaction has locked: it is already handling the others.

        SQLite has no such locks, and one writer.
        """
        # As a common table expression, which PostgreSQL runs once: it may repeat a plain subquery with LIMIT, and then
        # skip the rows that it has just locked.
        return self._table.c.id.in_(select(ids.with_for_update(skip_locked=True).cte("due").c.id))

    def _claiming(self, *conditions: ColumnElement[bool]) -> Any:
        values = new_values(self._table, _LEASED) | {"changes": self._table.c.changes + 1}
        return update(self._table).where(*conditions).values(values)

    def _taking(self, *conditions: ColumnElement[bool]) -> Any:
        c, now = self._table.c, parameter(self._table, "now", "taken_at")
        keys = {name: func.coalesce(c[name], new) for name, new in new_values(self._table, _KEYS).items()}
        return (
            self._claiming(*conditions)
            .values(
                status=literal(_SENDING, c.status.type),
                moved_at=now,
                taken_at=func.coalesce(c.taken_at, now),
                missed_at=null(),
                refused=false(),
                **keys,
                history=appended(c.history, bindparam("entry", type_=c.history.type), always=False),
            )
            .returning(*c)
        )


# The reads that one hint makes due.
_MOST = 10
# The longest time between two hints that have an effect, while they change nothing.
_LONGEST = timedelta(minutes=10)
# Doublings of the cool-down, after which it is longer than that anyway.
_DOUBLINGS = 16
_ROW = {"account": "", "operation": "payout webhook"}


class PayoutHints:
    """Receives the hints of one app.

    :param engine: returns the engine of the tables, when first needed.
    :param cooldown: the least time between two hints of the shop that have an effect.
    """

    def __init__(self, engine: Callable[[], Engine], models: Models, clock: Clock, cooldown: timedelta) -> None:
        self._engine = engine
        self._table: Table = models.payouts
        # A row of the table of failing calls: `last_answer_at` is the time of the last hint that had an effect, `words`
        # the ids of its payouts, and `count` the number of such hints in a row that changed nothing.
        self._record: Table = models.services
        self._clock = clock
        self._cooldown = cooldown
        self._last: datetime | None = None

    def receive(self) -> None:
        """Make the next planned reads of sent payouts due, unless a hint did so within the cool-down.

        The cool-down doubles with each hint after which none of its payouts has ended. Payouts that are being read, or
        could not be read, keep their time.
        """
        now = self._clock()
        if self._last is not None and self._last <= now < self._last + self._cooldown:
            return
        self._last = now
        try:
            with self._engine().connect() as connection:
                if connection.execute(self._select_waiting, {"now": now, "limit": 1}).first() is None:
                    return
            with begin_limited(self._engine()) as connection:
                if self._has_effect(connection, now):
                    hurried = connection.execute(self._hurry, {"now": now, "limit": _MOST}).scalars()
                    connection.execute(self._record_update(words=" ".join(map(str, hurried))))
        except (IntegrityError, OperationalError) as error:
            # Another process had a hint at the same moment.
            if isinstance(error, OperationalError) and not is_lost_race(error):
                raise

    def _has_effect(self, connection: Connection, now: datetime) -> bool:
        """Whether no other hint of the shop came within the cool-down, as long as that is now."""
        c = self._record.c
        last = connection.execute(select(c.last_answer_at, c["count"], c.words).where(*self._mine)).one_or_none()
        if last is None:
            connection.execute(self._record.insert().values(**_ROW, last_answer_at=now, count=0))
            return True
        in_vain = 0 if self._any_ended(connection, last.words) else last[1] + 1
        longer = min(self._cooldown * 2 ** min(max(in_vain - 1, 0), _DOUBLINGS), _LONGEST)
        if as_utc(last.last_answer_at) <= now < as_utc(last.last_answer_at) + max(self._cooldown, longer):
            return False
        unchanged = c.last_answer_at == last.last_answer_at
        noted = self._record_update(last_answer_at=now, count=in_vain).where(unchanged)
        return connection.execute(noted).rowcount == 1

    def _any_ended(self, connection: Connection, hurried: str | None) -> bool:
        """Whether a payout that the last hint made due is not on its way any more."""
        c, ids = self._table.c, [int(one) for one in (hurried or "").split()]
        ended = select(c.id).where(c.id.in_(ids), c.status != PayoutStatus.SENT.value).limit(1)
        return bool(ids) and connection.execute(ended).first() is not None

    def _record_update(self, **values: Any) -> Any:
        return update(self._record).where(*self._mine).values(values)

    @property
    def _mine(self) -> list[ColumnElement[bool]]:
        return [self._record.c[name] == value for name, value in _ROW.items()]

    @cached_property
    def _select_waiting(self) -> Any:
        c = self._table.c
        return (
            select(c.id)
            .where(c.status == PayoutStatus.SENT.value, c.next_attempt_at > self._now)
            .where(c.lease_token.is_(None), c.failures == 0)
            .order_by(c.next_attempt_at, c.id)
            .limit(bindparam("limit", type_=Integer()))
        )

    @cached_property
    def _hurry(self) -> Any:
        c = self._table.c
        waiting = self._select_waiting.with_for_update(skip_locked=True).cte("waiting")
        still = c.id.in_(select(waiting.c.id)), c.status == PayoutStatus.SENT.value, c.lease_token.is_(None)
        return (
            update(self._table).where(*still).values(next_attempt_at=self._now, changes=c.changes + 1).returning(c.id)
        )

    @property
    def _now(self) -> BindParameter[datetime]:
        return parameter(self._table, "now", "next_attempt_at")
