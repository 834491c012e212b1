"""Where it is kept whom a fiat disbursement went to."""

from __future__ import annotations

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.world.database import Table


class BankTransfer(Table):
    """The recipient as it was when the disbursement was made: changing or deleting one leaves the past alone."""

    __tablename__ = "bank_transfer"

    disbursement_id: Mapped[str] = mapped_column(ForeignKey(Disbursement.id), primary_key=True)
    recipient_id: Mapped[str | None] = mapped_column(String(24))
    """None for a recipient that was given with the request."""
    email: Mapped[str | None] = mapped_column(Text)
    name: Mapped[str | None] = mapped_column(Text)
    bank_name: Mapped[str] = mapped_column(Text)
    account_name: Mapped[str] = mapped_column(Text)
    account_number: Mapped[str | None] = mapped_column(Text)
    bank_code: Mapped[str] = mapped_column(String(40))
    country: Mapped[str | None] = mapped_column(Text)
