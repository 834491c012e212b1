"""The table of how the service answers the shop: one row for each account and kind of call that ever failed."""

from __future__ import annotations

from sqlalchemy import Column, DateTime, Integer, String, Table, Text

__all__ = ["service_table"]

_NAME = "paycheckout_service"


def service_table(beside: Table) -> Table:
    """The table in the same database as this one of ours, so that migrations and `create_all` see it.

    A row tells since when such calls fail, and of the last failure; `failing_since` is NULL once one was answered.
    """
    metadata, schema = beside.metadata, beside.schema
    found = metadata.tables.get(f"{schema}.{_NAME}" if schema else _NAME)
    if found is not None:
        return found
    moment = DateTime(timezone=True)
    return Table(
        _NAME,
        metadata,
        # The merchant account's name; "" is the one of the settings.
        Column("account", String(255), primary_key=True),
        # Which calls: "start" makes checkouts, "read" reads deposits.
        Column("operation", String(32), primary_key=True),
        Column("failing_since", moment),
        Column("last_failure_at", moment),
        Column("last_answer_at", moment),
        # Why the last one failed, in words for people.
        Column("words", Text),
        # Failures since then.
        Column("count", Integer, nullable=False, server_default="0"),
        schema=schema,
    )
