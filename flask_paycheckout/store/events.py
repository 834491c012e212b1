"""Rows of the event table: stored in the transaction of the change, and leased to the process that made it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from flask_paycheckout.rules.decisions import Decision
from flask_paycheckout.rules.receivers import nobody_listens
from flask_paycheckout.rules.states import SIGNAL_OF, Status
from flask_paycheckout.store.checkout_model import CheckoutMixin

__all__ = ["HELD_COLUMNS", "LEASE", "HeldEvent", "further_keywords", "new_event", "signal_of"]

LEASE = timedelta(seconds=60)
"""The time after which another process may deliver a leased event; renewed while a receiver works."""


class HeldEvent(NamedTuple):
    """An event that this process has leased for delivery."""

    event_id: str
    name: str
    checkout_id: str
    order_id: str
    reason: str | None
    extra: str | None
    """A JSON object of further keywords for the receivers."""

    attempts: int
    """The number of deliveries begun, including this one."""

    receivers_done: str
    """A JSON list of the receivers that have run."""

    lease_token: str | None
    """The token that marks must name; None when the event waits for a process with a receiver."""

    checkout: CheckoutMixin
    """The checkout as it was when the event was leased, detached from any session."""

    delivered: bool = False
    """Whether the event was stored as delivered, since no receiver is left."""

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords for receivers besides `order_id`, `checkout` and `event_id`."""
        return further_keywords(self.reason, self.extra)

    @classmethod
    def of_row(cls, row: Any, checkout: CheckoutMixin) -> HeldEvent:
        """Make it from the columns of the event table."""
        known = {name: row[name] for name in HELD_COLUMNS}
        return cls(**known, checkout=checkout, delivered=row.get("delivered_at") is not None)


HELD_COLUMNS = tuple(name for name in HeldEvent._fields if name not in ("checkout", "delivered"))
"""The columns of the event table that a `HeldEvent` has."""


def further_keywords(reason: str | None, extra: str | None) -> dict[str, Any]:
    """The keywords for receivers of an event besides `order_id`, `checkout` and `event_id`.

    :param extra: the JSON object in the event's column.
    """
    keywords = {} if reason is None else {"reason": reason}
    return keywords if extra is None else keywords | json.loads(extra)


def signal_of(status: Status, decision: Decision | None) -> str:
    """The name of the signal for this state, or for the decision that led to it."""
    return "payment_resolved" if decision else SIGNAL_OF[status]


def new_event(
    status: Status,
    checkout: CheckoutMixin,
    now: datetime,
    reason: str | None,
    *,
    decision: Decision | None = None,
    done: Sequence[str] = (),
    told: bool,
    unheard: bool = False,
) -> dict[str, Any]:
    """The row of an event about this checkout's new state.

    The event is leased to the process that stores it, which delivers it next without another statement. If that process
    dies, the event is due when the lease ends.

    :param checkout: the checkout after the move.
    :param done: the names of the receivers that run in the transaction that stores the event.
    :param decision: a person's decision, when the event is about that and not about the state that it led to.
    :param told: whether no other receiver is left, so that the event is stored as delivered.
    :param unheard: whether the signal needs a receiver and has none in this process; the event is then not leased, and
        due for every process with a receiver.
    """
    name = signal_of(status, decision)
    told = told and not unheard
    held = not (told or unheard)
    once = f"order:{checkout.order_id}" if name == "order_paid" else f"{checkout.revision}:{checkout.checkout_id}"
    return {
        "event_id": str(uuid.uuid4()),
        "once": f"{name}:{once}",
        "name": name,
        "checkout_id": checkout.checkout_id,
        "order_id": checkout.order_id,
        "reason": reason,
        "extra": json.dumps(decision.as_keywords()) if decision else None,
        "occurred_at": now,
        "attempts": 0 if unheard else 1,
        "delivered_at": now if told else None,
        "next_attempt_at": None if told else now + LEASE if held else now,
        "lease_token": str(uuid.uuid4()) if held else None,
        "lease_until": now + LEASE if held else None,
        "receivers_done": json.dumps(list(done)),
        "last_error": nobody_listens(name) if unheard else None,
    }
