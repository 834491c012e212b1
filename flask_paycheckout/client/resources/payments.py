"""Payments, deprecated: crypto in, bank transfer out."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime
from decimal import Decimal
from typing import NotRequired, Unpack

from typing_extensions import deprecated

from flask_paycheckout.client.awaited import W
from flask_paycheckout.client.bodies import Amount, fields_of
from flask_paycheckout.client.hidden import AccountNumber, Hidden
from flask_paycheckout.client.paging import Listing, Page
from flask_paycheckout.client.records import GIVEN, Activity, PaymentStatus, Record, Sort, UsNetwork, given_as
from flask_paycheckout.client.resource import Resource, each, method
from flask_paycheckout.client.sending import Operation
from flask_paycheckout.client.waiting import CallOptions


class PaymentSender(Record, frozen=True):
    """The payer, who pays in crypto from a wallet."""

    id: str = GIVEN
    name: str = GIVEN
    email: str = GIVEN
    wallet_address: str = GIVEN


class PaymentReceiver(Record, frozen=True):
    """The payee with a bank account. Lists have `bank_name`; details and creates have the codes instead."""

    id: str = GIVEN
    name: str = GIVEN
    email: str = GIVEN
    account_number: AccountNumber | None = None
    bank_name: str | None = None
    ifsc: str | None = None
    ach_number: str | None = None
    fedwire_number: str | None = None
    iban_number: Hidden | None = None


class PaymentActivity(Activity, frozen=True):
    """One step in a payment's history."""

    id: str = given_as("_id")


class Payment(Record, frozen=True):
    """A payment in the service.

    :ivar payment_type: `onramp` or `offramp`.
    :ivar input_amount: the amount in `input_currency`; `input_amount_exact` is the unrounded amount.
    :ivar output_amount: the amount in `output_currency`; `output_amount_exact` is the unrounded amount.
    :ivar status: `pending`, `processed`, `completed` or `failed`.
    :ivar transaction_hash: only in details and creates, like `activity_history`.
    :ivar pay_out_wallet: the wallet to which the sender's crypto goes.
    """

    payment_id: str
    status: str = GIVEN
    id: str = GIVEN
    payment_type: str = GIVEN
    sender: PaymentSender = GIVEN
    receiver: PaymentReceiver = GIVEN
    input_amount: Decimal = GIVEN
    input_amount_exact: Decimal = GIVEN
    input_currency: str = GIVEN
    output_currency: str = GIVEN
    output_amount: Decimal = GIVEN
    output_amount_exact: Decimal = GIVEN
    exchange_fees: Decimal = GIVEN
    platform_fees: Decimal = GIVEN
    reason: str | None = None
    description: str | None = None
    organization_id: str = GIVEN
    organization_name: str = GIVEN
    transaction_hash: str | None = None
    blockchain: str = GIVEN
    pay_out_wallet: str = GIVEN
    expired_date: datetime = GIVEN
    activity_history: tuple[PaymentActivity, ...] = ()
    created_at: datetime = GIVEN
    updated_at: datetime = GIVEN


class Quote(Record, frozen=True, rename={}):
    """The costs of a payment and the amount that arrives; the names are the service's own.

    :ivar coin: the crypto in which the sender pays.
    :ivar amount: the amount in `coin`.
    :ivar currency: the currency that the receiver gets; every `..._in_currency` is in it.
    """

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


_QUOTE = Operation("GET", "/v2/payment/quote", Quote)
_GET = Operation("GET", "/v2/payment/detail/{id}", Payment)
_CREATE = Operation(
    "POST",
    "/v2/payment",
    Payment,
    may_move_money=True,
    lookup="go through payments.iterate(sort='-createdAt') for one with its sender, receiver and amount",
)


class PaymentFilters(CallOptions, total=False):
    """The filters and the order of `list` and `iterate`.

    :ivar limit: the page size; the service's default is 10.
    :ivar search: a name or an e-mail address.
    """

    limit: int | None
    sort: Sort | None
    search: str | None
    status: PaymentStatus | None
    reason: str | None
    organization_id: str | None
    organization_name: str | None
    blockchain: str | None
    receiver_name: str | None
    min_input_amount: Amount | None
    max_input_amount: Amount | None
    min_output_amount: Amount | None
    max_output_amount: Amount | None


class QuoteFields(CallOptions):
    """The payment to quote.

    :ivar amount: the amount in `input_currency`.
    :ivar input_currency: the crypto's id.
    :ivar with_limit: whether the calculation includes the daily limit.
    """

    amount: Amount
    input_currency: str
    output_currency: str
    with_limit: NotRequired[bool | None]


class NewPayment(CallOptions):
    """The payment to create.

    :ivar wallet_address: the sender's wallet.
    :ivar input_amount: the amount in `input_currency`.
    :ivar receiver_id: the recipient's id.
    :ivar input_currency: the crypto's id.
    """

    wallet_address: str
    input_amount: Amount
    sender_name: str
    sender_email: str
    receiver_id: str
    input_currency: str
    output_currency: str
    reason: NotRequired[str | None]
    description: NotRequired[str | None]
    us_network: NotRequired[UsNetwork | None]


_LIST = Listing(
    Operation("GET", "/v2/payments", Payment, sample="/v2/payment"), PaymentFilters, lambda found: found.payment_id
)


class Payments(Resource[W]):
    """`client.payments`. The service deprecates these operations, so every method warns. To use them, ignore this:

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    ...     quote = client.payments.quote(amount=100, input_currency="usdc-polygon", output_currency="USD")
    ...     payment = client.payments.create(
    ...         wallet_address="0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    ...         input_amount=100,
    ...         input_currency="usdc-polygon",
    ...         output_currency="USD",
    ...         sender_name="Sam",
    ...         sender_email="sam@example.com",
    ...         receiver_id=next(client.recipients.iterate(currency="USD")).id,
    ...     )
    ...     same = client.payments.get(payment.payment_id)
    >>> same.status, same.output_amount == quote.total_received_amount_in_currency
    ('pending', True)
    """

    @deprecated(
        "client.payments.quote is deprecated by the service: use client.fiat_disbursements.payment_methods,"
        " which gives the fees of bank transfers"
    )
    @method
    async def quote(self, **fields: Unpack[QuoteFields]) -> Quote:
        """The costs of a payment and the amount that would arrive.

        :param fields: see `QuoteFields`.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.record(_QUOTE, query=fields_of(QuoteFields).query(fields))

    @deprecated("client.payments.list is deprecated by the service: use client.fiat_disbursements.list")
    @method
    async def list(self, *, page: int | None = None, **filters: Unpack[PaymentFilters]) -> Page[Payment]:
        """One page of the payments.

        :param page: the page number; the first is 1.
        :param filters: see `PaymentFilters`.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.page(_LIST, filters, page)

    @deprecated("client.payments.iterate is deprecated by the service: use client.fiat_disbursements.iterate")
    @each
    def iterate(self, **filters: Unpack[PaymentFilters]) -> AsyncGenerator[Payment, None]:
        """Every payment, page after page; each page is read when its first record is needed.

        :param filters: see `PaymentFilters`.
        :raises TransportFailed: while iterating: the pages do not end.
        :raises PaymentsError: while iterating; see `errors`.
        """
        return self._caller.iterate(_LIST, filters)

    @deprecated("client.payments.get is deprecated by the service: use client.fiat_disbursements.get")
    @method
    async def get(self, payment_id: str, **options: Unpack[CallOptions]) -> Payment:
        """Reads the payment, with its history.

        :raises NotFound: there is no such payment.
        :raises ValueError: the id is invalid.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.record(_GET, requested_id=payment_id)

    @deprecated("client.payments.create is deprecated by the service: use client.fiat_disbursements.create")
    @method
    async def create(self, **fields: Unpack[NewPayment]) -> Payment:
        """Opens a payment from a wallet to a recipient's bank account. Never retried after it was sent.

        :param fields: see `NewPayment`.
        :raises Invalid: the service refuses the payment.
        :raises OutcomeUnknown: the answer was lost, and the payment may exist. Payments have no reference: look for it
            by sender, receiver and amount.
        :raises ServiceFault: the service failed, and the payment may also exist.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.record(_CREATE, body=fields_of(NewPayment).body(fields))
