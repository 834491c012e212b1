"""Requests and records of quotes and payments."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, TypeVar

import msgspec
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.disbursements.addresses import WalletAddress
from flask_paycheckout.sandbox.payments.tables import OFFRAMP, ONRAMP, STATUSES, Payment
from flask_paycheckout.sandbox.references.data import CURRENCIES
from flask_paycheckout.sandbox.wire.envelope import Record, Timestamp
from flask_paycheckout.sandbox.wire.field_types import (
    Amount,
    Email,
    Flag,
    LongText,
    Number,
    Request,
    Text,
    TokenId,
    checked,
    choice,
)
from flask_paycheckout.sandbox.wire.paging import PageQuery
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.money import TOKENS_BY_ID
from flask_paycheckout.sandbox.world.settings import derived
from flask_paycheckout.sandbox.world.transitions import histories_of

_CURRENCIES = sorted(CURRENCIES)
ExchangedCurrency = Annotated[
    str, checked("the code of a currency of the reference list", CURRENCIES.__contains__, enum=_CURRENCIES)
]
ExchangedCode = Annotated[
    str,
    checked(
        "the code of a currency or token of the reference lists",
        (CURRENCIES | TOKENS_BY_ID.keys()).__contains__,
        enum=[*TOKENS_BY_ID, *_CURRENCIES],
    ),
]
PaymentStatus = Annotated[str, choice(*STATUSES)]
PaymentType = Annotated[str, choice(OFFRAMP, ONRAMP)]


class QuoteQuery(Request):
    """The query of a quote."""

    amount: Amount
    input_currency: TokenId
    output_currency: ExchangedCurrency
    with_limit: Flag | None = None


class PaymentQuery(PageQuery):
    """The query of the list of payments; filters are combined with AND.

    `search` matches any part of a name or e-mail address of sender or receiver, `receiverName` the whole name; both
    ignore case. Bounds of amounts are inclusive.
    """

    search: Text | None = None
    status: PaymentStatus | None = None
    reason: LongText | None = None
    min_input_amount: Number | None = None
    max_input_amount: Number | None = None
    min_output_amount: Number | None = None
    max_output_amount: Number | None = None
    organization_id: Text | None = None
    organization_name: Text | None = None
    blockchain: Text | None = None
    receiver_name: Text | None = None


class NewPayment(Request):
    """The body of `POST /v2/payment`."""

    wallet_address: WalletAddress
    input_amount: Amount
    sender_name: Text
    sender_email: Email
    receiver_id: Text
    input_currency: ExchangedCode
    output_currency: ExchangedCode
    reason: LongText | None = None
    description: LongText | None = None
    us_network: Annotated[str, choice("ach", "wire")] | None = None


class Quote(Record, rename="lower"):
    status: bool
    coin: str
    currency: str
    amount: Decimal
    rate_amount: Decimal
    amount_in_currency: Decimal
    total_fee_percentage: Decimal
    total_fee_amount: Decimal
    total_fee_amount_in_currency: Decimal
    total_received_amount: Decimal
    total_received_amount_in_currency: Decimal
    payout_wallet: str


class PaymentSender(Record):
    id: str
    name: str
    email: str
    wallet_address: str


class _Receiver(Record):
    """Fields that lists and details share."""

    id: str
    name: str
    email: str
    account_number: str | None = None


class PaymentReceiver(_Receiver):
    """A receiver in a list."""

    bank_name: str | None = None


class DetailedPaymentReceiver(_Receiver):
    """A receiver in the detail of a payment."""

    ifsc: str | None = None
    ach_number: str | None = None
    fedwire_number: str | None = None
    iban_number: str | None = None


class PaymentActivityRecord(Record):
    activity: str
    status: str
    description: str
    own_id: str = msgspec.field(name="_id")
    updated_at: Timestamp


class _Payment(Record, kw_only=True):
    """Fields that lists and details share."""

    id: str
    payment_id: str
    payment_type: PaymentType
    sender: PaymentSender
    input_amount: Decimal
    input_amount_exact: Decimal
    input_currency: str
    output_currency: str
    output_amount: Decimal
    output_amount_exact: Decimal
    exchange_fees: Decimal
    platform_fees: Decimal
    reason: str | None = None
    description: str | None = None
    status: PaymentStatus
    organization_id: str
    organization_name: str
    blockchain: str
    pay_out_wallet: str
    expired_date: Timestamp
    created_at: Timestamp
    updated_at: Timestamp


class PaymentRecord(_Payment, kw_only=True):
    receiver: PaymentReceiver


class DetailedPayment(_Payment, kw_only=True):
    receiver: DetailedPaymentReceiver
    transaction_hash: str | None
    """Empty, or null, until the crypto asset was received."""
    activity_history: list[PaymentActivityRecord]


def represent(payment: Payment) -> PaymentRecord:
    """Convert a payment to its record in a list."""
    return _record(PaymentRecord, PaymentReceiver, payment)


def represent_detail(session: Session, payment: Payment) -> DetailedPayment:
    """Convert a payment and its history to the record of its detail."""
    history = histories_of(session, [payment.id])[payment.id]
    return _record(
        *(DetailedPayment, DetailedPaymentReceiver, payment),
        transaction_hash=payment.transaction_hash or ("" if assumption("transaction_hash") == "empty" else None),
        activity_history=[
            PaymentActivityRecord.of(entry, own_id=derived(f"activity:{entry.number}")) for entry in history
        ],
    )


Kind = TypeVar("Kind", bound=_Payment)


def _record(kind: type[Kind], receiver: type[_Receiver], payment: Payment, **given: Any) -> Kind:
    return kind.of(
        payment,
        payment_id=payment.id,
        sender=PaymentSender(**payment.sender),
        receiver=receiver(**{name: payment.receiver[name] for name in receiver.__struct_fields__}),
        input_amount_exact=payment.input_amount,
        pay_out_wallet=payment.payout_wallet,
        expired_date=payment.expired_at,
        **given,
    )
