"""The table of payments, and their transitions: each is one conditional UPDATE, with its history entries.

The interface shows the transition from pending to processed, when the crypto asset was received, and neither later ones
nor durations. The unknown `payment_progress` says which status a payment finally gets.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import ROUND_DOWN, Decimal

from sqlalchemy import BigInteger, Index
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.wire.envelope import MAX_DIGITS
from flask_paycheckout.sandbox.world.context import assumption, current_time
from flask_paycheckout.sandbox.world.database import AccountId, Serial, Table
from flask_paycheckout.sandbox.world.money import EXACT
from flask_paycheckout.sandbox.world.settings import derived
from flask_paycheckout.sandbox.world.transitions import COMPLETED, FAILED, PENDING, move_due, note

PROCESSED = "processed"
STATUSES = (PENDING, PROCESSED, COMPLETED, FAILED)

OFFRAMP = "offramp"
ONRAMP = "onramp"
"""From a token to a currency, or the other way."""

# No token has more decimals, and an amount in a currency has at most nine digits more than in the token.
_KEY_DECIMALS = 18
_KEY_WIDTH = MAX_DIGITS + 9 + 1 + _KEY_DECIMALS


class Payment(Table):
    """One payment, with sender and receiver as they were at its creation."""

    __tablename__ = "payment"

    number: Mapped[Serial]
    """Ascending in the order of creation."""
    id: Mapped[str] = mapped_column(unique=True)
    user_id: Mapped[AccountId]
    payment_type: Mapped[str]
    organization_id: Mapped[str]
    organization_name: Mapped[str]
    sender_id: Mapped[str]
    sender_name: Mapped[str]
    sender_email: Mapped[str]
    wallet_address: Mapped[str]
    receiver_id: Mapped[str]
    receiver_name: Mapped[str]
    receiver_email: Mapped[str]
    account_number: Mapped[str | None]
    bank_name: Mapped[str | None]
    ifsc: Mapped[str | None]
    ach_number: Mapped[str | None]
    fedwire_number: Mapped[str | None]
    iban_number: Mapped[str | None]
    us_network: Mapped[str | None]
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
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    expired_at: Mapped[datetime]
    cents: Mapped[int] = mapped_column(BigInteger)
    """Its value in US cents, rounded up, which counts towards the daily limit."""
    text_key: Mapped[str]
    """Names and e-mail addresses of sender and receiver in lower case, for searching."""
    receiver_key: Mapped[str]
    input_key: Mapped[str]
    output_key: Mapped[str]
    """The amounts as text that sorts like numbers."""

    __table_args__ = (
        Index("payment_by_creation", "user_id", "created_at", "number"),
        # For finding what has had a status long enough.
        Index("payment_due", "status", "created_at", "number"),
    )


def sortable(amount: Decimal, rounding: str = ROUND_DOWN) -> str:
    """Convert a number that is not negative to text that sorts like it. Only bounds of a filter can need rounding."""
    unit = Decimal(1).scaleb(-_KEY_DECIMALS)
    return f"{amount.quantize(unit, rounding=rounding, context=EXACT):f}".rjust(_KEY_WIDTH, "0")


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
