"""Tables of disbursements of both kinds, and of where their money goes."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from flask_paycheckout.sandbox.world.database import AccountId, Serial, Table, ordered_text

FIAT = "fiat"
CRYPTO = "crypto"

PENDING = "pending"
COMPLETED = "completed"
FAILED = "failed"
STATUSES = (PENDING, FAILED, COMPLETED)
MAX_NOTE = 500
"""The most characters of a note."""


def _listing(*filtered: str) -> list[Index]:
    """Indexes for both orders of a list: the filtered columns, the time, and the number, which is unique."""
    name = "_".join(("ix_disbursement", *(column[:3] for column in filtered)))
    times = ("created_at", "updated_at")
    return [Index(f"{name}_{time[:3]}", "user_id", "kind", *filtered, time, "number") for time in times]


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
    reference: Mapped[str | None] = mapped_column(ordered_text())
    # With its length, or PostgreSQL would rather sort what an index has in order.
    note: Mapped[str | None] = mapped_column(String(MAX_NOTE))
    status: Mapped[str]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    __table_args__ = (
        UniqueConstraint("user_id", "kind", "reference"),
        # For finding what has been pending long enough.
        Index("ix_disbursement_due", "status", "created_at", "number"),
        *_listing(),
        *_listing("status"),
        *_listing("currency"),
        *_listing("currency", "status"),
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
