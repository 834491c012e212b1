"""The table of deposits, their instructions for paying, and their record."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.checkouts.endpoints import Checkout
from flask_paycheckout.sandbox.checkouts.methods import BANK_TRANSFER, CRYPTO, METHODS, QR, PaymentMethod
from flask_paycheckout.sandbox.wire.envelope import Record, Timestamp, words_unless
from flask_paycheckout.sandbox.wire.field_types import choice
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.database import Table
from flask_paycheckout.sandbox.world.money import EXACT, rounded
from flask_paycheckout.sandbox.world.settings import derived
from flask_paycheckout.sandbox.world.transitions import COMPLETED, PENDING, histories_of

KNOWN_STATUSES = (PENDING, COMPLETED, "failed", "rejected", "expired", "cancelled")


class Deposit(Table):
    __tablename__ = "deposit"

    id: Mapped[str] = mapped_column(ForeignKey(Checkout.id, ondelete="CASCADE"), primary_key=True)
    """Equals the checkout's id."""
    reference: Mapped[str | None]
    """A second identifier for reads. No operation of the interface sets one; the control interface can."""
    user_id: Mapped[str]
    method: Mapped[str]
    input_currency: Mapped[str]
    output_currency: Mapped[str]
    input_amount: Mapped[Decimal]
    output_amount: Mapped[Decimal]
    fee_amount: Mapped[Decimal]
    rate: Mapped[Decimal]
    status: Mapped[str]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    expired_at: Mapped[datetime]

    __table_args__ = (
        # For expiring due deposits, which every read does first.
        Index("deposit_due", "status", "expired_at"),
        # Begins with the reference, because deposits are looked up by it alone.
        UniqueConstraint("reference", "user_id"),
    )

    @property
    def paid_by(self) -> PaymentMethod:
        return METHODS[self.method]

    @property
    def token(self) -> str | None:
        """The id of the token that is sent on the chain; None unless the method is a wallet."""
        return self.paid_by.token

    @property
    def token_amount(self) -> Decimal:
        return rounded(EXACT.multiply(self.input_amount, self.paid_by.token_rate), self.token or self.input_currency)

    @property
    def network(self) -> str:
        return (self.token or "").partition("-")[2]

    @property
    def address(self) -> str:
        return f"sandbox-{self.network}-{derived(f'address:{self.id}', 16)}"

    @property
    def qr_data(self) -> str:
        """The text of the code to scan; empty for a bank transfer, which has none."""
        if self.token is not None:
            return f"{self.address}?amount={self.token_amount:f}"
        is_qr = self.paid_by.group == QR
        return f"SANDBOX-PAY|{self.method}|{self.id}|{self.input_currency}|{self.input_amount:f}" if is_qr else ""


def account_number(deposit_id: str) -> str:
    """The bank account number of a deposit. Each has its own, so the transfer needs no reference."""
    return str(int(derived(f"account:{deposit_id}", 6), 16)).rjust(15, "0")


class DepositActivityRecord(Record):
    activity: str
    description: str
    status: str
    updated_at: Timestamp


class DepositFee(Record):
    amount: Decimal
    percentage: Decimal
    currency: str


class PaymentFiat(Record):
    """Where to pay through a bank."""

    bank_code: str
    bank_name: str
    qr_data: str


class PaymentCrypto(Record):
    """Where to pay over a chain. The interface names none of its fields: the unknown `payment_crypto` fills them."""

    token: str | None = None
    network: str | None = None
    address: str | None = None
    amount: Decimal | None = None
    wallet_address: str | None = None
    blockchain: str | None = None


class ExchangeInfo(Record):
    exchange_rate: Decimal
    output_currency: str
    output_amount: Decimal


class DepositRecord(Record):
    deposit_id: str
    deposit_type: Annotated[str, choice("checkout", BANK_TRANSFER, QR, CRYPTO)]
    user_id: str
    input_currency: str
    input_amount: Decimal
    output_currency: str
    output_amount: Decimal
    fee: DepositFee
    status: Annotated[str, words_unless("forced_status", "any", *KNOWN_STATUSES)]
    activity_history: list[DepositActivityRecord]
    exchange_info: ExchangeInfo
    created_at: Timestamp
    updated_at: Timestamp
    expired_at: Timestamp
    payment_fiat: PaymentFiat | None = None
    payment_crypto: PaymentCrypto | None = None


def represent(session: Session, deposit: Deposit) -> DepositRecord:
    """Convert a deposit and its history to its record."""
    method = deposit.paid_by
    bank = PaymentFiat(method.code, f"Sandbox Bank ({method.name})", deposit.qr_data)
    is_crypto = method.group == CRYPTO
    return DepositRecord.of(
        deposit,
        deposit_id=deposit.id,
        deposit_type="checkout" if assumption("deposit_type") == "checkout" else method.group,
        fee=DepositFee(deposit.fee_amount, method.percent_fee_amount, deposit.input_currency),
        activity_history=[DepositActivityRecord.of(entry) for entry in histories_of(session, [deposit.id])[deposit.id]],
        exchange_info=ExchangeInfo.of(deposit, exchange_rate=deposit.rate),
        payment_fiat=None if is_crypto else bank,
        payment_crypto=_crypto(deposit) if is_crypto else None,
    )


def _crypto(deposit: Deposit) -> PaymentCrypto:
    match assumption("payment_crypto"):
        case "empty":
            return PaymentCrypto()
        case "wallet":
            return PaymentCrypto(wallet_address=deposit.address, blockchain=deposit.network)
    return PaymentCrypto(deposit.token, deposit.network, deposit.address, deposit.token_amount)
