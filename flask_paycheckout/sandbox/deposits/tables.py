"""Tables of deposits and their history."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from flask_paycheckout.sandbox.checkouts.tables import Checkout
from flask_paycheckout.sandbox.world.database import Table, ordered_text

PENDING = "pending"
COMPLETED = "completed"
MAX_STATUS = 40
"""The longest status that can be forced."""


class Deposit(Table):
    __tablename__ = "deposit"

    id: Mapped[str] = mapped_column(ForeignKey(Checkout.id), primary_key=True)
    """Equals the checkout's id."""
    reference: Mapped[str | None] = mapped_column(ordered_text(200))
    """A second identifier to read it by. No operation of the interface sets one; the control interface can."""
    user_id: Mapped[str] = mapped_column(String(24))
    method: Mapped[str] = mapped_column(String(40))
    input_currency: Mapped[str] = mapped_column(String(40))
    output_currency: Mapped[str] = mapped_column(String(40))
    input_amount: Mapped[Decimal]
    output_amount: Mapped[Decimal]
    fee_amount: Mapped[Decimal]
    fee_percentage: Mapped[Decimal]
    rate: Mapped[Decimal]
    bank_code: Mapped[str | None] = mapped_column(String(40))
    bank_name: Mapped[str | None] = mapped_column(String(80))
    qr_data: Mapped[str | None] = mapped_column(Text)
    token: Mapped[str | None] = mapped_column(String(40))
    token_amount: Mapped[Decimal | None]
    address: Mapped[str | None] = mapped_column(String(120))
    status: Mapped[str] = mapped_column(String(MAX_STATUS))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    expired_at: Mapped[datetime]

    __table_args__ = (
        # For expiring due deposits, which every read does first.
        Index("deposit_due", "status", "expired_at"),
        # Begins with the reference, because deposits are looked up by it alone.
        UniqueConstraint("reference", "user_id"),
        # For the inspector's list, and for finding it by an amount, newest first.
        Index("deposit_by_creation", "created_at", "id"),
        Index("deposit_by_account", "user_id", "created_at", "id"),
        Index("deposit_by_input", "input_amount", "created_at", "id"),
        Index("deposit_by_output", "output_amount", "created_at", "id"),
    )


class DepositActivity(Table):
    __tablename__ = "deposit_activity"

    number: Mapped[int] = mapped_column(primary_key=True)
    deposit_id: Mapped[str] = mapped_column(ForeignKey(Deposit.id), index=True)
    activity: Mapped[str] = mapped_column(String(80))
    description: Mapped[str] = mapped_column(String(200))
    status: Mapped[str] = mapped_column(String(MAX_STATUS))
    updated_at: Mapped[datetime]
