"""Request and records of a deposit."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.checkouts.tables import CRYPTO, QR, PaymentMethod
from flask_paycheckout.sandbox.deposits.tables import MAX_STATUS, Deposit, DepositActivity
from flask_paycheckout.sandbox.money.currencies import EXACT, unit_of
from flask_paycheckout.sandbox.wire.field_types import Text
from flask_paycheckout.sandbox.wire.schemas import Record, Timestamp
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.ids import derived


@dataclass(frozen=True)
class Instructions:
    """Instructions for the chosen method; the fields are columns of the deposit."""

    bank_code: str | None = None
    bank_name: str | None = None
    qr_data: str | None = None
    token: str | None = None
    token_amount: Decimal | None = None
    address: str | None = None


def instructions(method: PaymentMethod, deposit_id: str, amount: Decimal) -> Instructions:
    """Return the instructions for paying a deposit by a method."""
    if method.group == CRYPTO and method.token is not None:
        return _chain(method, method.token, deposit_id, amount)
    qr_data = f"SANDBOX-PAY|{method.code}|{deposit_id}|{method.currency}|{amount:f}" if method.group == QR else ""
    return Instructions(bank_code=method.code, bank_name=f"Sandbox Bank ({method.name})", qr_data=qr_data)


def account_number(deposit_id: str) -> str:
    """The bank account number of a deposit. Each has its own, so the transfer needs no reference."""
    return str(int(derived(f"account:{deposit_id}", 6), 16)).rjust(15, "0")


def _chain(method: PaymentMethod, token: str, deposit_id: str, amount: Decimal) -> Instructions:
    exact = EXACT.multiply(amount, method.token_rate or Decimal(1))
    token_amount = exact.quantize(unit_of(token), rounding=ROUND_UP, context=EXACT)
    address = f"sandbox-{network_of(token)}-{derived(f'address:{deposit_id}', 16)}"
    return Instructions(
        token=token, token_amount=token_amount, address=address, qr_data=f"{address}?amount={token_amount:f}"
    )


def network_of(token: str) -> str:
    return token.partition("-")[2]


@dataclass(frozen=True)
class StatusUpdate:
    """The body of the sandbox update."""

    status: Annotated[str, Text(MAX_STATUS)]


class DepositActivityRecord(Record, frozen=True):
    activity: str
    description: str
    status: str
    updated_at: Timestamp


class DepositFee(Record, frozen=True):
    amount: Decimal
    percentage: Decimal
    currency: str


class PaymentFiat(Record, frozen=True):
    """Where to pay through a bank."""

    bank_code: str
    bank_name: str
    qr_data: str


class PaymentCrypto(Record, frozen=True):
    """Where to pay over a chain. The interface names none of its fields: the unknown `payment_crypto` fills them."""

    token: str | None = None
    network: str | None = None
    address: str | None = None
    amount: Decimal | None = None
    wallet_address: str | None = None
    blockchain: str | None = None


class ExchangeInfo(Record, frozen=True):
    exchange_rate: Decimal
    output_currency: str
    output_amount: Decimal


class DepositRecord(Record, frozen=True):
    deposit_id: str
    deposit_type: str
    user_id: str
    input_currency: str
    input_amount: Decimal
    output_currency: str
    output_amount: Decimal
    fee: DepositFee
    status: str
    activity_history: list[DepositActivityRecord]
    exchange_info: ExchangeInfo
    created_at: Timestamp
    updated_at: Timestamp
    expired_at: Timestamp
    payment_fiat: PaymentFiat | None = None
    payment_crypto: PaymentCrypto | None = None


def represent(session: Session, deposit: Deposit) -> DepositRecord:
    """Convert a deposit and its history to its record."""
    moves = select(
        DepositActivity.activity, DepositActivity.description, DepositActivity.status, DepositActivity.updated_at
    )
    history = session.execute(moves.where(DepositActivity.deposit_id == deposit.id).order_by(DepositActivity.number))
    return DepositRecord(
        deposit_id=deposit.id,
        deposit_type=_type_of(session, deposit),
        user_id=deposit.user_id,
        input_currency=deposit.input_currency,
        input_amount=deposit.input_amount,
        output_currency=deposit.output_currency,
        output_amount=deposit.output_amount,
        fee=DepositFee(deposit.fee_amount, deposit.fee_percentage, deposit.input_currency),
        status=deposit.status,
        activity_history=[DepositActivityRecord(*moved) for moved in history],
        exchange_info=ExchangeInfo(deposit.rate, deposit.output_currency, deposit.output_amount),
        created_at=deposit.created_at,
        updated_at=deposit.updated_at,
        expired_at=deposit.expired_at,
        payment_fiat=_fiat(deposit),
        payment_crypto=_crypto(deposit),
    )


def _type_of(session: Session, deposit: Deposit) -> str:
    if assumption("deposit_type") == "checkout":
        return "checkout"
    return session.get_one(PaymentMethod, deposit.method).group


def _fiat(deposit: Deposit) -> PaymentFiat | None:
    if deposit.bank_code is None:
        return None
    return PaymentFiat(deposit.bank_code, deposit.bank_name or "", deposit.qr_data or "")


def _crypto(deposit: Deposit) -> PaymentCrypto | None:
    if deposit.token is None or deposit.token_amount is None:
        return None
    network, address = network_of(deposit.token), deposit.address or ""
    match assumption("payment_crypto"):
        case "empty":
            return PaymentCrypto()
        case "wallet":
            return PaymentCrypto(wallet_address=address, blockchain=network)
    return PaymentCrypto(deposit.token, network, address, deposit.token_amount)
