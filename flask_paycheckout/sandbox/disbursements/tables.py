"""Tables of disbursements of both kinds, and of their history."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.world.database import Table, ordered_text

FIAT = "fiat"
CRYPTO = "crypto"

PENDING = "pending"
COMPLETED = "completed"
FAILED = "failed"
STATUSES = (PENDING, FAILED, COMPLETED)
MAX_STATUS = 40
"""The longest status that can be forced."""
MAX_REFERENCE = 200
"""The longest reference and note."""
MAX_NOTE = 500


def _listing(*filtered: str) -> list[Index]:
    """Indexes for both orders of a list: the filtered columns, the time, and the number, which is unique."""
    name = "_".join(("ix_disbursement", *(column[:3] for column in filtered)))
    times = ("created_at", "updated_at")
    return [Index(f"{name}_{time[:3]}", "user_id", "kind", *filtered, time, "number") for time in times]


class Disbursement(Table):
    """One payment to a recipient. Those of one request share a group."""

    __tablename__ = "disbursement"

    number: Mapped[int] = mapped_column(primary_key=True)
    """Ascending in the order of the request's items."""
    id: Mapped[str] = mapped_column(String(24), unique=True)
    kind: Mapped[str] = mapped_column(String(6))
    user_id: Mapped[str] = mapped_column(ForeignKey(Account.user_id))
    group_id: Mapped[str | None] = mapped_column(String(24))
    """None when created by the first version of the operation, which has no groups."""
    currency: Mapped[str] = mapped_column(String(40))
    """A fiat code, or a token id."""
    amount: Mapped[Decimal]
    fee_amount: Mapped[Decimal]
    fee_percentage: Mapped[Decimal]
    reference: Mapped[str | None] = mapped_column(ordered_text(MAX_REFERENCE))
    note: Mapped[str | None] = mapped_column(String(MAX_NOTE))
    status: Mapped[str] = mapped_column(String(MAX_STATUS))
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    __table_args__ = (
        UniqueConstraint("user_id", "reference"),
        # For finding it by its reference, its batch or its amount.
        Index("disbursement_by_reference", "reference"),
        Index("disbursement_by_group", "group_id"),
        Index("disbursement_by_amount", "amount", "created_at", "id"),
        # For finding what has been pending long enough.
        Index("ix_disbursement_due", "status", "created_at", "number"),
        *_listing(),
        *_listing("status"),
        *_listing("currency"),
        *_listing("currency", "status"),
    )


class DisbursementActivity(Table):
    __tablename__ = "disbursement_activity"

    number: Mapped[int] = mapped_column(primary_key=True)
    disbursement_id: Mapped[str] = mapped_column(ForeignKey(Disbursement.id), index=True)
    activity: Mapped[str] = mapped_column(String(80))
    description: Mapped[str] = mapped_column(String(200))
    status: Mapped[str] = mapped_column(String(MAX_STATUS))
    updated_at: Mapped[datetime]
