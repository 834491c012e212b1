"""Records of deposits: the payment behind a checkout.

Only `deposit_id` and `status` are certain. Every other field is None when the answer leaves it out or holds another
kind of value there; an amount is a `Decimal` only where the answer holds a JSON number.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from flask_paycheckout.client.records.record import Activity, DepositStatus, Record

__all__ = ["Deposit", "ExchangeInfo", "Fee", "PaymentFiat"]


_MAX_NAME = 500


class Fee(Record, frozen=True, rename="camel"):
    """The costs of the payment method.

    :ivar amount: in `currency`.
    :ivar percentage: percent of the amount, as the service gives it.
    """

    amount: Decimal | None = None
    percentage: Decimal | None = None
    currency: str | None = None


class PaymentFiat(Record, frozen=True, rename="camel"):
    """Where the customer pays by bank: bank code and name, and the text of the QR code."""

    bank_code: str | None = None
    bank_name: str | None = None
    qr_data: str | None = None


class ExchangeInfo(Record, frozen=True, rename="camel"):
    """The conversion of a deposit: `output_amount` in `output_currency` at `exchange_rate`."""

    exchange_rate: Decimal | None = None
    output_currency: str | None = None
    output_amount: Decimal | None = None


class Deposit(Record, frozen=True, rename="camel"):
    """A payment as the service sees it. It exists once the customer has picked a payment method.

    :ivar deposit_id: equals the checkout id for a checkout's deposit. A read by reference may give another deposit
        than the one meant: compare it.
    :ivar status: `pending` or `completed`; the interface shows no others.
    :ivar input_amount: what the customer pays, in `input_currency`.
    :ivar output_amount: what the shop receives, in `output_currency`.
    :ivar payment_crypto: where the customer pays by token, as the service gives it; its content is not shown.
    """

    deposit_id: str
    status: DepositStatus | str
    deposit_type: str | None = None
    user_id: str | None = None
    input_currency: str | None = None
    output_currency: str | None = None
    input_amount: Decimal | None = None
    output_amount: Decimal | None = None
    fee: Fee | None = None
    payment_fiat: PaymentFiat | None = None
    payment_crypto: dict[str, Any] | None = None
    activity_history: tuple[Activity, ...] = ()
    exchange_info: ExchangeInfo | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    expired_at: datetime | None = None

    def __post_init__(self) -> None:
        # Both are stored and shown wherever payments are; nothing this long is an id or a status.
        if max(len(self.deposit_id), len(self.status)) > _MAX_NAME:
            raise ValueError(f"the deposit's id or status is longer than {_MAX_NAME} characters")
