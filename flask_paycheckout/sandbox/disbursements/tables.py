"""The table of disbursements of both kinds."""

from __future__ import annotations

from decimal import Decimal

from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import Mapped

from flask_paycheckout.sandbox.world.database import Made
from flask_paycheckout.sandbox.world.transitions import COMPLETED, FAILED, PENDING

FIAT = "fiat"
CRYPTO = "crypto"

STATUSES = (PENDING, FAILED, COMPLETED)


class Disbursement(Made):
    """One payment to a recipient. Disbursements of one request share a group, and are numbered in its order."""

    __tablename__ = "disbursement"

    kind: Mapped[str]
    group_id: Mapped[str | None]
    """None when created by the first version of the operation, which has no groups."""
    currency: Mapped[str]
    """A fiat code, or a token id."""
    amount: Mapped[Decimal]
    fee_amount: Mapped[Decimal]
    fee_percentage: Mapped[Decimal]
    reference: Mapped[str | None]
    note: Mapped[str | None]
    recipient_id: Mapped[str | None]
    """None for a recipient that was given in the request. Later changes of a saved one do not change these columns."""
    email: Mapped[str | None]
    name: Mapped[str | None]
    bank_name: Mapped[str | None]
    account_name: Mapped[str | None]
    account_number: Mapped[str | None]
    bank_code: Mapped[str | None]
    country: Mapped[str | None]
    """All of these are None for a transfer of tokens; the following four are None for a bank transfer."""
    sender_address: Mapped[str | None]
    receiver_address: Mapped[str | None]
    fee_flat: Mapped[Decimal | None]
    fee_network: Mapped[Decimal | None]
    status: Mapped[str]

    __table_args__ = (
        UniqueConstraint("user_id", "kind", "reference"),
        # For finding disbursements that have been pending long enough.
        Index("ix_disbursement_due", "status", "created_at", "number"),
    )

    @property
    def to(self) -> str | None:
        """The id of a saved recipient, the account number of another one, or the address of a wallet."""
        return self.receiver_address or self.recipient_id or self.account_number

    @property
    def payee(self) -> tuple[str | None, ...]:
        """Equal for two disbursements to one payee, even if its name and address have changed since."""
        if self.receiver_address is not None:
            # The case of an EVM address is its checksum only; a Stellar address has one case.
            return (self.receiver_address.lower(),)
        return (self.recipient_id,) if self.recipient_id else (self.bank_code, self.account_number)
