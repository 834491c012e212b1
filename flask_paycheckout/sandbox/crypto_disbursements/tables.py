"""Where it is kept which wallets a crypto disbursement moved tokens between."""

from __future__ import annotations

from decimal import Decimal

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.world.database import Table

#: The longest address that a chain has, and some room.
MAX_ADDRESS = 100


class WalletTransfer(Table):
    __tablename__ = "wallet_transfer"

    disbursement_id: Mapped[str] = mapped_column(ForeignKey(Disbursement.id), primary_key=True)
    sender_address: Mapped[str] = mapped_column(String(MAX_ADDRESS))
    receiver_address: Mapped[str] = mapped_column(String(MAX_ADDRESS))
    fee_flat: Mapped[Decimal]
    fee_network: Mapped[Decimal]
    """As charged at the time; the percentage is the disbursement's."""
