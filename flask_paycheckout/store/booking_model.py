"""The table of bookings in the shop's database: each movement of money out, once, and never changed."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import FromClause, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from flask_paycheckout.rules.order_ids import MAX_ID
from flask_paycheckout.store.mapping import MOMENT, ROW_ID, keep

__all__ = ["BookingMixin"]


class BookingMixin:
    """One movement of a payout's money. Rows are inserted in the transaction of the payout's move, and never changed.

    A payment needs no row here: its columns in the checkout's row are stored once and never changed.
    """

    __tablename__ = "paycheckout_booking"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        keep(cls)

    @declared_attr.directive
    def __table_args__(cls) -> tuple[Any, ...]:  # noqa: N805 - it is a class
        return (
            # A service reference is sent once and returned once, so the database itself refuses a second booking.
            UniqueConstraint("service_reference", "kind", name="uq_paycheckout_booking_once"),
            # For exports, oldest first, of all accounts or of one.
            Index("ix_paycheckout_booking_time", "booked_at", "id"),
            Index("ix_paycheckout_booking_account", "account", "booked_at", "id"),
        )

    if TYPE_CHECKING:
        __table__: ClassVar[FromClause]

    id: Mapped[int] = mapped_column(ROW_ID, primary_key=True)
    booked_at: Mapped[datetime] = mapped_column(MOMENT)
    """The time of the payout's move, as aware UTC."""

    kind: Mapped[str] = mapped_column(String(16))
    """The kind of movement: `payout`, `refund`, `payout_returned` or `refund_returned`."""

    reference: Mapped[str] = mapped_column(String(MAX_ID), index=True)
    """The payout's reference."""

    service_reference: Mapped[str] = mapped_column(String(64))
    """The reference that the service was given for it."""

    disbursement_id: Mapped[str | None] = mapped_column(String(MAX_ID))
    """The service's id, as far as it was known then."""

    account: Mapped[str] = mapped_column(String(MAX_ID))
    """The name of the merchant account; empty for the one of the settings."""

    order_id: Mapped[str | None] = mapped_column(String(MAX_ID))
    checkout_id: Mapped[str | None] = mapped_column(String(MAX_ID))
    """The id of the checkout whose money a refund pays back."""

    exact_amount: Mapped[str] = mapped_column("amount", String(64))
    """The amount, without a sign, as exact text."""

    currency: Mapped[str] = mapped_column(String(72))

    @property
    def amount(self) -> Decimal:
        """The amount, exactly and without a sign."""
        return Decimal(self.exact_amount)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.kind} {self.reference!r}: {self.exact_amount} {self.currency}>"
