"""Tables of payments and their history."""

from __future__ import annotations

from datetime import datetime
from decimal import ROUND_CEILING, ROUND_DOWN, Decimal

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.money.currencies import EXACT
from flask_paycheckout.sandbox.wire.paging import Ordering
from flask_paycheckout.sandbox.wire.parsing import MAX_DIGITS
from flask_paycheckout.sandbox.world.database import Table, ordered_text

PENDING = "pending"
PROCESSED = "processed"
COMPLETED = "completed"
FAILED = "failed"
STATUSES = (PENDING, PROCESSED, COMPLETED, FAILED)

OFFRAMP = "offramp"
ONRAMP = "onramp"
"""From a token to a currency, or the other way."""

MAX_ADDRESS = 100
"""Longer than the addresses of every supported chain."""
MAX_TEXT = 500

# No token has more decimals, and an amount in a currency has at most nine digits more than in the token.
_KEY_DECIMALS = 18
_KEY_WIDTH = MAX_DIGITS + 9 + 1 + _KEY_DECIMALS


class Payment(Table):
    """One payment, with sender and receiver as they were at its creation."""

    __tablename__ = "payment"

    number: Mapped[int] = mapped_column(primary_key=True)
    """Ascending in the order of creation."""
    id: Mapped[str] = mapped_column(String(24), unique=True)
    user_id: Mapped[str] = mapped_column(ForeignKey(Account.user_id))
    payment_type: Mapped[str] = mapped_column(String(10))
    organization_id: Mapped[str] = mapped_column(String(24))
    organization_name: Mapped[str] = mapped_column(Text)
    sender_id: Mapped[str] = mapped_column(String(24))
    sender_name: Mapped[str] = mapped_column(Text)
    sender_email: Mapped[str] = mapped_column(ordered_text())
    wallet_address: Mapped[str] = mapped_column(String(MAX_ADDRESS))
    receiver_id: Mapped[str] = mapped_column(String(24))
    receiver_name: Mapped[str] = mapped_column(Text)
    receiver_email: Mapped[str] = mapped_column(ordered_text())
    account_number: Mapped[str | None] = mapped_column(Text)
    bank_name: Mapped[str | None] = mapped_column(Text)
    ifsc: Mapped[str | None] = mapped_column(Text)
    ach_number: Mapped[str | None] = mapped_column(Text)
    fedwire_number: Mapped[str | None] = mapped_column(Text)
    iban_number: Mapped[str | None] = mapped_column(Text)
    us_network: Mapped[str | None] = mapped_column(String(4))
    input_currency: Mapped[str] = mapped_column(String(40))
    input_amount: Mapped[Decimal]
    exchange_fees: Mapped[Decimal]
    platform_fees: Mapped[Decimal]
    """Both included in the input amount, in its token or currency."""
    output_currency: Mapped[str] = mapped_column(String(40))
    output_amount: Mapped[Decimal]
    output_amount_exact: Mapped[Decimal]
    reason: Mapped[str | None] = mapped_column(Text)
    description: Mapped[str | None] = mapped_column(Text)
    blockchain: Mapped[str] = mapped_column(String(40))
    payout_wallet: Mapped[str] = mapped_column(String(MAX_ADDRESS))
    transaction_hash: Mapped[str | None] = mapped_column(String(66))
    status: Mapped[str] = mapped_column(String(20))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    expired_at: Mapped[datetime]
    cents: Mapped[int] = mapped_column(BigInteger)
    """Its value in US cents, rounded up, which counts towards the daily limit."""
    text_key: Mapped[str] = mapped_column(Text)
    """Names and e-mail addresses of sender and receiver in lower case, for searching."""
    receiver_key: Mapped[str] = mapped_column(Text)
    input_key: Mapped[str] = mapped_column(String(_KEY_WIDTH))
    output_key: Mapped[str] = mapped_column(String(_KEY_WIDTH))
    """The amounts as text that sorts like numbers."""

    __table_args__ = (
        # For each order and each filter of the list.
        Index("payment_by_creation", "user_id", "created_at", "number", "cents"),
        Index("payment_by_update", "user_id", "updated_at", "number"),
        Index("payment_by_status", "user_id", "status", "created_at", "number"),
        Index("payment_by_status_update", "user_id", "status", "updated_at", "number"),
        Index("payment_by_blockchain", "user_id", "blockchain", "created_at", "number"),
        Index("payment_by_reason", "user_id", "reason", "created_at", "number"),
        Index("payment_by_receiver", "user_id", "receiver_key", "created_at", "number"),
        Index("payment_by_organization", "user_id", "organization_id", "created_at", "number"),
        Index("payment_by_organization_name", "user_id", "organization_name", "created_at", "number"),
        Index("payment_by_input", "user_id", "input_key"),
        Index("payment_by_output", "user_id", "output_key"),
        # For finding it by its people or its amounts.
        Index("payment_by_sender_email", text("lower(sender_email)")),
        Index("payment_by_receiver_email", text("lower(receiver_email)")),
        Index("payment_by_recipient", "receiver_id"),
        Index("payment_by_input_amount", "input_amount", "created_at", "id"),
        Index("payment_by_output_amount", "output_amount", "created_at", "id"),
        # For finding what has had a status long enough.
        Index("payment_due", "status", "created_at", "number"),
    )


class PaymentActivity(Table):
    __tablename__ = "payment_activity"

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(String(24))
    payment_id: Mapped[str] = mapped_column(ForeignKey(Payment.id), index=True)
    activity: Mapped[str] = mapped_column(String(80))
    status: Mapped[str] = mapped_column(String(20))
    description: Mapped[str] = mapped_column(String(200))
    updated_at: Mapped[datetime]


ORDERING = Ordering(Payment.created_at, Payment.updated_at, Payment.number)


def sortable(amount: Decimal, rounding: str = ROUND_DOWN) -> str:
    """Convert a number that is not negative to text that sorts like it. Only bounds of a filter can need rounding."""
    unit = Decimal(1).scaleb(-_KEY_DECIMALS)
    return f"{amount.quantize(unit, rounding=rounding, context=EXACT):f}".rjust(_KEY_WIDTH, "0")


def lower_bound(amount: Decimal) -> str:
    """The smallest key that is not below a number."""
    return sortable(amount, ROUND_CEILING)
