"""Calls the shop's `tell_owner` once for each alarm that has begun, and once for each that is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec
from sqlalchemy import Column, Integer, Table, Text, func, select, update

from flask_paycheckout.books.alarms import Alarm, AlarmContext, Severity
from flask_paycheckout.books.report import find_alarms
from flask_paycheckout.clock import EPOCH, as_utc
from flask_paycheckout.database.connections import begin_limited, read_rows
from flask_paycheckout.database.mapping import MOMENT
from flask_paycheckout.database.state_table import insert_in
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.logs import about

# The time after which a process that holds the turn is considered dead.
_LEASE = timedelta(minutes=5)
# The alarm about the function itself is not passed to it.
_ITSELF = "owner-not-told"


def alarm_table(beside: Table) -> Table:
    """Define the table once, in the metadata of another table of ours, for migrations and `create_all`."""
    return Table(
        "paycheckout_alarm",
        beside.metadata,
        # There is one row.
        Column("id", Integer, primary_key=True, autoincrement=False),
        # The alarms that were sent and are not over, as JSON, without examples, which may name persons.
        Column("sent", Text, nullable=False),
        # The time until which a process has the turn to call the function.
        Column("until", MOMENT, nullable=False),
        # The error of the shop's function, and the time of the first one since it last returned.
        Column("problem", Text),
        Column("problem_since", MOMENT),
        # The last time when the shop's function returned.
        Column("last_sent_at", MOMENT),
        schema=beside.schema,
        keep_existing=True,
    )


@dataclass(frozen=True)
class OwnerTelling:
    """Tells the owner of one app's shop.

    :param look: returns the context in which alarms are found.
    :param url_of: returns the address of the owner's page for an alarm; "" without such pages.
    """

    wiring: Wiring
    context: Callable[[], AlarmContext]
    url_of: Callable[[Alarm], str]

    def send(self) -> None:
        """Send the changes since the last successful call to the shop's function."""
        standing = {alarm.key: alarm for alarm in find_alarms(self.context()) if alarm.kind != _ITSELF}
        sent, problem = self._sent()
        if not any(_changes(standing, sent)) and problem is None:
            return
        turn = self._take_turn()
        if turn is None:
            return
        # Another process may have sent them just before.
        sent, _ = self._sent()
        began, over = _changes(standing, sent)
        began = [replace(alarm, url=self.url_of(alarm)) for alarm in began]
        problem = self._call(began, over) if began or over else None
        now, table = self.wiring.clock(), self.wiring.models.alarms
        since = problem and func.coalesce(table.c.problem_since, now)
        values = {"until": EPOCH, "problem": problem, "problem_since": since}
        if problem is None and (began or over):
            sent_now = [replace(alarm, examples=()) for alarm in (*sent.values(), *began) if alarm not in over]
            values |= {"sent": msgspec.json.encode(sent_now).decode(), "last_sent_at": now}
        with begin_limited(self.wiring.engine()) as connection:
            connection.execute(update(table).where(table.c.until == turn).values(values))

    def last_sent_at(self) -> datetime | None:
        """The last time when the shop's function was called and returned; None before the first time."""
        rows = read_rows(self.wiring.engine(), select(self.wiring.models.alarms.c.last_sent_at))
        return as_utc(rows[0][0]) if rows and rows[0][0] else None

    def _call(self, began: list[Alarm], over: list[Alarm]) -> str | None:
        """Call the shop's function in its own app context; return the type of its error, if it raised one."""
        try:
            with self.wiring.app.app_context():
                self.wiring.call_shop(self.wiring.callbacks.tell_owner, began, over)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # Any error of the shop's function must not end the round.
            self.wiring.log.exception("tell_owner", "tell_owner failed; the next round calls it again", extra=about())
            return type(error).__name__
        return None

    def _sent(self) -> tuple[dict[str, Alarm], str | None]:
        """The alarms that were sent, by key, and the error of the shop's function, if its last call failed."""
        c = self.wiring.models.alarms.c
        for stored, problem in read_rows(self.wiring.engine(), select(c.sent, c.problem)):
            return {alarm.key: alarm for alarm in msgspec.json.decode(stored, type=list[Alarm])}, problem
        return {}, None

    def _take_turn(self) -> datetime | None:
        """The end of this process's turn to call the function; None while another process has the turn."""
        table, now = self.wiring.models.alarms, self.wiring.clock()
        until = now + _LEASE
        with begin_limited(self.wiring.engine()) as connection:
            first = insert_in(connection, table).values(id=1, sent="[]", until=now)
            connection.execute(first.on_conflict_do_nothing())
            taken = update(table).where(table.c.until <= now).values(until=until)
            return until if connection.execute(taken).rowcount == 1 else None


def _changes(standing: Mapping[str, Alarm], sent: Mapping[str, Alarm]) -> tuple[list[Alarm], list[Alarm]]:
    """The alarms that have begun, and the alarms that are over; a note does not begin an alarm or end it."""
    began = [alarm for key, alarm in standing.items() if alarm.severity is not Severity.NOTE and key not in sent]
    return began, [alarm for key, alarm in sent.items() if key not in standing]
