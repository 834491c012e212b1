"""Where checkouts are kept."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from flask_paycheckout.sandbox.accounts import Account
from flask_paycheckout.sandbox.database import Table

#: How long the hosted page can be used, from the checkout's creation.
PAGE_VALIDITY = timedelta(minutes=15)


class Checkout(Table):
    __tablename__ = "checkout"

    id: Mapped[str] = mapped_column(String(24), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey(Account.user_id))
    input_currency: Mapped[str] = mapped_column(String(40))
    output_currency: Mapped[str] = mapped_column(String(40))
    input_amount: Mapped[Decimal | None]
    output_amount: Mapped[Decimal | None]
    """Exactly one of the two amounts was asked for; the other is None."""
    rate: Mapped[Decimal]
    """Taken when the checkout was made, so that what the customer sees stays true."""
    created_at: Mapped[datetime] = mapped_column(index=True)
    expires_at: Mapped[datetime]
    picked_at: Mapped[datetime | None]

    def page_is_open(self, now: datetime) -> bool:
        return now < self.expires_at
