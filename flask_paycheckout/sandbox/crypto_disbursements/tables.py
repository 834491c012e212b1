"""The table of wallets between which a crypto disbursement moved tokens."""

from __future__ import annotations

from decimal import Decimal

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.world.database import Table

MAX_ADDRESS = 100
"""Longer than the addresses of every supported chain."""


class WalletTransfer(Table):
    __tablename__ = "wallet_transfer"

    disbursement_id: Mapped[str] = mapped_column(ForeignKey(Disbursement.id), primary_key=True)
    sender_address: Mapped[str] = mapped_column(String(MAX_ADDRESS))
    receiver_address: Mapped[str] = mapped_column(String(MAX_ADDRESS))
    fee_flat: Mapped[Decimal]
    fee_network: Mapped[Decimal]
    """Both as charged at creation; the percentage is stored with the disbursement."""
