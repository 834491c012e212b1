"""Storage of events in the transaction of the change, with the atomic receivers that run in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import Any

from sqlalchemy import Connection, update

from flask_paycheckout.database.state_table import StateTable, is_of
from flask_paycheckout.events.events import HeldEvent, NewEvent, delivered_columns, new_event
from flask_paycheckout.events.receivers import Receivers
from flask_paycheckout.events.shop_transaction import ShopTransaction
from flask_paycheckout.parts import Parts


@dataclass(frozen=True)
class EventWriter:
    """Stores the events of one app."""

    parts: Parts
    receivers: Receivers

    def has_atomic(self, signal_name: str) -> bool:
        """Whether a receiver of this signal runs in the transaction of the change."""
        return any(receiver.atomic for receiver in self.receivers.of(signal_name))

    def store(
        self,
        connection: Connection,
        shop: ShopTransaction | None,
        event: NewEvent,
        table: StateTable[Any],
        changed: Mapping[Any, Any],
        now: datetime,
        *,
        leased: bool = True,
        decided: bool = False,
    ) -> HeldEvent:
        """Store an event, and run its atomic receivers.

        :param shop: the transaction of the shop's session; None when the signal has no atomic receiver.
        :param table: the table of what the event is about.
        :param changed: the row that was just changed; loaded again if an atomic receiver may have changed it.
        :param leased: whether this process delivers the event after the commit.
        :param decided: whether the caller does not go on with that object, so that only further receivers need it anew.
        """
        receivers = self.receivers.of(event.name)
        atomic = [receiver for receiver in receivers if receiver.atomic and shop is not None]
        told, unheard = len(atomic) == len(receivers), self.receivers.is_unheard(event.name)
        row = new_event(event, now, told=told, unheard=unheard, leased=leased, runs=[one.name for one in atomic])
        connection.execute(self._insert, row)
        held = HeldEvent.of_row(row, table.made(changed))
        if shop is None or not atomic:
            return held
        ended = {"last_error": None} | (delivered_columns(now) if told else {})
        for receiver in atomic:
            more = ended if receiver is atomic[-1] else {}
            shop.run(receiver, held, partial(self._mark, connection, row, receiver.name, more))
        left = held.subject if told and decided else table.require(changed[table.key], connection)
        return HeldEvent.of_row(row, left)

    def _mark(self, connection: Connection, row: dict[str, Any], receiver: str, more: Mapping[str, Any]) -> bool:
        """Mark in the transaction that stored the event that an atomic receiver has run.

        The statement changes nothing where the event is gone, since the receiver rolled its transaction back, and
        PostgreSQL refuses it in a broken one. Should the receiver have committed the event, it is delivered again.

        :param more: further values of the event's columns.
        """
        before = row["receivers_done"]
        values = {"receivers_done": json.dumps([*json.loads(before), receiver]), **more}
        unmarked = {"of_event_id": row["event_id"], "of_receivers_done": before}
        changed = connection.execute(self._change_unmarked, values | unmarked)
        row |= values
        return changed.rowcount == 1

    @cached_property
    def _change_unmarked(self) -> Any:
        """Change the event `of_event_id` whose receivers are `of_receivers_done`."""
        table = self.parts.models.events
        return update(table).where(is_of(table, "event_id"), is_of(table, "receivers_done"))

    @cached_property
    def _insert(self) -> Any:
        # Made once, since every move runs it.
        return self.parts.models.events.insert().inline()
