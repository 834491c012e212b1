"""Deposits: the payments behind checkouts."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, Unpack

from flask_paycheckout.client.awaited import W
from flask_paycheckout.client.records import GIVEN, Activity, DepositStatus, Record
from flask_paycheckout.client.resource import Resource, method
from flask_paycheckout.client.sending import Operation
from flask_paycheckout.client.waiting import CallOptions

_MAX_NAME = 500


class Fee(Record, frozen=True):
    """The costs of the payment method.

    :ivar amount: in `currency`.
    :ivar percentage: percent of the amount, as the service gives it.
    """

    amount: Decimal = GIVEN
    percentage: Decimal = GIVEN
    currency: str = GIVEN


class PaymentFiat(Record, frozen=True):
    """Where the customer pays by bank: bank code and name, and the text of the QR code."""

    bank_code: str = GIVEN
    bank_name: str = GIVEN
    qr_data: str = GIVEN


class ExchangeInfo(Record, frozen=True):
    """The conversion of a deposit: `output_amount` in `output_currency` at `exchange_rate`."""

    exchange_rate: Decimal = GIVEN
    output_currency: str = GIVEN
    output_amount: Decimal = GIVEN


class Deposit(Record, frozen=True):
    """A payment as the service sees it. It exists once the customer has picked a payment method.

    :ivar deposit_id: equals the checkout id for a checkout's deposit. A read by reference may give another deposit
        than the one meant: compare it.
    :ivar status: `pending` or `completed`; the interface shows no others.
    :ivar input_amount: what the customer pays, in `input_currency`.
    :ivar output_amount: what the shop receives, in `output_currency`.
    :ivar payment_crypto: where the customer pays by token, as the service gives it; its content is not shown.
    """

    deposit_id: str
    status: str
    deposit_type: str = GIVEN
    user_id: str = GIVEN
    input_currency: str = GIVEN
    output_currency: str = GIVEN
    input_amount: Decimal = GIVEN
    output_amount: Decimal = GIVEN
    fee: Fee = GIVEN
    payment_fiat: PaymentFiat | None = None
    payment_crypto: dict[str, Any] | None = None
    activity_history: tuple[Activity, ...] = ()
    exchange_info: ExchangeInfo = GIVEN
    created_at: datetime = GIVEN
    updated_at: datetime = GIVEN
    expired_at: datetime = GIVEN

    def __post_init__(self) -> None:
        # Both are stored and shown wherever payments are; nothing this long is an id or a status.
        if max(len(self.deposit_id), len(self.status)) > _MAX_NAME:
            raise ValueError(f"the deposit's id or status is longer than {_MAX_NAME} characters")


_GET = Operation("GET", "/v1/deposit/{id}", Deposit)
# Setting a status twice is harmless in itself, but every update sends a webhook: it is sent once.
_SANDBOX_UPDATE = Operation("PATCH", "/v1/deposit/{id}", Deposit, may_move_money=True)


class Deposits(Resource[W]):
    """`client.deposits`. A checkout's deposit has the checkout's id, from the moment that the customer picks a method.

    >>> link = client.checkouts.create(Pay("12.50", "USD"))
    >>> picked = sandbox.post(f"checkouts/{link.id}/pick", json={})  # on the hosted page, where it is a real customer
    >>> deposit = client.deposits.get(link.id)
    >>> print(deposit.status, deposit.input_amount, deposit.input_currency)
    pending 12.50 USD
    >>> client.deposits.sandbox_update(link.id, "completed").status
    'completed'
    """

    @method
    async def get(self, deposit_id_or_reference: str, **options: Unpack[CallOptions]) -> Deposit:
        """The deposit as it is now.

        :raises NotFound: there is none; for a checkout id, the customer has not picked a payment method (yet).
        :raises ValueError: the id cannot be one.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.record(_GET, requested_id=deposit_id_or_reference)

    @method
    async def sandbox_update(
        self, deposit_id: str, status: DepositStatus | str, **options: Unpack[CallOptions]
    ) -> Deposit:
        """Sets a deposit's status; the service's sandbox only, which also sends the webhook. Never sent twice.

        :raises Invalid: no payment method was picked yet.
        :raises OutcomeUnknown: the answer was lost; `get` tells whether the status was set.
        :raises ValueError: the id cannot be one.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.record(
            _SANDBOX_UPDATE, requested_id=deposit_id, body={"status": status}, references=(deposit_id,)
        )
