"""Atomic receivers that held their transaction for over a second, recorded so that the doctor can name them.

While such a receiver runs, the shop's order is locked, and on SQLite the whole database. Slow runs are collected in
memory and written after their transaction has ended: at most one write of each process for a receiver in ten minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import blake2s
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import Engine, Table, select

from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.database_errors import first_line
from flask_paycheckout.database.lock_limit import begin_limited
from flask_paycheckout.database.service_table import store_row
from flask_paycheckout.service.logs import about

if TYPE_CHECKING:
    from flask_paycheckout.parts import Parts

_LIMIT = 1.0
_BETWEEN_WRITES = 600.0
_KEPT_FOR = timedelta(days=1)
_MOST_LISTED = 20
# Rows of the table of failing calls, one for each receiver: `words` is its name, `last_failure_at` the time of its last
# recorded slow run, and `count` the milliseconds of that run. `failing_since` is never set, so it is no failing call.
_OPERATION = "slow receiver "


class SlowReceiver(msgspec.Struct, frozen=True):
    """An atomic receiver that held its transaction for too long."""

    name: str
    """The receiver's dotted name."""

    seconds: float
    at: datetime


@dataclass(frozen=True)
class SlowReceivers:
    """Collects the slow runs of one app's atomic receivers, and writes them to the table."""

    parts: Parts
    # Plain dictionaries without a lock: each run is taken out by one thread.
    unwritten: dict[str, tuple[float, datetime]] = field(default_factory=dict, init=False)
    written_at: dict[str, float] = field(default_factory=dict, init=False)

    def ran(self, receiver: str, seconds: float) -> bool:
        """Note a run if it was slow, in memory and in the log; returns whether it was."""
        if seconds <= _LIMIT:
            return False
        self.unwritten[receiver] = (seconds, self.parts.clock())
        self.parts.log.warning(
            f"slow runs of {receiver}",
            "the atomic receiver %s held its transaction for %.1f s, and what it locks with it",
            receiver,
            seconds,
            extra=about(),
        )
        return True

    def write(self) -> None:
        """Write the collected runs to the table; an error is only logged, since the payment is committed by now."""
        now = self.parts.elapsed()
        for receiver in list(self.unwritten):
            run = self.unwritten.pop(receiver, None)
            if run is None:
                # Another thread writes it.
                continue
            last = self.written_at.get(receiver)
            if last is not None and last <= now < last + _BETWEEN_WRITES:
                continue
            self.written_at[receiver] = now
            try:
                self._store(receiver, *run)
            except Exception as error:
                text = "the record of a slow receiver could not be stored: %s"
                self.parts.log.warning("records of slow receivers", text, first_line(error), extra=about(), error=error)

    def _store(self, receiver: str, seconds: float, at: datetime) -> None:
        table = self.parts.models.services
        old = table.c.operation.startswith(_OPERATION), table.c.last_failure_at <= at - _KEPT_FOR
        with begin_limited(self.parts.engine()) as connection:
            connection.execute(table.delete().where(table.c.account == "", *old))
        operation = _OPERATION + blake2s(receiver.encode(), digest_size=8).hexdigest()
        values = {"words": receiver, "last_failure_at": at, "count": int(1000 * seconds)}
        store_row(self.parts.engine(), table, {"account": "", "operation": operation}, values)


def slow_receivers(engine: Engine, table: Table, now: datetime) -> Sequence[SlowReceiver]:
    """List the atomic receivers that were slow within a day, according to the table, by name; 20 at most."""
    c = table.c
    recent = (
        select(c.words, c["count"], c.last_failure_at)
        .where(c.account == "", c.operation.startswith(_OPERATION), c.last_failure_at > now - _KEPT_FOR)
        .order_by(c.words)
        .limit(_MOST_LISTED)
    )
    with engine.connect() as connection:
        rows = connection.execute(recent).all()
    return [SlowReceiver(row.words or "", row[1] / 1000, as_utc(row.last_failure_at)) for row in rows]
