"""Events as they are stored: in the transaction of the change that they tell of, and already held by who made it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from flask_paycheckout.rules.decisions import Decision
from flask_paycheckout.rules.receivers import nobody_listens
from flask_paycheckout.rules.states import SIGNAL_OF, Status
from flask_paycheckout.store.models import CheckoutMixin

__all__ = ["HELD_COLUMNS", "LEASE", "HeldEvent", "further_keywords", "new_event", "signal_of"]

LEASE = timedelta(seconds=60)
"""How long an event is left to who holds it before somebody else may deliver it; renewed while a receiver works."""


class HeldEvent(NamedTuple):
    """What a deliverer knows of the event that it holds."""

    event_id: str
    name: str
    checkout_id: str
    order_id: str
    reason: str | None
    #: JSON object of further keywords for the receivers.
    extra: str | None
    #: How often delivery was begun, this time included.
    attempts: int
    #: JSON list of the receivers that ran.
    receivers_done: str
    #: Whose it is: a mark without it is refused. None: it waits for a process with a receiver.
    lease_token: str | None
    #: As it was when the event came into this deliverer's hands; belongs to no session.
    checkout: CheckoutMixin
    #: Nobody listens: it was stored as delivered.
    delivered: bool = False

    @property
    def keywords(self) -> dict[str, Any]:
        """What receivers get beside `order_id`, `checkout` and `event_id`."""
        return further_keywords(self.reason, self.extra)

    @classmethod
    def of_row(cls, row: Any, checkout: CheckoutMixin) -> HeldEvent:
        """From the columns of the event table, as a mapping."""
        known = {name: row[name] for name in HELD_COLUMNS}
        return cls(**known, checkout=checkout, delivered=row.get("delivered_at") is not None)


HELD_COLUMNS = tuple(name for name in HeldEvent._fields if name not in ("checkout", "delivered"))
"""Those of the event table that a deliverer knows."""


def further_keywords(reason: str | None, extra: str | None) -> dict[str, Any]:
    """What receivers of an event get beside `order_id`, `checkout` and `event_id`.

    :param extra: JSON object, as the event's column holds it.
    """
    told = {} if reason is None else {"reason": reason}
    return told if extra is None else told | json.loads(extra)


def signal_of(status: Status, decision: Decision | None) -> str:
    """The name of the signal that tells of this state, or of the decision that led to it."""
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
    """The row of an event: this checkout came into this state.

    It is held by who stores it, who delivers it next: nobody else has to be asked whether it is free. Should that
    process die, the event is due when the lease ends.

    :param checkout: as this move left it.
    :param done: names of the receivers that run in the transaction which stores the event.
    :param decision: what a person decided, when the event tells of that and not of the state that it led to.
    :param told: nobody else listens to it, and so it needs no deliverer.
    :param unheard: nobody in this process listens although somebody must: nobody holds it, and it is due for every
        process that has a receiver.
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
