"""The sums that merchant accounts have sent in a UTC day, by which PAYCHECKOUT_DAILY_LIMIT is kept.

A sum is locked in the transaction that takes payouts to be sent, so that any number of senders keep the limit together.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from sqlalchemy import Column, Connection, String, Table

from flask_paycheckout.database.order_ids import MAX_ID
from flask_paycheckout.database.service_table import insert_in

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


def locked_sum(connection: Connection, days: Table, key: Mapping[str, str]) -> Decimal:
    """Lock the sum of an account, currency and day until the transaction of the connection ends, and read it."""
    # An update locks also where the database has one writer and no row locks.
    first = insert_in(connection, days).values({**key, "amount": "0"})
    locked = first.on_conflict_do_update(index_elements=list(key), set_={"amount": days.c.amount})
    return Decimal(connection.execute(locked.returning(days.c.amount)).scalar_one())
