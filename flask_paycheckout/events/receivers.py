"""The receivers of signals, and the storage of events, with the atomic receivers that run in the same transaction."""

from __future__ import annotations

import json
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property, partial
from typing import Any
from weakref import ref

import msgspec
from sqlalchemy import Connection, select, update

from flask_paycheckout.database.connections import ENDED, BrokenTransaction, confined_to
from flask_paycheckout.database.database_errors import is_lost_race
from flask_paycheckout.database.state_table import StateTable, is_of
from flask_paycheckout.database.transactions import ShopTransaction
from flask_paycheckout.errors import ReceiverFailed
from flask_paycheckout.events.events import FINISHED, HELD_COLUMNS, LEASE, HeldEvent, NewEvent, Subject, keywords_of
from flask_paycheckout.shop_functions import Function, name_of, refuse_generator
from flask_paycheckout.signals import BY_NAME, NEEDS_RECEIVER, claim_wanted
from flask_paycheckout.text import request_of
from flask_paycheckout.wiring import Wiring

NOBODY_LISTENS = "nobody listens"
"""The beginning of the error of an event whose signal has no receiver."""

_ATOMIC = "__paycheckout_atomic__"
# A random namespace, which must never change.
_EVENT_IDS = uuid.UUID("5f0a3d0e-4a86-4a3c-9c5e-3d1c70f2b1a7")
# This error stays only if the event is committed before its atomic receivers have run.
_UNFINISHED = "atomic receiver {} committed the transaction that it was called in, and runs again"

_SOCKET_EVENTS = frozenset({"socket.__new__", "socket.connect", "socket.getaddrinfo", "socket.sendto"})

_offline: ContextVar[bool] = ContextVar("flask_paycheckout_offline", default=False)
"""Whether an atomic receiver is running, which must not open a socket."""


class Receiver(msgspec.Struct, frozen=True):
    """One receiver of a signal."""

    name: str
    """The receiver's dotted name, equal in every process of the shop, so that it can be stored."""

    function: Callable[..., Any]
    atomic: bool
    """Whether it runs in the transaction that moves the checkout, instead of after it."""


@dataclass(frozen=True)
class Receivers:
    """The receivers that are connected in this process for one app."""

    wiring: Wiring

    def of(self, signal_name: str) -> list[Receiver]:
        """The receivers of a signal, in the order of their connection."""
        signal = BY_NAME[signal_name]
        connected = list(signal.receivers_for(self.wiring.app))
        # A transaction covers one database. With two, atomic receivers run after the commit like all others.
        one_database = not self.wiring.settings.separate_database
        receivers: list[Receiver] = []
        counts: Counter[str] = Counter()
        # `receivers_for` does not keep the order of connection; `receivers` does.
        for reference in signal.receivers.values():
            function = reference() if isinstance(reference, ref) else reference
            if function not in connected:
                continue
            name = name_of(function)
            counts[name] += 1
            unique = name if counts[name] == 1 else f"{name}#{counts[name]}"
            receivers.append(Receiver(unique, function, one_database and is_atomic(function)))
        return receivers

    def is_unheard(self, signal_name: str) -> bool:
        """Whether the signal has no receiver in this process."""
        return next(BY_NAME[signal_name].receivers_for(self.wiring.app), None) is None

    def heard(self) -> list[str]:
        """The signals that have a receiver in this process."""
        heard = BY_NAME.items()
        return [name for name, signal in heard if next(signal.receivers_for(self.wiring.app), None) is not None]

    # Runs

    def receive(self, shop: ShopTransaction, function: Callable[..., Any], event: HeldEvent, subject: Subject) -> None:
        """Call a receiver in a transaction, and flush its writes.

        :param subject: the event's checkout or payout, attached to the session.
        :raises RuntimeError: it ended or broke the transaction, or wrote to a second database.
        """
        request = self._request_of(shop, event, subject)
        shop.given += [subject] if request in (None, subject) else [subject, request]
        keywords = keywords_of(event, subject, request)
        if event.name == claim_wanted.name:
            keywords["url"] = self.wiring.callbacks.claim_url(subject)
        shop.call(function, self.wiring.app, **keywords)
        shop.session.flush()
        shop.require_whole()

    def _request_of(self, shop: ShopTransaction, event: HeldEvent, subject: Subject) -> Any:
        """The payment request that an event is about; None for an event of an order of the shop, or of a payout."""
        reference = request_of(event.order_id) if event.payout_reference is None else None
        if reference is None or not event.checkout_id:
            return None if reference is None else subject
        model = self.wiring.models.Request
        return shop.session.scalars(select(model).where(model.reference == reference)).one()

    def run_atomic(self, shop: ShopTransaction, receiver: Receiver, event: HeldEvent, mark: Callable[[], bool]) -> None:
        """Run an atomic receiver of an event that was just stored in this transaction.

        :param mark: records in the transaction that the receiver has run; returns False if the transaction has no such
            event, which means that it is another transaction.
        :raises ReceiverFailed: the receiver raised an error, or ended or broke the transaction; the caller must roll
            back.
        """
        owner = event.order_id or f"payout {event.payout_reference}"
        ran = shop.last_run = receiver.name, event.name, owner
        strict = self.wiring.strict
        if strict:
            _watch_sockets()
        tokens = _offline.set(strict), confined_to.set(shop.only)
        try:
            # Merge the row, because the session may have loaded it before; the receiver gets its present state.
            attached = shop.session.merge(event.subject, load=False)
            self.receive(shop, receiver.function, event, attached)
            if not mark():
                raise BrokenTransaction(ENDED)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if is_lost_race(error):
                raise
            raise ReceiverFailed(*ran, error) from error
        finally:
            _offline.reset(tokens[0])
            confined_to.reset(tokens[1])


@dataclass(frozen=True)
class EventWriter:
    """Stores the events of one app."""

    wiring: Wiring
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
        :param table: the table of the row that the event is about.
        :param changed: the row that was just changed; loaded again if an atomic receiver may have changed it.
        :param leased: whether this process delivers the event after the commit.
        :param decided: whether the caller does not use the object afterwards, so that it is loaded again only for
            further receivers.
        """
        receivers = self.receivers.of(event.name)
        atomic = [receiver for receiver in receivers if receiver.atomic and shop is not None]
        delivered, unheard = len(atomic) == len(receivers), not receivers
        row = new_event(
            event, now, delivered=delivered, unheard=unheard, leased=leased, runs=[receiver.name for receiver in atomic]
        )
        connection.execute(self._insert, row)
        held = HeldEvent.of_row(row, table.made(changed))
        if shop is None or not atomic:
            return held
        ended = {"last_error": None} | (delivered_columns(now) if delivered else {})
        for receiver in atomic:
            more = ended if receiver is atomic[-1] else {}
            self.receivers.run_atomic(shop, receiver, held, partial(self._mark, connection, row, receiver.name, more))
        left = held.subject if delivered and decided else table.require(changed[table.key], connection)
        known = {name: row[name] for name in HELD_COLUMNS}
        return held._replace(**known, subject=left, delivered=row["delivered_at"] is not None)

    def _mark(self, connection: Connection, row: dict[str, Any], receiver: str, more: Mapping[str, Any]) -> bool:
        """Mark in the transaction that stored the event that an atomic receiver has run.

        The statement changes nothing if the event is gone because the receiver rolled the transaction back; PostgreSQL
        refuses it in a broken transaction. If the receiver committed the event, it is delivered again.

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
        """Update the event with the id `of_event_id`, unless `receivers_done` is no longer `of_receivers_done`."""
        table = self.wiring.models.events
        return update(table).where(is_of(table, "event_id"), is_of(table, "receivers_done"))

    @cached_property
    def _insert(self) -> Any:
        # Built once, because every move runs it.
        return self.wiring.models.events.insert().inline()


def new_event(
    event: NewEvent,
    now: datetime,
    *,
    delivered: bool,
    unheard: bool,
    leased: bool,
    runs: Sequence[str],
) -> dict[str, Any]:
    """The row of an event.

    The event is leased to the process that stores it, which delivers it next without a statement to claim it. If that
    process dies, the event is due when the lease ends.

    :param delivered: whether no receiver is left for delivery, so that the event becomes delivered.
    :param unheard: whether the signal has no receiver in this process; the event is then not leased, and waits for a
        process with one.
    :param leased: whether this process delivers it; otherwise it is due for every process.
    :param runs: the atomic receivers that run next, in the transaction that stores the event, and are marked then.
    """
    delivered = delivered and not unheard and not runs
    held = leased and not (delivered or unheard)
    reported = unheard and event.name == NEEDS_RECEIVER
    once = f"{event.name}:{event.once}"
    row = msgspec.structs.asdict(event) | {
        # Derived from values that are equal in each try, so that receivers of a failed try recognise the next one.
        "event_id": str(uuid.uuid5(_EVENT_IDS, f"{once}:{event.checkout_id}")),
        "once": once,
        "extra": json.dumps(dict(event.extra)) if event.extra else None,
        "occurred_at": now,
        "attempts": 1 if held else 0,
        "delivered_at": None,
        "next_attempt_at": now + LEASE if held else None if unheard and not reported else now,
        "lease_token": str(uuid.uuid4()) if held else None,
        "lease_until": now + LEASE if held else None,
        "receivers_done": "[]",
        "last_error": nobody_listens(event.name) if reported else _UNFINISHED.format(", ".join(runs)) if runs else None,
    }
    return row | (delivered_columns(now) if delivered else {})


def delivered_columns(at: datetime) -> dict[str, Any]:
    """The columns of an event that was delivered in the transaction that stored it."""
    return {"attempts": 1, "delivered_at": at, **FINISHED}


def nobody_listens(signal_name: str) -> str:
    """The message for an event that waits for a process with a receiver."""
    return (
        f"{NOBODY_LISTENS} to {signal_name} in the process that should deliver it. Connect a receiver where every"
        " process of the shop imports it"
    )


def mark_atomic(function: Function) -> Function:
    """Mark a receiver to be run in the transaction that moves the checkout.

    :raises TypeError: the receiver is an object without settable attributes, or a generator function.
    """
    refuse_generator(function)
    marked: Any = getattr(function, "__func__", function)
    try:
        setattr(marked, _ATOMIC, True)
    except AttributeError:
        raise TypeError(
            f"{type(function).__name__} cannot be marked as atomic, since it takes no attributes."
            " Decorate a function with @paycheckout.atomic, and let it call this object."
        ) from None
    return function


def is_atomic(function: Callable[..., Any]) -> bool:
    """Whether a receiver was marked with `mark_atomic`."""
    return getattr(function, _ATOMIC, False) is True


@cache
def _watch_sockets() -> None:
    # Once per process and only when needed, because an audit hook cannot be removed.
    sys.addaudithook(_audit)


def _audit(name: str, arguments: tuple[Any, ...]) -> None:
    if name in _SOCKET_EVENTS and _offline.get():
        raise RuntimeError(
            "an atomic receiver opened a socket. It runs inside the transaction that records the payment, so it may"
            " only write through db.session; do the rest in a receiver without @paycheckout.atomic."
        )
