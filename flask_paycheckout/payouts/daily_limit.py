"""The sums that merchant accounts have sent in a UTC day, by which PAYCHECKOUT_DAILY_LIMIT is kept.

A sum is locked in the transaction that takes payouts to be sent, so that any number of senders keep the limit together.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import Column, Connection, String, Table, select, update

from flask_paycheckout.checkouts.payments import EXACT
from flask_paycheckout.database.order_ids import MAX_ID
from flask_paycheckout.database.service_table import insert_of

_NAME = "paycheckout_day"


def day_table(beside: Table) -> Table:
    """The table in the metadata of another one of ours, defined by the first call, for migrations and `create_all`."""
    return Table(
        _NAME,
        beside.metadata,
        # The merchant account whose money pays; "" is the one of the settings.
        Column("account", String(MAX_ID), primary_key=True),
        Column("currency", String(72), primary_key=True),
        # The UTC day, like 2026-01-31.
        Column("day", String(10), primary_key=True),
        # The exact sum of the payouts that were taken to be sent.
        Column("amount", String(64), nullable=False),
        schema=beside.schema,
        keep_existing=True,
    )


def day_of(now: datetime) -> str:
    """The UTC day of a time, like 2026-01-31."""
    return now.astimezone(UTC).date().isoformat()


def next_day(now: datetime) -> datetime:
    """The time at which the next UTC day begins."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


class DailySum:
    """The sum of one account, currency and day, locked until the transaction of the connection ends."""

    def __init__(self, connection: Connection, days: Table, account: str, currency: str, day: str) -> None:
        key = {"account": account, "currency": currency, "day": day}
        first = insert_of(connection.dialect.name)(days).values(key | {"amount": "0"})
        connection.execute(first.on_conflict_do_nothing())
        self._row: Any = update(days).where(*(days.c[name] == value for name, value in key.items()))
        # An update locks also where the database has one writer and no row locks.
        connection.execute(self._row.values(amount=days.c.amount))
        self._connection, self._day = connection, day
        read = select(days.c.amount).where(*(days.c[name] == value for name, value in key.items()))
        self.amount = Decimal(connection.execute(read).scalar_one())

    def admit(self, amount: Decimal, limit: Decimal, *, counted_on: str | None, over_limit: bool) -> bool:
        """Count a payout, once a day, if the limit allows it; whether it may be sent.

        :param counted_on: the day on which it was counted last.
        :param over_limit: whether a person let it through.
        """
        if counted_on == self._day:
            return True
        total = EXACT.add(self.amount, amount)
        if total > limit and not over_limit:
            return False
        self.amount = total
        return True

    def write(self) -> None:
        """Store the sum."""
        self._connection.execute(self._row.values(amount=f"{self.amount:f}"))
