"""Rows of the event table: stored in the transaction of the change, and leased to the process that made it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

import msgspec
from sqlalchemy import Connection

from flask_paycheckout.events.event_model import EventMixin
from flask_paycheckout.wiring.logs import about

LEASE = timedelta(seconds=60)
"""The time after which another process may deliver a leased event; renewed while a receiver works."""

FINISHED = {"next_attempt_at": None, "lease_token": None, "lease_until": None}
"""The columns of an event that needs no delivery any more."""


class Subject(Protocol):
    """The row that an event is about: a checkout, a payout, or a payment request."""

    @property
    def account(self) -> str:
        """The name of its merchant account."""


class Superseding(Protocol):
    """Compares events with the present state of their orders."""

    def overtaken(
        self, events: Sequence[HeldEvent | EventMixin], connection: Connection | None = None
    ) -> Sequence[HeldEvent | EventMixin]:
        """The events that are no longer true, given some events of an order.

        :param connection: a transaction in which the order's checkouts are locked, so that the answer stays true until
            its end. SQLite has no row locks; there the transaction must have written before. None: read without locks.
        """

    def is_unwanted(self, event: HeldEvent) -> bool:
        """Whether the shop no longer wants the effect of an event; its function runs in a separate transaction."""


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


class Delivery(msgspec.Struct, frozen=True):
    """The number of events that reached all of their receivers, and of events that did not."""

    delivered: int = 0
    failed: int = 0

    def __add__(self, other: Delivery) -> Delivery:
        return Delivery(self.delivered + other.delivered, self.failed + other.failed)


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
    """The token that statements about this event must name; None if the event waits for a process with a receiver."""

    subject: Subject
    """The checkout or payout as it was when the event was leased, detached from any session."""

    account: str
    """The name of its merchant account; copied, because a receiver's session may expire the subject."""

    delivered: bool
    """Whether the event was stored as delivered, because no receiver is left."""

    @classmethod
    def of_row(cls, row: Any, subject: Subject) -> HeldEvent:
        """Make it from the columns of the event table."""
        columns = {name: row[name] for name in HELD_COLUMNS}
        delivered = row.get("delivered_at") is not None
        return cls(**columns, subject=subject, account=subject.account, delivered=delivered)


HELD_COLUMNS = HeldEvent._fields[: HeldEvent._fields.index("subject")]
"""The columns of the event table that a `HeldEvent` has."""


def keywords_of(event: HeldEvent, subject: Subject, request: Subject | None) -> dict[str, Any]:
    """The keyword arguments for the receivers of an event.

    :param subject: its checkout, payout or payment request, attached to the receiver's session.
    :param request: the payment request that the event is about, attached to the same session; None for other events.
    """
    keywords: dict[str, Any] = {"event_id": event.event_id}
    if event.payout_reference is not None:
        keywords |= {"order_id": event.order_id or None, "payout": subject}
    elif request is None:
        keywords |= {"order_id": event.order_id, "checkout": subject}
    elif event.checkout_id:
        keywords |= {"request": request, "checkout": subject}
    else:
        keywords["request"] = request
    if event.reason is not None:
        keywords["reason"] = event.reason
    extra: dict[str, Any] = json.loads(event.extra or "{}")
    # Sums are stored as exact text.
    return keywords | extra | {name: Decimal(extra[name]) for name in ("paid", "left") if name in extra}


def about_event(event: HeldEvent, *, heals: bool = False) -> dict[str, Any]:
    """The fields of a log record about an event."""
    ids = event.order_id or None, event.checkout_id or None, event.account
    return about(*ids, reference=event.payout_reference, event_id=event.event_id, heals=heals)
