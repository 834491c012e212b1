"""The table of the alarms that the owner of a shop was told of."""

from __future__ import annotations

from sqlalchemy import Column, String, Table, Text

from flask_paycheckout.database.mapping import MOMENT
from flask_paycheckout.text import MAX_ID

_NAME = "paycheckout_alarm"


def alarm_table(beside: Table) -> Table:
    """The table in the metadata of another one of ours, defined by the first call, for migrations and `create_all`."""
    return Table(
        _NAME,
        beside.metadata,
        Column("key", String(2 * MAX_ID), primary_key=True),
        # The alarm as it was told, as JSON.
        Column("told", Text, nullable=False),
        # The time until which a process tells; NULL for an alarm.
        Column("until", MOMENT),
        # The error of the shop's function, and the time of the first one since it last returned.
        Column("problem", Text),
        Column("problem_since", MOMENT),
        # The last time when the shop's function returned.
        Column("last_told_at", MOMENT),
        schema=beside.schema,
        keep_existing=True,
    )
