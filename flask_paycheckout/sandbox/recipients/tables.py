"""The table of recipients, each with its bank account."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.wire.paging import Ordering
from flask_paycheckout.sandbox.world.database import Table, ordered_text


class Recipient(Table):
    __tablename__ = "recipient"

    number: Mapped[int] = mapped_column(primary_key=True)
    """Ascending in the order of creation, which makes the order of lists unique."""
    id: Mapped[str] = mapped_column(unique=True)
    user_id: Mapped[str] = mapped_column(ForeignKey(Account.user_id))
    """The account that it belongs to, and that alone can see it."""
    name: Mapped[str]
    email: Mapped[str]
    name_key: Mapped[str] = mapped_column(ordered_text())
    email_key: Mapped[str] = mapped_column(ordered_text())
    """Both in lower case, for searching."""
    recipient_type: Mapped[str | None]
    organization_id: Mapped[str | None]
    address: Mapped[str]
    city: Mapped[str]
    post_code: Mapped[str]
    reference: Mapped[str | None]
    bank_id: Mapped[str]
    account_name: Mapped[str]
    currency: Mapped[str]
    country: Mapped[str]
    bank_name: Mapped[str | None]
    account_number: Mapped[str | None]
    payment_code: Mapped[str | None]
    ach_number: Mapped[str | None]
    fedwire_number: Mapped[str | None]
    iban_number: Mapped[str | None]
    account_type: Mapped[str | None]
    ifsc: Mapped[str | None]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    __table_args__ = (
        # For each filter and each time that lists are sorted by; the number makes the order unique.
        Index("recipient_by_creation", "user_id", "created_at", "number"),
        Index("recipient_by_update", "user_id", "updated_at", "number"),
        Index("recipient_by_country", "user_id", "country", "created_at", "number"),
        Index("recipient_by_currency", "user_id", "currency", "created_at", "number"),
        Index("recipient_by_text", "user_id", "name_key", "email_key"),
    )


ORDERING = Ordering(Recipient.created_at, Recipient.updated_at, Recipient.number)
