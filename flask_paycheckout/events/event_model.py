"""The table of events in the shop's database: changes of checkouts and payouts, and the receivers that have run."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from sqlalchemy import Index, Integer, String, Text
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from flask_paycheckout.database.mapping import MOMENT, ROW_ID, PaymentTable, partial_index
from flask_paycheckout.text import MAX_ID

UNHEARD = "next_attempt_at IS NULL AND delivered_at IS NULL AND superseded_at IS NULL"
"""The SQL condition of events that wait for a process that listens to their signal.

Written as text, because a database uses a partial index only for exactly the same condition.
"""


class EventMixin(PaymentTable):
    """An event, to be delivered to the receivers of its signal."""

    __tablename__ = "paycheckout_event"

    @declared_attr.directive
    def __table_args__(cls) -> tuple[Any, ...]:  # noqa: N805 - it is a class
        return (
            Index("ix_paycheckout_event_undelivered", "next_attempt_at", "id"),
            Index("ix_paycheckout_event_payout_reference", "payout_reference"),
            # For the query for events without a receiver so far, by the signals to which a process listens.
            partial_index("ix_paycheckout_event_unheard", "name", "id", where=UNHEARD),
        )

    id: Mapped[int] = mapped_column(ROW_ID, primary_key=True)
    event_id: Mapped[str] = mapped_column(String(36), unique=True)
    """The event's id, equal in every delivery; receivers use it as an idempotency key."""

    once: Mapped[str] = mapped_column(String(600), unique=True)
    """A unique key of the event, such as `order_paid` of an order, so that it is stored only once."""

    name: Mapped[str] = mapped_column(String(32))
    """The signal's name."""

    checkout_id: Mapped[str] = mapped_column(String(MAX_ID))
    """The id of the checkout that the event is about; for a refund the id of the checkout that was paid, else empty."""

    order_id: Mapped[str] = mapped_column(String(MAX_ID), index=True)
    """The shop's own id; empty for a payout that belongs to no order."""

    payout_reference: Mapped[str | None] = mapped_column(String(MAX_ID))
    """The reference of the payout that the event is about; NULL for the event of a checkout."""

    reason: Mapped[str | None] = mapped_column(String(32))
    extra: Mapped[str | None] = mapped_column(Text)
    """A JSON object of further keywords for the receivers, such as a decision's name and reason; NULL without any."""

    occurred_at: Mapped[datetime] = mapped_column(MOMENT)
    """The time of the change; an aware UTC datetime, like every other time here."""

    delivered_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time when the last receiver had run; None before."""

    attempts: Mapped[int] = mapped_column(Integer)
    """The number of deliveries begun, without deliveries after which a receiver waits for an earlier event."""

    superseded_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time when the event was found to be no longer true, so that no more receivers run; else None."""

    next_attempt_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time of the next attempt to deliver; NULL once delivered or superseded, and while nobody listens."""

    lease_token: Mapped[str | None] = mapped_column(String(36))
    """The token of the process that delivers now; a statement that marks receivers must name it."""

    lease_until: Mapped[datetime | None] = mapped_column(MOMENT)
    receivers_done: Mapped[str] = mapped_column(Text)
    """A JSON list of the receivers that have run."""

    last_error: Mapped[str | None] = mapped_column(Text)

    @property
    def done(self) -> list[str]:
        """The names of the receivers that have run."""
        names: list[str] = json.loads(self.receivers_done)
        return names

    def __repr__(self) -> str:
        waiting = f"not delivered, tried {self.attempts} times"
        state = "delivered" if self.delivered_at else "superseded" if self.superseded_at else waiting
        return f"<{type(self).__name__} {self.name} {self.event_id} of order {self.order_id!r}: {state}>"
