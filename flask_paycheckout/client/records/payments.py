"""Records of the deprecated payments."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import msgspec

from flask_paycheckout.client.hidden import AccountNumber, Hidden
from flask_paycheckout.client.records.record import PaymentStatus, PaymentType, Record

__all__ = ["Payment", "PaymentActivity", "PaymentReceiver", "PaymentSender", "Quote"]


class PaymentSender(Record, frozen=True, rename="camel"):
    """The payer, who pays in crypto from a wallet."""

    id: str | None = None
    name: str | None = None
    email: str | None = None
    wallet_address: str | None = None


class PaymentReceiver(Record, frozen=True, rename="camel"):
    """The payee with a bank account. A list gives `bank_name`; a detail and a create the codes instead."""

    id: str | None = None
    name: str | None = None
    email: str | None = None
    account_number: AccountNumber | None = None
    bank_name: str | None = None
    ifsc: str | None = None
    ach_number: str | None = None
    fedwire_number: str | None = None
    iban_number: Hidden | None = None


class PaymentActivity(Record, frozen=True, rename="camel"):
    """One step in a payment's history."""

    activity: str | None = None
    status: str | None = None
    description: str | None = None
    id: str | None = msgspec.field(default=None, name="_id")
    updated_at: datetime | None = None


class Payment(Record, frozen=True, rename="camel"):
    """A payment as the service sees it.

    :ivar payment_type: `onramp` or `offramp`.
    :ivar input_amount: in `input_currency`; `input_amount_exact` is the same unrounded.
    :ivar output_amount: in `output_currency`; `output_amount_exact` is the same unrounded.
    :ivar status: `pending`, `processed`, `completed` or `failed`.
    :ivar transaction_hash: in details and creates only, like `activity_history`; None until there is one.
    :ivar pay_out_wallet: where the sender's crypto goes.
    """

    payment_id: str
    status: PaymentStatus | str
    id: str | None = None
    payment_type: PaymentType | str | None = None
    sender: PaymentSender | None = None
    receiver: PaymentReceiver | None = None
    input_amount: Decimal | None = None
    input_amount_exact: Decimal | None = None
    input_currency: str | None = None
    output_currency: str | None = None
    output_amount: Decimal | None = None
    output_amount_exact: Decimal | None = None
    exchange_fees: Decimal | None = None
    platform_fees: Decimal | None = None
    reason: str | None = None
    description: str | None = None
    organization_id: str | None = None
    organization_name: str | None = None
    transaction_hash: str | None = None
    blockchain: str | None = None
    pay_out_wallet: str | None = None
    expired_date: datetime | None = None
    activity_history: tuple[PaymentActivity, ...] = ()
    created_at: datetime | None = None
    updated_at: datetime | None = None

    def __post_init__(self) -> None:
        # Whether it is null or empty before that is not shown.
        if not self.transaction_hash:
            msgspec.structs.force_setattr(self, "transaction_hash", None)


class Quote(Record, frozen=True):
    """The costs of a payment and the amount that arrives; the names are the service's own.

    :ivar coin: what is paid in.
    :ivar amount: in `coin`.
    :ivar currency: what is received in; every `..._in_currency` is in it.
    """

    status: bool | None = None
    coin: str | None = None
    currency: str | None = None
    amount: Decimal | None = None
    rate_amount: Decimal | None = None
    amount_in_currency: Decimal | None = None
    total_fee_percentage: Decimal | None = None
    total_fee_amount: Decimal | None = None
    total_fee_amount_in_currency: Decimal | None = None
    total_received_amount: Decimal | None = None
    total_received_amount_in_currency: Decimal | None = None
    payout_wallet: str | None = None
