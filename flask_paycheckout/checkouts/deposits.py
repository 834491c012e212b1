"""Reads of a checkout's deposit at the service."""

from __future__ import annotations

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.client import Deposit, NotFound, PaymentsClient

# The service's own message; a gateway's 404 for an unknown route has another one.
_NOT_FOUND = "deposit not found"


class NotMadeByThisClient(NotFound):
    """Another client id than the one that made the checkout does not find its deposit, which proves nothing."""


def says_absent(error: NotFound) -> bool:
    """Whether this 404 is the service's own, so that the deposit does not exist for this client id."""
    return (error.message or "").strip().rstrip(".").lower() == _NOT_FOUND


def read_deposit(checkout: CheckoutMixin, client: PaymentsClient) -> Deposit | None:
    """Read a checkout's deposit; None when the service itself tells the client id that made it that there is none.

    :raises NotMadeByThisClient: another client id does not find it.
    :raises flask_paycheckout.client.PaymentsError: there was no reliable answer.
    """
    try:
        return client.deposits.get(checkout.checkout_id)
    except NotFound as error:
        if not says_absent(error):
            raise
        operation = error.operation
    made_with, read_with = checkout.client_id, client.client_id
    if read_with != made_with:
        told = (
            f"it was made with client id {made_with!r}, and {read_with!r} does not find it;"
            f" read it with the keys of {made_with!r}"
        )
        raise NotMadeByThisClient(operation, 404, "Not Found", told)
    return None
