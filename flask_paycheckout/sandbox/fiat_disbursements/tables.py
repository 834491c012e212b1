"""The table of recipients whom fiat disbursements were sent to."""

from __future__ import annotations

from sqlalchemy import ForeignKey, Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.world.database import Table, ordered_text


class BankTransfer(Table):
    """A copy of the recipient from the time of the disbursement, which later changes and deletion do not affect."""

    __tablename__ = "bank_transfer"

    disbursement_id: Mapped[str] = mapped_column(ForeignKey(Disbursement.id), primary_key=True)
    recipient_id: Mapped[str | None] = mapped_column(String(24))
    """None when the recipient was given in the request."""
    email: Mapped[str | None] = mapped_column(ordered_text())
    name: Mapped[str | None] = mapped_column(Text)
    bank_name: Mapped[str] = mapped_column(Text)
    account_name: Mapped[str] = mapped_column(Text)
    account_number: Mapped[str | None] = mapped_column(Text)
    bank_code: Mapped[str] = mapped_column(String(40))
    country: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (
        # For finding it by its recipient.
        Index("bank_transfer_by_recipient", "recipient_id"),
        Index("bank_transfer_by_email", text("lower(email)")),
    )
