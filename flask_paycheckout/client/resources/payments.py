"""Payments, deprecated: crypto in, bank transfer out."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack, get_args

from flask_paycheckout.client.amounts import Amount, as_number, exact_amount
from flask_paycheckout.client.bodies import flags, needed, query_string, texts
from flask_paycheckout.client.deprecation import deprecated
from flask_paycheckout.client.filters import Filters
from flask_paycheckout.client.forms import PaymentsPath
from flask_paycheckout.client.operations import Operation
from flask_paycheckout.client.records.payments import Payment, Quote
from flask_paycheckout.client.records.reading import RecordReader
from flask_paycheckout.client.vocabulary import PaymentStatus, Sort, UsNetwork

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask_paycheckout.client.calls import Caller
    from flask_paycheckout.client.envelope import JsonObject
    from flask_paycheckout.client.paging import Page

__all__ = ["PaymentFilters", "Payments"]

_QUOTE = Operation("GET", "/v2/payment/quote", repeatable=True)
# The interface's heading says /v2/payments; its sample request says /v2/payment. The client's option decides.
_LISTS = {path: Operation("GET", path, repeatable=True) for path in get_args(PaymentsPath)}
_GET = Operation("GET", "/v2/payment/detail/{id}", repeatable=True)
_CREATE = Operation(
    "POST",
    "/v2/payment",
    may_move_money=True,
    lookup="go through payments.iterate(sort='-createdAt') for one with its sender, receiver and amount",
)

_PAYMENT = RecordReader(Payment)
_QUOTED = RecordReader(Quote)

_INSTEAD = "client.fiat_disbursements"


class PaymentFilters(TypedDict, total=False):
    """Which payments `list` and `iterate` give, and in which order.

    :ivar limit: page size; the service's default is 10.
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


_FILTERS = Filters(PaymentFilters)


class Payments:
    """`client.payments`. Every method warns: the service deprecates them. Whoever still needs them says so:

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

    __slots__ = ("_caller",)

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    @property
    def _listing(self) -> Operation:
        return _LISTS[self._caller.forms.payments_path]

    def quote(
        self,
        *,
        amount: Amount,
        input_currency: str,
        output_currency: str,
        with_limit: bool | None = None,
        timeout: float | None = None,
    ) -> Quote:
        """The costs of a payment and the amount that would arrive.

        :param amount: in `input_currency`.
        :param input_currency: a crypto's id.
        :param with_limit: False leaves the daily limit out of the calculation.
        :raises PaymentsError: see `errors`.
        """
        deprecated("payments.quote", f"{_INSTEAD}.payment_methods, which gives the fees of bank transfers")
        values = {"amount": f"{exact_amount('amount', amount):f}"}
        values |= needed(input_currency=input_currency, output_currency=output_currency) | flags(with_limit=with_limit)
        return self._caller.record(_QUOTE, _QUOTED, query=query_string(values), timeout=timeout)

    def list(
        self, *, page: int | None = None, timeout: float | None = None, **filters: Unpack[PaymentFilters]
    ) -> Page[Payment]:
        """One page of the payments.

        :param page: the first is 1.
        :param filters: see `PaymentFilters`.
        :raises PaymentsError: see `errors`.
        """
        deprecated("payments.list", f"{_INSTEAD}.list")
        return self._caller.page(self._listing, _PAYMENT, query=_FILTERS.query(filters, page), timeout=timeout)

    def iterate(self, *, timeout: float | None = None, **filters: Unpack[PaymentFilters]) -> Iterator[Payment]:
        """Every payment, page after page, each page read when its first record is wanted.

        :param filters: see `PaymentFilters`.
        :raises TransportFailed: while iterating: the pages would not come to an end.
        :raises PaymentsError: while iterating; see `errors`.
        """
        deprecated("payments.iterate", f"{_INSTEAD}.iterate")
        return self._caller.iterate(
            self._listing,
            _PAYMENT,
            lambda found: found.payment_id,
            lambda number: _FILTERS.query(filters, number),
            sort=filters.get("sort"),
            timeout=timeout,
        )

    def get(self, payment_id: str, *, timeout: float | None = None) -> Payment:
        """The payment as it is now, with its history.

        :raises NotFound: there is none.
        :raises ValueError: the id cannot be one.
        :raises PaymentsError: see `errors`.
        """
        deprecated("payments.get", f"{_INSTEAD}.get")
        return self._caller.record(_GET, _PAYMENT, ids={"id": payment_id}, timeout=timeout)

    def create(
        self,
        *,
        wallet_address: str,
        input_amount: Amount,
        sender_name: str,
        sender_email: str,
        receiver_id: str,
        input_currency: str,
        output_currency: str,
        reason: str | None = None,
        description: str | None = None,
        us_network: UsNetwork | None = None,
        timeout: float | None = None,
    ) -> Payment:
        """Opens a payment from a wallet to a recipient's bank account. Never sent twice.

        :param wallet_address: the sender's.
        :param input_amount: in `input_currency`.
        :param receiver_id: a recipient's id.
        :param input_currency: a crypto's id.
        :raises Invalid: the service refuses the payment.
        :raises OutcomeUnknown: the answer was lost, the payment may exist. Payments carry no reference: look for it by
            sender, receiver and amount.
        :raises ServiceFault: the service failed, the payment may exist as well.
        :raises PaymentsError: see `errors`.
        """
        deprecated("payments.create", f"{_INSTEAD}.create")
        body: JsonObject = {"inputAmount": as_number(exact_amount("input_amount", input_amount))}
        body |= needed(
            wallet_address=wallet_address,
            sender_name=sender_name,
            sender_email=sender_email,
            receiver_id=receiver_id,
            input_currency=input_currency,
            output_currency=output_currency,
        )
        body |= texts(reason=reason, description=description, us_network=us_network)
        return self._caller.record(_CREATE, _PAYMENT, body=body, timeout=timeout)
