"""The sums that merchant accounts have sent per UTC day, which PAYCHECKOUT_DAILY_LIMIT limits.

The transaction that claims payouts for sending locks the sum, so that concurrent senders keep the limit together. A
service reference counts on every day on which it is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import Column, Connection, Row, String, Table, update

from flask_paycheckout.database.state_table import insert_in
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutState
from flask_paycheckout.text import MAX_ID
from flask_paycheckout.totals import EXACT

_NAME = "paycheckout_day"


def day_table(beside: Table) -> Table:
    """Define the table once, in the metadata of another table of ours, for migrations and `create_all`."""
    return Table(
        _NAME,
        beside.metadata,
        # The merchant account whose money pays; "" for the account of the settings.
        Column("account", String(MAX_ID), primary_key=True),
        Column("currency", String(72), primary_key=True),
        # The UTC day, like 2026-01-31.
        Column("day", String(10), primary_key=True),
        # The exact sum of the payouts that were claimed for sending.
        Column("amount", String(64), nullable=False),
        schema=beside.schema,
        keep_existing=True,
    )


@dataclass
class LimitedDay:
    """The sum of an account's currency on one day, locked until the connection's transaction ends."""

    connection: Connection
    days: Table
    key: Mapping[str, str]
    limit: Decimal

    def __post_init__(self) -> None:
        # An upsert takes the lock on every database; SQLite has one writer and no row locks.
        first = insert_in(self.connection, self.days).values({**self.key, "amount": "0"})
        locked = first.on_conflict_do_update(index_elements=list(self.key), set_={"amount": self.days.c.amount})
        self._sent = Decimal(self.connection.execute(locked.returning(self.days.c.amount)).scalar_one())

    @property
    def mark(self) -> str:
        """The value of `counted_on` of payouts that count on this day."""
        return f"{self.key['day']} {self.key['account']}"

    @property
    def end(self) -> datetime:
        """The time when the next day begins."""
        return datetime.fromisoformat(f"{self.key['day']}T00:00:00+00:00") + timedelta(days=1)

    def admits(self, payout: Row[Any]) -> bool:
        """Count a payout that may be sent today; False for one that would exceed the limit.

        :param payout: its row.
        """
        if payout.counted_on == self.mark:
            return True
        sent = EXACT.add(self._sent, Decimal(payout.amount))
        if sent > self.limit and payout.state != PayoutState.RELEASED:
            return False
        self._sent = sent
        return True

    def correct(self, payout: PayoutMixin, *, left: bool) -> None:
        """Subtract a payout whose money did not leave the account, or add it again if the money left after all."""
        amount = Decimal(payout.asked_amount or payout.exact_amount)
        self._sent = EXACT.add(self._sent, amount if left else EXACT.minus(amount))

    def store(self) -> None:
        """Store the sum."""
        self.connection.execute(update(self.days).filter_by(**self.key).values(amount=f"{self._sent:f}"))
