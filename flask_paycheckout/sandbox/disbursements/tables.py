"""Tables of disbursements of both kinds, and of where their money goes."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from flask_paycheckout.sandbox.world.database import AccountId, Serial, Table

FIAT = "fiat"
CRYPTO = "crypto"

PENDING = "pending"
COMPLETED = "completed"
FAILED = "failed"
STATUSES = (PENDING, FAILED, COMPLETED)


class Disbursement(Table):
    """One payment to a recipient. Those of one request share a group."""

    __tablename__ = "disbursement"

    number: Mapped[Serial]
    """Ascending in the order of the request's items."""
    id: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    user_id: Mapped[AccountId]
    group_id: Mapped[str | None]
    """None when created by the first version of the operation, which has no groups."""
    currency: Mapped[str]
    """A fiat code, or a token id."""
    amount: Mapped[Decimal]
    fee_amount: Mapped[Decimal]
    fee_percentage: Mapped[Decimal]
    reference: Mapped[str | None]
    note: Mapped[str | None]
    status: Mapped[str]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    __table_args__ = (
        UniqueConstraint("user_id", "kind", "reference"),
        # For finding what has been pending long enough.
        Index("ix_disbursement_due", "status", "created_at", "number"),
        Index("ix_disbursement_list", "user_id", "kind", "created_at", "number"),
    )


class BankTransfer(Table):
    """A copy of the recipient from the time of the disbursement, which later changes and deletion do not affect."""

    __tablename__ = "bank_transfer"

    disbursement_id: Mapped[str] = mapped_column(ForeignKey(Disbursement.id), primary_key=True)
    recipient_id: Mapped[str | None]
    """None when the recipient was given in the request."""
    email: Mapped[str | None]
    name: Mapped[str | None]
    bank_name: Mapped[str]
    account_name: Mapped[str]
    account_number: Mapped[str | None]
    bank_code: Mapped[str]
    country: Mapped[str | None]

    def goes_where(self, other: BankTransfer) -> bool:
        """Whether both go to one payee, whose name and address may have changed since."""
        if self.recipient_id is not None or other.recipient_id is not None:
            return self.recipient_id == other.recipient_id
        return (self.bank_code, self.account_number) == (other.bank_code, other.account_number)


class WalletTransfer(Table):
    """The wallets between which a crypto disbursement moved tokens."""

    __tablename__ = "wallet_transfer"

    disbursement_id: Mapped[str] = mapped_column(ForeignKey(Disbursement.id), primary_key=True)
    sender_address: Mapped[str]
    receiver_address: Mapped[str]
    fee_flat: Mapped[Decimal]
    fee_network: Mapped[Decimal]
    """Both as charged at creation; the percentage is stored with the disbursement."""

    def goes_where(self, other: WalletTransfer) -> bool:
        """Whether both go to one wallet."""
        # The case of an EVM address is its checksum only; a Stellar address has one case.
        return self.receiver_address.lower() == other.receiver_address.lower()
