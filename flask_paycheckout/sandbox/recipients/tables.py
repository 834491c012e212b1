"""Where recipients are kept, each in one row with its bank account."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.wire.paging import Ordering
from flask_paycheckout.sandbox.world.database import Table


class Recipient(Table):
    __tablename__ = "recipient"

    number: Mapped[int] = mapped_column(primary_key=True)
    """Grows with every recipient that is made, so that lists have one order."""
    id: Mapped[str] = mapped_column(String(24), unique=True)
    user_id: Mapped[str] = mapped_column(ForeignKey(Account.user_id))
    """The account it belongs to; no other one sees it."""
    name: Mapped[str] = mapped_column(Text)
    email: Mapped[str] = mapped_column(Text)
    name_key: Mapped[str] = mapped_column(Text)
    email_key: Mapped[str] = mapped_column(Text)
    """Name and address without regard to case, for searching."""
    recipient_type: Mapped[str | None] = mapped_column(String(20))
    organization_id: Mapped[str | None] = mapped_column(Text)
    address: Mapped[str] = mapped_column(Text)
    city: Mapped[str] = mapped_column(Text)
    post_code: Mapped[str] = mapped_column(Text)
    reference: Mapped[str | None] = mapped_column(Text)
    bank_id: Mapped[str] = mapped_column(String(24))
    account_name: Mapped[str] = mapped_column(Text)
    currency: Mapped[str] = mapped_column(String(40))
    country: Mapped[str] = mapped_column(Text)
    bank_name: Mapped[str | None] = mapped_column(Text)
    account_number: Mapped[str | None] = mapped_column(Text)
    payment_code: Mapped[str | None] = mapped_column(Text)
    ach_number: Mapped[str | None] = mapped_column(Text)
    fedwire_number: Mapped[str | None] = mapped_column(Text)
    iban_number: Mapped[str | None] = mapped_column(Text)
    account_type: Mapped[str | None] = mapped_column(String(20))
    ifsc: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    __table_args__ = (
        # One for each filter and each time that lists are sorted by; the number breaks ties within the index.
        Index("recipient_by_creation", "user_id", "created_at", "number"),
        Index("recipient_by_update", "user_id", "updated_at", "number"),
        Index("recipient_by_country", "user_id", "country", "created_at", "number"),
        Index("recipient_by_currency", "user_id", "currency", "created_at", "number"),
        Index("recipient_by_text", "user_id", "name_key", "email_key"),
    )


ORDERING = Ordering(Recipient.created_at, Recipient.updated_at, Recipient.number)
