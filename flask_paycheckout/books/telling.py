"""Tells the shop's own function, once for each, which alarms have begun and which are over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec
from sqlalchemy import Column, Integer, Table, Text, func, select, update

from flask_paycheckout.books.alarms import Alarm, Look, Severity
from flask_paycheckout.books.report import find_alarms
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.connections import begin_limited, read_rows
from flask_paycheckout.database.mapping import MOMENT
from flask_paycheckout.database.state_table import insert_in
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.logs import about

# A process that has told nothing for so long has died.
_LEASE = timedelta(minutes=5)
# The alarm about the function itself is not told to it.
_ITSELF = "owner-not-told"


def alarm_table(beside: Table) -> Table:
    """The table in the metadata of another one of ours, defined by the first call, for migrations and `create_all`."""
    return Table(
        "paycheckout_alarm",
        beside.metadata,
        # There is one row.
        Column("id", Integer, primary_key=True, autoincrement=False),
        # The alarms that were told and are not over, as JSON, without examples, which may name persons.
        Column("told", Text, nullable=False),
        # The time until which a process tells.
        Column("until", MOMENT, nullable=False),
        # The error of the shop's function, and the time of the first one since it last returned.
        Column("problem", Text),
        Column("problem_since", MOMENT),
        # The last time when the shop's function returned.
        Column("last_told_at", MOMENT),
        schema=beside.schema,
        keep_existing=True,
    )


@dataclass(frozen=True)
class OwnerTelling:
    """Tells the owner of one app's shop.

    :param look: gives the rows in which alarms are found.
    :param url_of: the address of the owner's page where an alarm is dealt with; "" without such pages.
    """

    wiring: Wiring
    look: Callable[[], Look]
    url_of: Callable[[Alarm], str]

    def tell(self) -> None:
        """Tell what has changed since the last call that succeeded, to a shop that wants to know."""
        standing = {alarm.key: alarm for alarm in find_alarms(self.look()) if alarm.kind != _ITSELF}
        told, problem = self._told()
        if not any(_changes(standing, told)) and problem is None:
            return
        turn = self._take_turn()
        if turn is None:
            return
        # Another process may have told it just before.
        told, _ = self._told()
        began, over = _changes(standing, told)
        began = [replace(alarm, url=self.url_of(alarm)) for alarm in began]
        problem = self._call(began, over) if began or over else None
        now, table = self.wiring.clock(), self.wiring.models.alarms
        since = problem and func.coalesce(table.c.problem_since, now)
        values = {"until": now, "problem": problem, "problem_since": since}
        if problem is None and (began or over):
            told_now = [replace(alarm, examples=()) for alarm in (*told.values(), *began) if alarm not in over]
            values |= {"told": msgspec.json.encode(told_now).decode(), "last_told_at": now}
        with begin_limited(self.wiring.engine()) as connection:
            connection.execute(update(table).where(table.c.until == turn).values(values))

    def last_told_at(self) -> datetime | None:
        """The last time when the shop's function was told of something and returned; None before the first."""
        rows = read_rows(self.wiring.engine(), select(self.wiring.models.alarms.c.last_told_at))
        return as_utc(rows[0][0]) if rows and rows[0][0] else None

    def _call(self, began: list[Alarm], over: list[Alarm]) -> str | None:
        """Call the shop's function in a context of its own; its error, if it raised one."""
        try:
            with self.wiring.app.app_context():
                self.wiring.call_shop(self.wiring.callbacks.tell_owner, began, over)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # What ends the shop's function must not end the round.
            self.wiring.log.exception("tell_owner", "tell_owner failed; the next round calls it again", extra=about())
            return type(error).__name__
        return None

    def _told(self) -> tuple[dict[str, Alarm], str | None]:
        """The alarms that were told, by key, and the error of the shop's function, if it failed the last time."""
        c = self.wiring.models.alarms.c
        for told, problem in read_rows(self.wiring.engine(), select(c.told, c.problem)):
            return {alarm.key: alarm for alarm in msgspec.json.decode(told, type=list[Alarm])}, problem
        return {}, None

    def _take_turn(self) -> datetime | None:
        """The end of this process's turn to tell; None while another process has it."""
        table, now = self.wiring.models.alarms, self.wiring.clock()
        until = now + _LEASE
        with begin_limited(self.wiring.engine()) as connection:
            first = insert_in(connection, table).values(id=1, told="[]", until=now)
            connection.execute(first.on_conflict_do_nothing())
            taken = update(table).where(table.c.until <= now).values(until=until)
            return until if connection.execute(taken).rowcount == 1 else None


def _changes(standing: Mapping[str, Alarm], told: Mapping[str, Alarm]) -> tuple[list[Alarm], list[Alarm]]:
    """The alarms that have begun, and those that are over; a mere note begins nothing and ends nothing."""
    began = [alarm for key, alarm in standing.items() if alarm.severity is not Severity.NOTE and key not in told]
    return began, [alarm for key, alarm in told.items() if key not in standing]
