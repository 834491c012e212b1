"""Webhooks about payouts: a hint without any content, by which the next reads of sent payouts become due.

Nobody proves who posted it, so that it costs little: at most one round of reads in each cool-down of the whole shop.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from sqlalchemy import BindParameter, Connection, Engine, Integer, Table, bindparam, or_, select, update
from sqlalchemy.exc import IntegrityError, OperationalError

from flask_paycheckout.clock import Clock
from flask_paycheckout.rules.payout_states import PayoutStatus
from flask_paycheckout.store.database_errors import is_lost_race
from flask_paycheckout.store.lock_limit import begin_limited
from flask_paycheckout.store.models import Models
from flask_paycheckout.store.parameters import parameter

__all__ = ["PayoutHints"]

# The reads that one hint makes due.
_MOST = 100
_ROW = {"account": "", "operation": "payout webhook"}


class PayoutHints:
    """Receives the hints of one app.

    :param engine: returns the engine of the tables, when first needed.
    :param cooldown: the least time between two hints of the shop that have an effect.
    """

    def __init__(self, engine: Callable[[], Engine], models: Models, clock: Clock, cooldown: timedelta) -> None:
        self._engine = engine
        self._table: Table = models.payouts
        # A row of the table of failing calls, whose `last_answer_at` is the time of the last hint.
        self._record: Table = models.services
        self._clock = clock
        self._cooldown = cooldown
        self._last: datetime | None = None

    def receive(self) -> None:
        """Make planned reads of sent payouts due, the next ones first, unless a hint did so within the cool-down.

        Payouts that are being read, or could not be read, keep their time.
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
                if self._is_first(connection, now):
                    connection.execute(self._hurry, {"now": now, "limit": _MOST})
        except (IntegrityError, OperationalError) as error:
            # Another process had a hint at the same moment.
            if isinstance(error, OperationalError) and not is_lost_race(error):
                raise

    def _is_first(self, connection: Connection, now: datetime) -> bool:
        """Whether no other hint of the shop came within the cool-down."""
        c = self._record.c
        mine = [c[name] == value for name, value in _ROW.items()]
        over = or_(c.last_answer_at <= now - self._cooldown, c.last_answer_at > now)
        if connection.execute(update(self._record).where(*mine, over).values(last_answer_at=now)).rowcount:
            return True
        if connection.execute(select(c.operation).where(*mine)).one_or_none() is not None:
            return False
        connection.execute(self._record.insert().values(**_ROW, last_answer_at=now, count=0))
        return True

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
        return update(self._table).where(*still).values(next_attempt_at=self._now, changes=c.changes + 1)

    @property
    def _now(self) -> BindParameter[datetime]:
        return parameter(self._table, "now", "next_attempt_at")
