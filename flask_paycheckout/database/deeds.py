"""The table of deeds: who viewed, decided, approved, refunded, exported or erased what. It only grows.

A deed is stored in the transaction of the act that it records; only a view is stored in a separate transaction.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Column, Connection, Engine, Index, String, Table, Text, select

from flask_paycheckout.database.connections import begin_limited, read_rows
from flask_paycheckout.database.mapping import MOMENT, ROW_ID
from flask_paycheckout.shop_functions import present_door
from flask_paycheckout.text import MAX_ID, storable, trimmed

MAX_BY = 255
"""The maximum number of characters in the name of the person who decides."""

MAX_WHY = 1000
"""The maximum number of characters in the reason for a decision."""

_NAME = "paycheckout_deed"


class Deed(NamedTuple):
    """An act of a person that concerns money or personal data."""

    at: datetime
    by: str
    """The name of the person; for an export by the command, the system user's name."""

    deed: str
    """Such as `viewed`, `linked`, `decided`, `approved`, `refunded`, `exported` or `erased`."""

    subject: str
    """The checkout id, payout reference, order id or period that the deed concerns."""

    why: str
    through: str
    """`page`, `command` or `call`."""

    order_id: str | None = None
    """The order that the deed concerns, if any."""

    system_user: str = ""
    """The system's user who ran the command, whatever name was given with --by; empty without a command."""


def deed_table(beside: Table) -> Table:
    """The table, defined by the first call in another table's metadata, for migrations and `create_all`."""
    return Table(
        _NAME,
        beside.metadata,
        Column("id", ROW_ID, primary_key=True),
        Column("at", MOMENT, nullable=False),
        Column("by", String(MAX_ID), nullable=False),
        Column("deed", String(16), nullable=False),
        Column("subject", String(MAX_ID), nullable=False),
        Column("why", Text, nullable=False),
        Column("through", String(16), nullable=False),
        # The order that the deed concerns, if any.
        Column("order_id", String(MAX_ID)),
        # The system's user who ran the command; empty without a command.
        Column("system_user", String(MAX_ID), nullable=False),
        Index("ix_paycheckout_deed_at", "at", "id"),
        Index("ix_paycheckout_deed_order_id", "order_id"),
        Index("ix_paycheckout_deed_subject", "subject", "deed"),
        schema=beside.schema,
        keep_existing=True,
    )


def record_deed(
    connection: Connection,
    deeds: Table,
    at: datetime,
    by: str,
    deed: str,
    subject: str,
    why: str | None = None,
    order_id: str | None = None,
) -> None:
    """Store a deed in the transaction of its act."""
    texts = {"by": storable(by)[:MAX_ID], "deed": deed, "subject": subject[:MAX_ID], "why": storable(why or "")}
    door = present_door()
    user = storable(door.by)[:MAX_ID] if door.name == "command" else ""
    values = texts | {"at": at, "through": door.name, "order_id": order_id, "system_user": user}
    connection.execute(deeds.insert().inline().values(values))


def record_hourly(
    engine: Engine, deeds: Table, at: datetime, by: str, deed: str, subject: str, order_id: str | None
) -> None:
    """Store that a person viewed something, at most once in each hour of UTC, so that the table stays small.

    Another view in the same hour costs one query. This function never needs two connections at once.
    """
    hour, c = at.replace(minute=0, second=0, microsecond=0), deeds.c
    names = c.deed == deed, c.by == storable(by)[:MAX_ID], c.subject == subject[:MAX_ID]
    earlier = select(c.id).where(c.at >= hour, *names, c.through == present_door().name)
    if not read_rows(engine, earlier.limit(1)):
        # Use another transaction: on SQLite, one that has read cannot write after another process has written.
        with begin_limited(engine) as connection:
            record_deed(connection, deeds, at, by, deed, subject, order_id=order_id)


def who_and_why(by: str, why: str) -> tuple[str, str]:
    """Strip and check the name and the reason with which a decision is recorded.

    :raises TypeError: the name or the reason is not a string.
    :raises ValueError: the name or the reason is empty or too long.
    """
    checked = []
    for name, text, longest in (("by", by, MAX_BY), ("why", why, MAX_WHY)):
        if not isinstance(text, str):
            raise TypeError(f"{name} must be a string, not {type(text).__name__}: the decision is recorded with it")
        value = trimmed(text)
        if not value:
            raise ValueError(f"{name} must not be empty: the decision is recorded with it")
        if len(value) > longest:
            raise ValueError(f"{name} must have {longest} characters at most; the decision is recorded with it")
        checked.append(value)
    return checked[0], checked[1]


def stored_name(by: str) -> str:
    """A person's name in the form in which columns store it, also for comparisons."""
    return storable(trimmed(by))[:MAX_BY]


def yes_or_no(name: str, answer: object) -> bool:
    """Check the type of an answer that moves money, because a text such as "no" would count as True.

    :raises TypeError: the answer is neither True nor False.
    """
    if not isinstance(answer, bool):
        raise TypeError(f"{name} must be True or False, not {type(answer).__name__}")
    return answer
