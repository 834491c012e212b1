"""Tables of checkouts, payment methods and conversions."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.world.database import Table

BANK_TRANSFER = "bank_transfer"


QR = "qr"


CRYPTO = "crypto"


class PaymentMethod(Table):
    __tablename__ = "payment_method"

    code: Mapped[str] = mapped_column(String(40), primary_key=True)
    position: Mapped[int]
    """Place on the hosted page; the first method is the one with the lowest."""
    name: Mapped[str] = mapped_column(String(80))
    group: Mapped[str] = mapped_column(String(20))
    currency: Mapped[str] = mapped_column(String(40))
    flat_fee: Mapped[Decimal]
    percent_fee: Mapped[Decimal]
    min_amount: Mapped[Decimal]
    max_amount: Mapped[Decimal]
    """Limits of the amount paid, in the method's currency."""
    token: Mapped[str | None] = mapped_column(String(40))
    """The token id that is sent on the chain; None unless the group is crypto."""
    token_rate: Mapped[Decimal | None]
    """Units of that token per unit of the method's currency."""
    enabled: Mapped[bool]


class MethodSwitch(Table):
    """Whether a payment method is enabled for an account, where that differs from the method's own setting."""

    __tablename__ = "method_switch"

    user_id: Mapped[str] = mapped_column(ForeignKey(Account.user_id), primary_key=True)
    code: Mapped[str] = mapped_column(ForeignKey(PaymentMethod.code), primary_key=True)
    enabled: Mapped[bool]


class Conversion(Table):
    __tablename__ = "conversion"

    input_currency: Mapped[str] = mapped_column(String(40), primary_key=True)
    output_currency: Mapped[str] = mapped_column(String(40), primary_key=True)
    rate: Mapped[Decimal]
    """Units of the output currency per unit of the input currency."""
    enabled: Mapped[bool]


class ConversionSwitch(Table):
    """Whether a conversion is enabled for an account, where that differs from the conversion's own setting."""

    __tablename__ = "conversion_switch"

    user_id: Mapped[str] = mapped_column(ForeignKey(Account.user_id), primary_key=True)
    input_currency: Mapped[str] = mapped_column(String(40), primary_key=True)
    output_currency: Mapped[str] = mapped_column(String(40), primary_key=True)
    enabled: Mapped[bool]


PAGE_VALIDITY = timedelta(minutes=15)
"""How long after a checkout's creation its hosted page can be used."""


class Checkout(Table):
    __tablename__ = "checkout"

    id: Mapped[str] = mapped_column(String(24), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey(Account.user_id))
    input_currency: Mapped[str] = mapped_column(String(40))
    output_currency: Mapped[str] = mapped_column(String(40))
    input_amount: Mapped[Decimal | None]
    output_amount: Mapped[Decimal | None]
    """Exactly one of the two amounts was requested; the other is None."""
    rate: Mapped[Decimal]
    """The conversion rate at creation; later changes do not affect what the customer was shown."""
    created_at: Mapped[datetime] = mapped_column(index=True)
    expires_at: Mapped[datetime]
    picked_at: Mapped[datetime | None]

    __table_args__ = (
        Index("checkout_by_account", "user_id", "created_at", "id"),
        # For finding it by an amount, newest first.
        Index("checkout_by_input", "input_amount", "created_at", "id"),
        Index("checkout_by_output", "output_amount", "created_at", "id"),
    )

    def page_is_open(self, now: datetime) -> bool:
        return now < self.expires_at
