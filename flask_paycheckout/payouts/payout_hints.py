"""Webhooks about payouts: a hint without any content, by which the next reads of sent payouts become due.

Nobody proves who posted it, so that it costs little: a few reads for the whole shop, and ever more rarely while they
change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import BindParameter, ColumnElement, Connection, Engine, Integer, Table, bindparam, select, update
from sqlalchemy.exc import IntegrityError, OperationalError

from flask_paycheckout.clock import Clock, as_utc
from flask_paycheckout.database.database_errors import is_lost_race
from flask_paycheckout.database.lock_limit import begin_limited
from flask_paycheckout.database.parameters import parameter
from flask_paycheckout.payouts.payout_states import PayoutStatus

if TYPE_CHECKING:
    from flask_paycheckout.models import Models

__all__ = ["PayoutHints"]

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
