"""What the extension refuses, each with the facts in fields and the remedy in the sentence.

    PayCheckoutError
      ConfigurationError     a PAYCHECKOUT_* value is missing or wrong
      UncommittedChanges     called inside a session with the shop's half-done work
      OrderNotPayable        the shop's order_total said None
      OrderSettled           money for this order is already here: paid or held
      UnknownCheckout        no checkout of this id was ever stored
      TransitionRefused      the state table has no such move
      UnsafeCheckoutUrl      the service answered with a URL where no customer may be sent
      StartContended         the order kept changing while a checkout was being made

What goes wrong on the way to the service is `flask_paycheckout.client.PaymentsError`.
"""

from __future__ import annotations

__all__ = [
    "ConfigurationError",
    "OrderNotPayable",
    "OrderSettled",
    "PayCheckoutError",
    "StartContended",
    "TransitionRefused",
    "UncommittedChanges",
    "UnknownCheckout",
    "UnsafeCheckoutUrl",
]


class PayCheckoutError(Exception):
    """Base of everything that the extension itself refuses."""


class ConfigurationError(PayCheckoutError):
    """A setting is missing or wrong; the message names the key, the fault and the remedy, never a secret."""


class UncommittedChanges(PayCheckoutError):
    """The shop's session holds changes that are not committed; the extension never commits them for the shop."""

    def __init__(self, call: str, what: str) -> None:
        self.call = call
        self.what = what
        super().__init__(
            f"{call} was called while db.session holds uncommitted changes ({what})."
            " Commit them first (db.session.commit()), so that the payment sees the order as it is stored,"
            " or roll them back."
        )


class OrderNotPayable(PayCheckoutError):
    """The shop's `order_total` returned None for this order."""

    def __init__(self, order_id: str) -> None:
        self.order_id = order_id
        super().__init__(
            f"order {order_id!r} is not payable: order_total returned None for it."
            " Return Pay or Receive while a payment of the order is wanted, and offer no payment otherwise."
        )


class OrderSettled(PayCheckoutError):
    """Money for this order has already arrived: it is paid, or held for a person to decide."""

    def __init__(self, order_id: str, status: str) -> None:
        self.order_id = order_id
        self.status = status
        super().__init__(f"order {order_id!r} is already {status}; show its status page instead of a new checkout")


class UnknownCheckout(PayCheckoutError):
    """No checkout of this id is stored here."""

    def __init__(self, checkout_id: str) -> None:
        self.checkout_id = checkout_id
        super().__init__(
            f"no checkout {checkout_id!r} is stored here; a checkout id is not the shop's order id."
            " 'flask paycheckout show ORDER_ID' names the checkouts of an order."
        )


class TransitionRefused(PayCheckoutError):
    """The state table has no move for this evidence from this state."""

    def __init__(self, checkout_id: str, status: str, evidence: str) -> None:
        self.checkout_id = checkout_id
        self.status = status
        self.evidence = evidence
        super().__init__(
            f"checkout {checkout_id!r} is {status}: '{evidence}' does not apply to it."
            " Only held payments can be decided; 'flask paycheckout report' lists them."
        )


class UnsafeCheckoutUrl(PayCheckoutError):
    """The service answered with a payment URL outside the allowed origins."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        super().__init__(
            f"the service's payment URL {fault}; no customer was sent there."
            " If this address is right, list its origin in PAYCHECKOUT_CHECKOUT_ORIGINS."
        )


class StartContended(PayCheckoutError):
    """Other starts of the same order kept winning; nothing was lost, trying again is safe."""

    def __init__(self, order_id: str) -> None:
        self.order_id = order_id
        super().__init__(f"order {order_id!r} changed while its checkout was being made; try again")
