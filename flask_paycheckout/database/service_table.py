"""The table of failing calls to the service: one row for each account, operation and cause that ever failed."""

from __future__ import annotations

from sqlalchemy import Column, Integer, String, Table, Text

from flask_paycheckout.database.mapping import MOMENT

_NAME = "paycheckout_service"


def service_table(beside: Table) -> Table:
    """The table, defined by the first call in another table's metadata, for migrations and `create_all`.

    `count` is 0 once a call of the operation was answered.
    """
    return Table(
        _NAME,
        beside.metadata,
        # The merchant account's name; "" is the account of the settings.
        Column("account", String(255), primary_key=True),
        # The operation: "start" creates checkouts, "read" reads deposits.
        Column("operation", String(32), primary_key=True),
        # A value of `service.record.Cause`.
        Column("cause", String(16), primary_key=True),
        # The time of the first failure of the newest series.
        Column("failing_since", MOMENT),
        Column("last_failure_at", MOMENT),
        # The time of the first failure after an hour without any; NULL without such a pause since `failing_since`.
        Column("resumed_at", MOMENT),
        Column("last_answer_at", MOMENT),
        # The last failure's error message, for people.
        Column("error", Text),
        # The number of failures since `failing_since`; 0 when the series is over.
        Column("count", Integer, nullable=False, server_default="0"),
        schema=beside.schema,
        keep_existing=True,
    )
