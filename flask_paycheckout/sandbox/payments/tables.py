"""The table of payments, and their transitions: each is one conditional UPDATE, with its history entries.

The interface shows the transition from pending to processed, when the crypto asset was received, and neither later ones
nor durations. The unknown `payment_progress` says which status a payment finally gets.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import JSON, BigInteger, Index
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.world.context import assumption, current_time
from flask_paycheckout.sandbox.world.database import Made
from flask_paycheckout.sandbox.world.settings import derived
from flask_paycheckout.sandbox.world.transitions import COMPLETED, FAILED, PENDING, move_due, note

PROCESSED = "processed"
STATUSES = (PENDING, PROCESSED, COMPLETED, FAILED)

OFFRAMP = "offramp"
ONRAMP = "onramp"
"""From a token to a currency, or from a currency to a token."""


class Payment(Made):
    """One payment, with sender and receiver as they were at its creation."""

    __tablename__ = "payment"

    payment_type: Mapped[str]
    organization_id: Mapped[str]
    organization_name: Mapped[str]
    sender: Mapped[dict[str, str]] = mapped_column(JSON)
    receiver: Mapped[dict[str, Any]] = mapped_column(JSON)
    """Includes its bank account."""
    input_currency: Mapped[str]
    input_amount: Mapped[Decimal]
    exchange_fees: Mapped[Decimal]
    platform_fees: Mapped[Decimal]
    """Both included in the input amount, in its token or currency."""
    output_currency: Mapped[str]
    output_amount: Mapped[Decimal]
    output_amount_exact: Mapped[Decimal]
    reason: Mapped[str | None]
    description: Mapped[str | None]
    blockchain: Mapped[str]
    payout_wallet: Mapped[str]
    transaction_hash: Mapped[str | None]
    status: Mapped[str]
    expired_at: Mapped[datetime]
    cents: Mapped[int] = mapped_column(BigInteger)
    """Its value in US cents, rounded up, which counts towards the daily limit."""

    # For finding payments that have had a status long enough.
    __table_args__ = (Index("payment_due", "status", "created_at", "number"),)


_HASH_BYTES = 32


_PROCESS = (PENDING, PROCESSED, timedelta(minutes=5))
_LATER = timedelta(minutes=10)

TRANSITIONS = {
    "completed": (_PROCESS, (PROCESSED, COMPLETED, _LATER)),
    "failed": (_PROCESS, (PROCESSED, FAILED, _LATER)),
    "processed": (_PROCESS,),
    "pending": (),
}
"""The transitions of each value of `payment_progress`, in their order: two statuses, and the age of the payment."""


_STEPS = {
    PROCESSED: (
        ("Converted to", "{0.output_amount:f} {0.output_currency}.", COMPLETED),
        ("Sent to receipient account", "The transfer to the bank is on its way.", PENDING),
    ),
    COMPLETED: (("Received by recipient account", "The money has arrived.", COMPLETED),),
    FAILED: (("Sent to receipient account", "The bank refused the transfer.", FAILED),),
}
"""The history's entries of each transition: activity, description and status."""


def progress_due(session: Session) -> None:
    """Make the transitions of payments that are due."""
    for source, target, age in TRANSITIONS[assumption("payment_progress")]:
        for payment in move_due(session, Payment, source, target, Payment.created_at <= current_time() - age):
            if target == PROCESSED:
                payment.transaction_hash = f"0x{derived(f'transaction:{payment.id}', _HASH_BYTES)}"
            for activity, description, status in _STEPS[target]:
                note(session, payment, activity, description.format(payment), status)
