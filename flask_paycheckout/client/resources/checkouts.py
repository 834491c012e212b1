"""Checkouts: hosted payment pages."""

from __future__ import annotations

from typing import Unpack

from flask_paycheckout.client.awaited import W
from flask_paycheckout.client.bodies import as_number
from flask_paycheckout.client.envelope import JsonObject
from flask_paycheckout.client.hidden import Hidden
from flask_paycheckout.client.records import Record
from flask_paycheckout.client.resource import Resource, method
from flask_paycheckout.client.sending import Operation, segment
from flask_paycheckout.client.waiting import CallOptions
from flask_paycheckout.totals import Pay, Receive, Total


class CheckoutLink(Record, frozen=True):
    """A checkout that the service accepted. Its page is valid for 15 minutes.

    :ivar id: the checkout id; also the id of the deposit to come and the webhook's `orderId`.
    :ivar url: the hosted page's URL, to be used unchanged. Anybody who has it can pay, so `repr` does not show it.
    """

    id: str
    url: Hidden

    def __post_init__(self) -> None:
        # A checkout is useless if its deposit cannot be read, or if it has no page.
        segment(self.id)
        if not self.url:
            raise ValueError("the checkout has no url")


# Safe to retry: nobody knows the URL of a checkout whose answer was lost, so it is never paid.
_CREATE = Operation("POST", "/v1/checkout", CheckoutLink, again=True)


class Checkouts(Resource[W]):
    """`client.checkouts`.

    >>> from flask_paycheckout import Receive
    >>> link = client.checkouts.create(Receive("12.50", "EUR", pay_in="EUR"))
    >>> print(link.url)  # send the customer there; it is good for 15 minutes
    http://127.0.0.1:8790/checkout/...
    >>> client.deposits.get(link.id)  # until the customer has picked a way to pay
    Traceback (most recent call last):
    flask_paycheckout.client.errors.NotFound: GET /v1/deposit/{id}: 404 Not Found: Deposit not found
    """

    @method
    async def create(self, total: Total, **options: Unpack[CallOptions]) -> CheckoutLink:
        """Opens a hosted page on which the customer pays `total`; retried if the answer is lost.

        :raises Invalid: checkout is not enabled, the amount fits no payment method, or the conversion is not enabled.
        :raises TypeError: `total` is neither a `Pay` nor a `Receive`.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.record(_CREATE, body=_asked(total))


def _asked(total: Total) -> JsonObject:
    """The body with the one fixed amount: the customer's or the shop's."""
    if isinstance(total, Pay):
        body: JsonObject = {"inputCurrency": total.currency, "inputAmount": as_number(total.amount)}
        if total.receive_in is not None:
            body["outputCurrency"] = total.receive_in
        return body
    if not isinstance(total, Receive):
        raise TypeError(f"total must be a Pay or a Receive, not {type(total).__name__}")
    return {
        "inputCurrency": total.pay_in,
        "outputCurrency": total.currency,
        "outputAmount": as_number(total.amount),
    }
