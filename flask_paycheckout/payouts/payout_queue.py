"""Payouts that are due to be sent, looked up or read, and webhooks, by which reads become due sooner.

A claim ends at `next_attempt_at`, so that the rows of a process that died are found again.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
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
from sqlalchemy.exc import IntegrityError

from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.history import Entry, appended, line
from flask_paycheckout.database.lock_limit import begin_limited
from flask_paycheckout.database.parameters import is_of, new_values, parameter
from flask_paycheckout.database.state_table import lost_races_ignored
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutEvidence, PayoutStatus
from flask_paycheckout.payouts.payout_tries import installation_key
from flask_paycheckout.payouts.stored import Payouts
from flask_paycheckout.service.limits import Cooldown
from flask_paycheckout.totals import is_token

if TYPE_CHECKING:
    from flask_paycheckout.parts import Parts

_READY, _SENDING, _SENT = PayoutStatus.READY.value, PayoutStatus.SENDING.value, PayoutStatus.SENT.value
_LEASED, _KEYS = ("next_attempt_at", "lease_token"), ("paid_by", "client_id")

# The reads that one webhook makes due.
_MOST = 10
# The longest time between two webhooks that have an effect, while they change nothing; and doublings of the cool-down,
# after which it is longer than that anyway.
_LONGEST, _DOUBLINGS = timedelta(minutes=10), 16
_WEBHOOK = {"account": "", "operation": "payout webhook"}


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


@dataclass(frozen=True, eq=False)
class PayoutQueue:
    """Claims the due payouts of one app."""

    parts: Parts
    payouts: Payouts

    def backlog(self, due_by: datetime) -> Backlog:
        """Count the work that waits.

        A shop reconciles before it pays out, so that each backup from which it forgets payouts has the key of their
        service references.
        """
        if not self._has_key:
            raise RuntimeError("the installation has no key")
        ((due, ready),) = self.payouts.rows(self._select_backlog, of_next_attempt_at=due_by)
        return Backlog(bool(due), int(ready))

    def next_ready(self, due_by: datetime, without: Collection[str] = ()) -> ReadyPayout | None:
        """The payout that is to be sent next, not claimed yet.

        :param without: merchant accounts that send nothing now.
        """
        found = self.payouts.rows(self._select_next, of_next_attempt_at=due_by, without=list(without))
        return ReadyPayout(*found[0]) if found else None

    def take(
        self, first: ReadyPayout, due_by: datetime, now: datetime, *, paid_by: str, client_id: str | None
    ) -> Sequence[PayoutMixin]:
        """Claim a ready payout to be sent, with others that can go in the same call.

        Tokens go one to a call, as do payouts whose batch was refused, and those that may have been sent before.

        :param paid_by: the account whose access token they are sent with; stored, unless another one is already.
        :param client_id: of that account's keys; stored likewise.

        :returns: the payouts, now sending, with one lease; empty when other processes have claimed them.
        """
        parameters: dict[str, Any] = {"of_next_attempt_at": due_by, "now": now}
        parameters["entry"] = line(now, Entry.MOVED, to=PayoutStatus.SENDING, rule=PayoutEvidence.TAKEN)
        parameters |= {"new_paid_by": paid_by, "new_client_id": client_id}
        if first.alone or is_token(first.currency) or first.paid_by is not None:
            return self._claimed(self._take_one, now, parameters | {"of_id": first.id})
        group = {"of_account": first.account, "of_currency": first.currency}
        limit = self.parts.settings.payout_batch
        return self._claimed(self._take_batch, now, parameters | group | {"limit": limit})

    def take_look_ups(
        self, due_by: datetime, now: datetime, limit: int, without: Collection[str] = ()
    ) -> Sequence[PayoutMixin]:
        """Claim payouts in sending whose claim has ended, or whose next look-up is due.

        They are marked as doubted, unless they were refused: whoever sent them never stored an answer.

        :param without: merchant accounts that are not asked now.
        """
        return self._take_due(self._look_ups, due_by, now, limit, without)

    def take_reads(
        self, due_by: datetime, now: datetime, limit: int, without: Collection[str] = ()
    ) -> Sequence[PayoutMixin]:
        """Claim sent payouts whose read is due; otherwise like `take_look_ups`."""
        return self._take_due(self._reads, due_by, now, limit, without)

    def renew(self, lease_token: str, now: datetime) -> Sequence[PayoutMixin]:
        """Prolong the claim of payouts in sending, right before the call.

        :returns: the payouts that are still held, and only these may be sent; none once the lease has ended.
        """
        return self._claimed(self._renew, now, {"of_lease_token": lease_token, "now": now}, lease_token)

    def _take_due(
        self, statement: Any, due_by: datetime, now: datetime, limit: int, without: Collection[str]
    ) -> Sequence[PayoutMixin]:
        due = {"of_next_attempt_at": due_by, "limit": limit, "without": list(without)}
        return self._claimed(statement, now, due)

    def _claimed(
        self, statement: Any, now: datetime, parameters: dict[str, Any], lease_token: str | None = None
    ) -> Sequence[PayoutMixin]:
        lease = {"new_next_attempt_at": now + self.parts.claim, "new_lease_token": lease_token or str(uuid.uuid4())}
        return self.payouts.claimed(statement, parameters | lease)

    @cached_property
    def _has_key(self) -> bool:
        with begin_limited(self.parts.engine()) as connection:
            return bool(installation_key(connection, self.parts.models.services))

    # Statements

    @cached_property
    def _select_backlog(self) -> Any:
        c = self.payouts.table.c
        due = exists().where(c.status.in_((_READY, _SENDING, _SENT)), self._is_due)
        ready = select(func.count()).select_from(self.payouts.table).where(c.status == _READY).scalar_subquery()
        return select(due, ready)

    @cached_property
    def _select_next(self) -> Any:
        c = self.payouts.table.c
        columns = (c[name] for name in ReadyPayout.__struct_fields__)
        due = select(*columns).where(c.status == _READY, self._is_due, self._is_others)
        return due.order_by(c.next_attempt_at, c.id).limit(1).with_for_update(skip_locked=True)

    @cached_property
    def _take_one(self) -> Any:
        c, mine = self.payouts.table.c, is_of(self.payouts.table, "id")
        one = self.payouts.unlocked(select(c.id).where(mine))
        return self._taking(one, c.status == _READY, self._is_due)

    @cached_property
    def _take_batch(self) -> Any:
        table = self.payouts.table
        same = (is_of(table, name) for name in ("account", "currency"))
        return self._taking(*self._first(_READY, *same, table.c.alone.is_(False), table.c.paid_by.is_(None)))

    @cached_property
    def _look_ups(self) -> Any:
        c = self.payouts.table.c
        return self._claiming(*self._first(_SENDING, self._is_others)).values(doubted=or_(c.doubted, not_(c.refused)))

    @cached_property
    def _reads(self) -> Any:
        return self._claiming(*self._first(_SENT, self._is_others))

    @cached_property
    def _renew(self) -> Any:
        table = self.payouts.table
        held = table.c.next_attempt_at > parameter(table, "now", "next_attempt_at")
        mine = is_of(table, "lease_token"), table.c.status == _SENDING, held
        return self._claiming(self.payouts.unlocked(select(table.c.id).where(*mine)), *mine)

    @property
    def _is_due(self) -> ColumnElement[bool]:
        table = self.payouts.table
        return table.c.next_attempt_at <= parameter(table, "of_next_attempt_at", "next_attempt_at")

    @property
    def _is_others(self) -> ColumnElement[bool]:
        """The condition that a row is of none of the accounts `without`."""
        account = self.payouts.table.c.account
        return account.not_in(bindparam("without", expanding=True, type_=account.type))

    def _first(self, status: str, *conditions: ColumnElement[bool]) -> tuple[ColumnElement[bool], ...]:
        """The conditions that a row is among the longest waiting ones in a state."""
        c = self.payouts.table.c
        in_state = c.status == status
        order = c.next_attempt_at, c.id
        return self.payouts.is_first(in_state, self._is_due, *conditions, order=order), in_state

    def _claiming(self, *conditions: ColumnElement[bool]) -> Any:
        table = self.payouts.table
        values = new_values(table, _LEASED) | {"changes": table.c.changes + 1}
        return update(table).where(*conditions).values(values).returning(*table.c)

    def _taking(self, *conditions: ColumnElement[bool]) -> Any:
        table = self.payouts.table
        c, now = table.c, parameter(table, "now", "taken_at")
        return self._claiming(*conditions).values(
            status=literal(_SENDING, c.status.type),
            moved_at=now,
            taken_at=func.coalesce(c.taken_at, now),
            missed_at=null(),
            refused=false(),
            **{name: func.coalesce(c[name], new) for name, new in new_values(table, _KEYS).items()},
            history=appended(c.history, self.payouts.entry, always=False),
        )


@dataclass(frozen=True, eq=False)
class PayoutHints:
    """Receives the webhooks about payouts of one app: hints without any content.

    Nobody proves who posted them, so that they cost little: a few reads for the whole shop, and ever more rarely while
    they change nothing.
    """

    parts: Parts
    payouts: Payouts
    lately: Cooldown = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lately", Cooldown(self._cooldown))

    @property
    def _cooldown(self) -> timedelta:
        return self.parts.settings.webhook_cooldown

    def receive(self) -> None:
        """Make the next planned reads of sent payouts due, unless a hint did so within the cool-down.

        The cool-down doubles with each hint after which none of its payouts has ended. Payouts that are being read, or
        could not be read, keep their time.
        """
        now = self.parts.clock()
        if not self.lately.begin("", now):
            return
        c = self.payouts.table.c
        waiting = c.status == _SENT, c.next_attempt_at > self._now, c.lease_token.is_(None), c.failures == 0
        if not self.payouts.rows(select(c.id).where(*waiting).limit(1), now=now):
            return
        first = self.payouts.is_first(*waiting, order=(c.next_attempt_at, c.id))
        still = first, c.status == _SENT, c.lease_token.is_(None)
        hurry = update(self.payouts.table).where(*still).values(next_attempt_at=self._now, changes=c.changes + 1)
        try:
            with lost_races_ignored(), begin_limited(self.parts.engine()) as connection:
                if self._has_effect(connection, now):
                    hurried = connection.execute(hurry.returning(c.id), {"now": now, "limit": _MOST}).scalars()
                    connection.execute(self._recorded(words=" ".join(map(str, hurried))))
        except IntegrityError:
            # Another process had a hint at the same moment.
            return

    def _has_effect(self, connection: Connection, now: datetime) -> bool:
        """Whether no other hint of the shop came within the cool-down, as long as that is now.

        It stands in a row of the table of failing calls: `last_answer_at` is the time of the last hint that had an
        effect, `words` the ids of its payouts, and `count` the number of such hints in a row that changed nothing.
        """
        record = self.parts.models.services
        last = connection.execute(select(record).filter_by(**_WEBHOOK)).mappings().one_or_none()
        if last is None:
            connection.execute(record.insert().values(**_WEBHOOK, last_answer_at=now, count=0))
            return True
        in_vain = 0 if self._any_ended(connection, last["words"]) else last["count"] + 1
        longer = min(self._cooldown * 2 ** min(max(in_vain - 1, 0), _DOUBLINGS), _LONGEST)
        at = last["last_answer_at"]
        if as_utc(at) <= now < as_utc(at) + max(self._cooldown, longer):
            return False
        noted = self._recorded(last_answer_at=now, count=in_vain).where(record.c.last_answer_at == at)
        return connection.execute(noted).rowcount == 1

    def _any_ended(self, connection: Connection, hurried: str | None) -> bool:
        """Whether a payout that the last hint made due is not on its way any more."""
        c, ids = self.payouts.table.c, [int(one) for one in (hurried or "").split()]
        return bool(ids and self.payouts.rows(select(c.id).where(c.id.in_(ids), c.status != _SENT), connection))

    def _recorded(self, **values: Any) -> Any:
        return update(self.parts.models.services).filter_by(**_WEBHOOK).values(values)

    @property
    def _now(self) -> BindParameter[datetime]:
        return parameter(self.payouts.table, "now", "next_attempt_at")
