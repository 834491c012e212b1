"""Storage of events in the transaction of the change, with the atomic receivers that run in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from flask_paycheckout.rules.receivers import Receiver
from flask_paycheckout.store.events import HeldEvent, NewEvent, Subject, new_event
from flask_paycheckout.store.models import Models
from flask_paycheckout.store.shop_transaction import ShopTransaction

__all__ = ["EventWriter"]


class EventWriter:
    """Stores the events of one app.

    :param receivers: returns the receivers of a signal, by its name.
    :param is_unheard: returns whether a signal needs a receiver and has none in this process.
    """

    def __init__(
        self, models: Models, receivers: Callable[[str], Sequence[Receiver]], is_unheard: Callable[[str], bool]
    ) -> None:
        self._receivers = receivers
        self._is_unheard = is_unheard
        self._insert: Any = models.events.insert().inline()

    def has_atomic(self, signal_name: str) -> bool:
        """Whether a receiver of this signal runs in the transaction of the change."""
        return any(receiver.atomic for receiver in self._receivers(signal_name))

    def store(
        self,
        connection: Connection,
        shop: ShopTransaction | None,
        event: NewEvent,
        subject: Callable[[], Subject],
        reload: Callable[[Connection], Subject],
        now: datetime,
        *,
        leased: bool = True,
        decided: bool = False,
    ) -> HeldEvent:
        """Store an event, and run its atomic receivers.

        :param shop: the transaction of the shop's session; None when the signal has no atomic receiver.
        :param subject: makes a detached object of the row that was just changed.
        :param reload: loads that object again, since an atomic receiver may have changed the row.
        :param leased: whether this process delivers the event after the commit.
        :param decided: whether the caller does not go on with that object, so that only further receivers need it anew.
        """
        receivers = self._receivers(event.name)
        atomic = [receiver for receiver in receivers if receiver.atomic and shop is not None]
        done = [receiver.name for receiver in atomic]
        told, unheard = len(done) == len(receivers), self._is_unheard(event.name)
        row = new_event(event, now, done=done, told=told, unheard=unheard, leased=leased)
        connection.execute(self._insert, row)
        if shop is None or not atomic:
            return HeldEvent.of_row(row, subject())
        about = subject()
        shop.run(row, about, atomic)
        return HeldEvent.of_row(row, about if told and decided else reload(connection))
