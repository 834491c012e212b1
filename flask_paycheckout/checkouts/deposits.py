"""Reads of a checkout's deposit at the service."""

from __future__ import annotations

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.client import Deposit, NotFound, PaymentsClient

# The service's own message; a gateway's 404 for an unknown route has another one.
_NOT_FOUND = "deposit not found"


class NotMadeByThisClient(NotFound):
    """Another client id than the one that made the checkout does not find its deposit, which proves nothing.

    :ivar made_with: the client id that made the checkout.
    :ivar read_with: the client id that does not find it.
    """

    def __init__(self, operation: str, made_with: str | None, read_with: str | None) -> None:
        self.made_with, self.read_with = made_with, read_with
        told = (
            f"it was made with client id {made_with!r}, and {read_with!r} does not find it;"
            f" read it with the keys of {made_with!r}"
        )
        super().__init__(operation, 404, "Not Found", told)
        self.args = operation, made_with, read_with


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
    if client.client_id != checkout.client_id:
        raise NotMadeByThisClient(operation, checkout.client_id, client.client_id)
    return None
