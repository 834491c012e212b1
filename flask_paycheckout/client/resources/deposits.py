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

    :ivar amount: the fee in `currency`.
    :ivar percentage: the fee in percent of the amount, as the service reports it.
    """

    amount: Decimal = GIVEN
    percentage: Decimal = GIVEN
    currency: str = GIVEN


class PaymentFiat(Record, frozen=True):
    """The bank that the customer pays through: its code and name, and the text of the QR code."""

    bank_code: str = GIVEN
    bank_name: str = GIVEN
    qr_data: str = GIVEN


class ExchangeInfo(Record, frozen=True):
    """The conversion of a deposit: `output_amount` in `output_currency` at `exchange_rate`."""

    exchange_rate: Decimal = GIVEN
    output_currency: str = GIVEN
    output_amount: Decimal = GIVEN


class Deposit(Record, frozen=True):
    """A payment in the service. It exists once the customer has picked a payment method.

    :ivar deposit_id: the id, which equals the checkout's id for a checkout's deposit. A read by reference may return
        another deposit than expected, so compare the id.
    :ivar status: `pending` or `completed`; the interface shows no other status.
    :ivar input_amount: the customer's amount in `input_currency`.
    :ivar output_amount: the shop's amount in `output_currency`.
    :ivar payment_crypto: the data of a payment by token; the interface does not show its content.
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
        # Both are stored and shown with payments; no id or status is this long.
        if max(len(self.deposit_id), len(self.status)) > _MAX_NAME:
            raise ValueError(f"the deposit's id or status is longer than {_MAX_NAME} characters")


_GET = Operation("GET", "/v1/deposit/{id}", Deposit)
# Not retried: setting a status twice is harmless, but every update sends a webhook.
_SANDBOX_UPDATE = Operation("PATCH", "/v1/deposit/{id}", Deposit, may_move_money=True)


class Deposits(Resource[W]):
    """`client.deposits`. A checkout's deposit has the checkout's id, and exists once the customer has picked a method.

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
        """Reads the deposit.

        :raises NotFound: there is no deposit; for a checkout id, the customer has not picked a payment method (yet).
        :raises ValueError: the id is invalid.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.record(_GET, requested_id=deposit_id_or_reference)

    @method
    async def sandbox_update(
        self, deposit_id: str, status: DepositStatus | str, **options: Unpack[CallOptions]
    ) -> Deposit:
        """Sets a deposit's status, only in the service's sandbox, which also sends the webhook. Not retried.

        :raises Invalid: no payment method was picked yet.
        :raises OutcomeUnknown: the answer was lost; `get` shows whether the status was set.
        :raises ValueError: the id is invalid.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.record(
            _SANDBOX_UPDATE, requested_id=deposit_id, body={"status": status}, references=(deposit_id,)
        )
