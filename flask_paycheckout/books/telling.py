"""Tells the shop's own function, once for each, which alarms have begun and which are over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec
from sqlalchemy import Column, Connection, String, Table, Text, delete, func, select, update

from flask_paycheckout.books.alarms import Alarm, Look, Severity
from flask_paycheckout.books.report import find_alarms
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.connections import begin_limited, read_rows
from flask_paycheckout.database.mapping import MOMENT
from flask_paycheckout.database.state_table import insert_in
from flask_paycheckout.text import MAX_ID
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.logs import about

# The row without a key says which process tells now, and since when the function fails.
_TURN = ""
# A process that has told nothing for so long has died.
_LEASE = timedelta(minutes=5)
# The alarm about the function itself is not told to it.
_ITSELF = "owner-not-told"


def alarm_table(beside: Table) -> Table:
    """The table in the metadata of another one of ours, defined by the first call, for migrations and `create_all`."""
    return Table(
        "paycheckout_alarm",
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
        began, over = _changes(standing, self._told()[0])
        began = [replace(alarm, url=self.url_of(alarm)) for alarm in began]
        problem = self._call(began, over) if began or over else None
        has_told = problem is None and bool(began or over)
        with begin_limited(self.wiring.engine()) as connection:
            if problem is None:
                self._store(connection, began, over)
            self._end_turn(connection, turn, problem, has_told=has_told)

    def last_told_at(self) -> datetime | None:
        """The last time when the shop's function was told of something and returned; None before the first."""
        c = self.wiring.models.alarms.c
        rows = read_rows(self.wiring.engine(), select(c.last_told_at).where(c.key == _TURN))
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
        told, problem = dict[str, Alarm](), None
        for key, alarm, error in read_rows(self.wiring.engine(), select(c.key, c.told, c.problem)):
            if key == _TURN:
                problem = error
            else:
                told[key] = msgspec.json.decode(alarm, type=Alarm)
        return told, problem

    def _store(self, connection: Connection, began: Iterable[Alarm], over: Iterable[Alarm]) -> None:
        table = self.wiring.models.alarms
        for alarm in began:
            # Its examples may name persons.
            told = msgspec.json.encode(replace(alarm, examples=())).decode()
            connection.execute(insert_in(connection, table).values(key=alarm.key, told=told).on_conflict_do_nothing())
        connection.execute(delete(table).where(table.c.key.in_([alarm.key for alarm in over])))

    def _take_turn(self) -> datetime | None:
        """The end of this process's turn to tell; None while another process has it."""
        table, now = self.wiring.models.alarms, self.wiring.clock()
        until = now + _LEASE
        with begin_limited(self.wiring.engine()) as connection:
            first = insert_in(connection, table).values(key=_TURN, told="", until=now)
            connection.execute(first.on_conflict_do_nothing())
            taken = update(table).where(table.c.key == _TURN, table.c.until <= now).values(until=until)
            return until if connection.execute(taken).rowcount == 1 else None

    def _end_turn(self, connection: Connection, turn: datetime, problem: str | None, *, has_told: bool) -> None:
        c, now = self.wiring.models.alarms.c, self.wiring.clock()
        told = {"last_told_at": now} if has_told else {}
        connection.execute(
            update(self.wiring.models.alarms)
            .where(c.key == _TURN, c.until == turn)
            .values(until=now, problem=problem, problem_since=problem and func.coalesce(c.problem_since, now), **told)
        )


def _changes(standing: Mapping[str, Alarm], told: Mapping[str, Alarm]) -> tuple[list[Alarm], list[Alarm]]:
    """The alarms that have begun, and those that are over; a mere note begins nothing and ends nothing."""
    began = [alarm for key, alarm in standing.items() if alarm.severity is not Severity.NOTE and key not in told]
    return began, [alarm for key, alarm in told.items() if key not in standing]
