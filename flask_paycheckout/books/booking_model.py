"""The table of bookings in the shop's database: every movement of money, once, and never changed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Index, Integer, String, UniqueConstraint
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from flask_paycheckout.database.mapping import MOMENT, ROW_ID, PaymentTable
from flask_paycheckout.text import MAX_ID

_NUMBER = String(255)


class BookingMixin(PaymentTable):
    """One movement of money, as a line of the books; inserted in the transaction of the change that it records.

    Amounts are exact text with their sign, and NULL if the service reported none.
    """

    __tablename__ = "paycheckout_booking"

    @declared_attr.directive
    def __table_args__(cls) -> tuple[Any, ...]:  # noqa: N805 - it is a class
        return (
            # The database itself refuses to book a movement twice.
            UniqueConstraint("subject", "change", "kind", name="uq_paycheckout_booking_once"),
            # For exports, oldest first, of all accounts or of one.
            Index("ix_paycheckout_booking_time", "booked_at", "id"),
            Index("ix_paycheckout_booking_account", "account", "booked_at", "id"),
        )

    id: Mapped[int] = mapped_column(ROW_ID, primary_key=True)
    subject: Mapped[str] = mapped_column(String(MAX_ID))
    """The checkout id of money in, and the service reference of money out."""

    change: Mapped[int] = mapped_column(Integer)
    """The number of the change of the checkout or payout that moved the money."""

    booked_at: Mapped[datetime] = mapped_column(MOMENT)
    """The time of that change, as aware UTC."""

    kind: Mapped[str] = mapped_column(String(16))
    order_id: Mapped[str | None] = mapped_column(String(MAX_ID))
    checkout_id: Mapped[str | None] = mapped_column(String(MAX_ID))
    """The id of the checkout that the money arrived for; for a refund, the checkout whose money it pays back."""

    reference: Mapped[str | None] = mapped_column(String(MAX_ID), index=True)
    """The payout's reference in the shop."""

    disbursement_id: Mapped[str | None] = mapped_column(String(MAX_ID))
    """The service's id of the payout, if it was known then."""

    account: Mapped[str] = mapped_column(String(MAX_ID))
    """The name of the merchant account whose money moved; empty for the account of the settings."""

    currency: Mapped[str | None] = mapped_column(_NUMBER)
    gross: Mapped[str | None] = mapped_column(_NUMBER)
    fee: Mapped[str | None] = mapped_column(_NUMBER)
    net: Mapped[str | None] = mapped_column(_NUMBER)
    method: Mapped[str | None] = mapped_column(_NUMBER)
    received: Mapped[str | None] = mapped_column(_NUMBER)
    received_currency: Mapped[str | None] = mapped_column(_NUMBER)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.kind} {self.subject!r}: {self.gross} {self.currency}>"
