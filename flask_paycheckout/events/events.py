"""Rows of the event table: stored in the transaction of the change, and leased to the process that made it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

import msgspec
from sqlalchemy import Connection

from flask_paycheckout.events.event_model import EventMixin
from flask_paycheckout.events.receivers import nobody_listens
from flask_paycheckout.parts.logs import about

LEASE = timedelta(seconds=60)
"""The time after which another process may deliver a leased event; renewed while a receiver works."""

FINISHED = {"next_attempt_at": None, "lease_token": None, "lease_until": None}
"""The columns of an event that needs no delivery any more."""

# Any namespace, the same for ever.
_EVENT_IDS = uuid.UUID("5f0a3d0e-4a86-4a3c-9c5e-3d1c70f2b1a7")
# Seen only of an event that was committed before its receivers had run.
_UNFINISHED = "atomic receiver {} committed the transaction that it was called in, and runs again"


class Subject(Protocol):
    """The row that an event is about: a checkout, a payout, or a payment request of which it reminds."""

    @property
    def account(self) -> str:
        """The name of its merchant account."""


class Superseding(Protocol):
    """Compares events with the present state of their orders."""

    def overtaken(
        self, events: Sequence[HeldEvent | EventMixin], connection: Connection | None = None
    ) -> Sequence[HeldEvent | EventMixin]:
        """Those of an order's events that are no longer true.

        :param connection: a transaction in which the order's checkouts are locked, so that the answer stays right until
            it ends. SQLite has no row locks; there it must have written before. None for a look without locks.
        """

    def is_unwanted(self, event: HeldEvent) -> bool:
        """Whether the shop wants no payment any more that it would remind of; asked in a transaction of its own."""


class NewEvent(msgspec.Struct, frozen=True):
    """An event to be stored."""

    name: str
    """The signal's name."""

    once: str
    """A unique key of the change, equal in each try to store it; the event is stored only once, under one id."""

    checkout_id: str
    order_id: str
    """The shop's own id; empty for a payout that belongs to no order."""

    payout_reference: str | None = None
    reason: str | None = None
    extra: Mapping[str, Any] | None = None
    """Further keywords for the receivers."""


class HeldEvent(NamedTuple):
    """An event that this process has leased for delivery."""

    event_id: str
    name: str
    checkout_id: str
    order_id: str
    payout_reference: str | None
    reason: str | None
    extra: str | None
    """A JSON object of further keywords for the receivers."""

    attempts: int
    """The number of deliveries begun, including this one."""

    receivers_done: str
    """A JSON list of the receivers that have run."""

    lease_token: str | None
    """The token that marks must name; None when the event waits for a process with a receiver."""

    subject: Subject
    """The checkout or payout as it was when the event was leased, detached from any session."""

    account: str
    """The name of its merchant account; kept here, since a receiver's own session may expire the object."""

    delivered: bool
    """Whether the event was stored as delivered, since no receiver is left."""

    @classmethod
    def of_row(cls, row: Any, subject: Subject) -> HeldEvent:
        """Make it from the columns of the event table."""
        known = {name: row[name] for name in HELD_COLUMNS}
        delivered = row.get("delivered_at") is not None
        return cls(**known, subject=subject, account=subject.account, delivered=delivered)


HELD_COLUMNS = HeldEvent._fields[: HeldEvent._fields.index("subject")]
"""The columns of the event table that a `HeldEvent` has."""


def keywords_of(event: HeldEvent, subject: Subject) -> dict[str, Any]:
    """The keywords that receivers of an event get.

    :param subject: its checkout or payout, attached to the receiver's session.
    """
    keywords: dict[str, Any] = {"order_id": event.order_id or None, "event_id": event.event_id}
    if event.payout_reference is not None:
        keywords["payout"] = subject
    else:
        keywords["checkout"] = subject if event.checkout_id else None
    if event.reason is not None:
        keywords["reason"] = event.reason
    extra: dict[str, Any] = json.loads(event.extra or "{}")
    # Sums are stored as exact text.
    return keywords | extra | {name: Decimal(extra[name]) for name in ("paid", "left") if name in extra}


def new_event(
    event: NewEvent,
    now: datetime,
    *,
    told: bool,
    unheard: bool,
    leased: bool,
    runs: Sequence[str],
) -> dict[str, Any]:
    """The row of an event.

    The event is leased to the process that stores it, which delivers it next without another statement. If that process
    dies, the event is due when the lease ends.

    :param told: whether no receiver is left for delivery, so that the event becomes delivered.
    :param unheard: whether the signal needs a receiver and has none in this process; the event is then not leased, and
        due for every process with a receiver.
    :param leased: whether this process delivers it; otherwise it is due for every process.
    :param runs: the atomic receivers that run next, in the transaction that stores the event, and mark it then.
    """
    told = told and not unheard and not runs
    held = leased and not (told or unheard)
    once = f"{event.name}:{event.once}"
    row = msgspec.structs.asdict(event) | {
        # From what is the same in each try, so that receivers of a try that failed recognise the next one.
        "event_id": str(uuid.uuid5(_EVENT_IDS, f"{once}:{event.checkout_id}")),
        "once": once,
        "extra": json.dumps(dict(event.extra)) if event.extra else None,
        "occurred_at": now,
        "attempts": 1 if held else 0,
        "delivered_at": None,
        "next_attempt_at": now + LEASE if held else now,
        "lease_token": str(uuid.uuid4()) if held else None,
        "lease_until": now + LEASE if held else None,
        "receivers_done": "[]",
        "last_error": nobody_listens(event.name) if unheard else _UNFINISHED.format(", ".join(runs)) if runs else None,
    }
    return row | (delivered_columns(now) if told else {})


def delivered_columns(at: datetime) -> dict[str, Any]:
    """The columns of an event that was delivered in the transaction that stored it."""
    return {"attempts": 1, "delivered_at": at, **FINISHED}


def about_event(event: HeldEvent, *, heals: bool = False) -> dict[str, Any]:
    """The fields of a log record about an event."""
    ids = event.order_id or None, event.checkout_id or None, event.account
    return about(*ids, reference=event.payout_reference, event_id=event.event_id, heals=heals)
