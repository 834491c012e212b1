"""The table of recipients, each with its bank account."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.wire.paging import Ordering
from flask_paycheckout.sandbox.world.database import Table, ordered_text


class Recipient(Table):
    __tablename__ = "recipient"

    number: Mapped[int] = mapped_column(primary_key=True)
    """Ascending in the order of creation, which makes the order of lists unique."""
    id: Mapped[str] = mapped_column(String(24), unique=True)
    user_id: Mapped[str] = mapped_column(ForeignKey(Account.user_id))
    """The account that it belongs to, and that alone can see it."""
    name: Mapped[str] = mapped_column(Text)
    email: Mapped[str] = mapped_column(Text)
    name_key: Mapped[str] = mapped_column(ordered_text())
    email_key: Mapped[str] = mapped_column(ordered_text())
    """Both in lower case, for searching."""
    recipient_type: Mapped[str | None] = mapped_column(String(20))
    organization_id: Mapped[str | None] = mapped_column(Text)
    address: Mapped[str] = mapped_column(Text)
    city: Mapped[str] = mapped_column(Text)
    post_code: Mapped[str] = mapped_column(Text)
    reference: Mapped[str | None] = mapped_column(ordered_text())
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
        # For each filter and each time that lists are sorted by; the number makes the order unique.
        Index("recipient_by_creation", "user_id", "created_at", "number"),
        Index("recipient_by_update", "user_id", "updated_at", "number"),
        Index("recipient_by_country", "user_id", "country", "created_at", "number"),
        Index("recipient_by_currency", "user_id", "currency", "created_at", "number"),
        Index("recipient_by_text", "user_id", "name_key", "email_key"),
        # For the inspector's list, and for finding it.
        Index("recipient_newest", "created_at", "number"),
        Index("recipient_by_name", "name_key"),
        Index("recipient_by_email", "email_key"),
        Index("recipient_by_reference", "reference"),
    )


ORDERING = Ordering(Recipient.created_at, Recipient.updated_at, Recipient.number)
