"""The exceptions of the extension. Fields hold the facts, and the message ends with the remedy.

    PayCheckoutError
      ConfigurationError     a PAYCHECKOUT_* value is missing or wrong
      UncommittedChanges     db.session holds uncommitted changes of the shop
      OrderNotPayable        the shop's order_total returned None, or a total of zero
      OrderSettled           money for this order has arrived already: it is paid or held
      UnknownCheckout        no checkout with this id is stored
      TransitionRefused      the table of states has no such transition
        PayoutRefused        ... of this payout, or it changed since the person saw it
      ReceiverFailed         an atomic receiver raised, so the whole change was rolled back
      PaybackRefused         this money does not wait to be paid back or kept
      UnknownPayout          no payout with this reference is stored
      PayoutConflict         the reference belongs to a payout with other content
      NothingToRefund        no money of this checkout arrived, or it is not settled yet
      RefundTooLarge         refunds would be more than what arrived
      UnsafeCheckoutUrl      the service returned a URL outside the allowed origins
      StartContended         the order kept changing while a checkout was being made
      TooManyAttempts        the order has reached its limit of open payment pages

Failed calls of the service raise `flask_paycheckout.client.PaymentsError` instead.
"""

from __future__ import annotations

from flask_paycheckout.text import first_line

__all__ = [
    "ConfigurationError",
    "NothingToRefund",
    "OrderNotPayable",
    "OrderSettled",
    "PayCheckoutError",
    "PaybackRefused",
    "PayoutConflict",
    "PayoutRefused",
    "ReceiverFailed",
    "RefundTooLarge",
    "StartContended",
    "TooManyAttempts",
    "TransitionRefused",
    "UncommittedChanges",
    "UnknownCheckout",
    "UnknownPayout",
    "UnsafeCheckoutUrl",
]


class PayCheckoutError(Exception):
    """Base class of the extension's exceptions."""


class ConfigurationError(PayCheckoutError):
    """A setting is missing or wrong; the message names the key, the fault and the remedy, never a secret."""


class UncommittedChanges(PayCheckoutError):
    """`db.session` holds uncommitted changes of the shop, which the extension never commits."""

    def __init__(self, call: str, what: str) -> None:
        self.call = call
        self.what = what
        super().__init__(
            f"{call} was called while db.session holds uncommitted changes ({what})."
            " Commit them first (db.session.commit()), so that the payment sees the order as it is stored,"
            " or roll them back."
        )


class OrderNotPayable(PayCheckoutError):
    """The shop wants no payment for this order: its `order_total` returned None, or a total of zero."""

    def __init__(self, order_id: str, *, free: bool = False) -> None:
        self.order_id = order_id
        self.free = free
        super().__init__(f"order {order_id!r} is not payable: {_FREE if free else _NOT_WANTED}")


_NOT_WANTED = (
    "order_total returned None for it."
    " Return Pay or Receive while a payment of the order is wanted, and offer no payment otherwise."
)
_FREE = (
    "it costs nothing, and the service takes positive amounts only."
    " Close a free order in your own code, show no pay button for it, and let order_total return None."
)


class OrderSettled(PayCheckoutError):
    """Money for this order has already arrived: it is paid, or held for a person to decide."""

    def __init__(self, order_id: str, status: str) -> None:
        self.order_id = order_id
        self.status = status
        super().__init__(f"order {order_id!r} is already {status}; show its status page instead of a new checkout")


class UnknownCheckout(PayCheckoutError):
    """No checkout with this id is stored."""

    def __init__(self, checkout_id: str) -> None:
        self.checkout_id = checkout_id
        super().__init__(
            f"no checkout {checkout_id!r} is stored here; a checkout id is not the shop's order id."
            " 'flask paycheckout show ORDER_ID' names the checkouts of an order."
        )


class TransitionRefused(PayCheckoutError):
    """The table of states has no transition for this evidence from the checkout's state."""

    def __init__(self, checkout_id: str, status: str, evidence: str, why: str | None = None) -> None:
        self.checkout_id = checkout_id
        self.status = status
        self.evidence = evidence
        why = why or f"it is {status}. Only held payments can be decided; 'flask paycheckout report' lists them"
        super().__init__(f"checkout {checkout_id!r}: {_CANNOT.get(evidence, 'it cannot be changed')}, since {why}.")


class ReceiverFailed(PayCheckoutError):
    """An atomic receiver raised, so its writes and the change of the checkout were rolled back together."""

    def __init__(self, receiver: str, signal: str, order_id: str, error: BaseException) -> None:
        self.receiver = receiver
        self.signal = signal
        self.order_id = order_id
        self.problem = f"receiver {receiver} of {signal} failed: {first_line(error)}"
        """The receiver with its error, for people."""

        super().__init__(f"{self.problem}. Nothing of the change of order {order_id!r} was committed.")


class PaybackRefused(PayCheckoutError):
    """This payment is not among those that wait to be marked as paid back or kept."""

    def __init__(
        self, checkout_id: str, status: str, payback: str | None, *, pays_order: bool, refund: str | None = None
    ) -> None:
        self.checkout_id = checkout_id
        self.status = status
        self.payback = payback
        self.pays_order = pays_order
        if refund is not None:
            why = f"is being paid back by refund {refund!r}; wait for it, or cancel it first"
        elif payback == "refunded":
            why = "is covered by refunds; cancel them first if it is paid back in another way"
        elif payback is not None:
            why = f"is marked as {'kept' if payback == 'kept' else 'paid back'} already"
        elif pays_order:
            why = "paid its order"
        else:
            why = f"is {status}; only a rejected payment, or an accepted second one, is paid back or kept"
        super().__init__(f"the money of checkout {checkout_id!r} {why}. 'flask paycheckout report' lists what waits.")


class UnknownPayout(PayCheckoutError):
    """No payout with this reference is stored."""

    def __init__(self, reference: str) -> None:
        self.reference = reference
        super().__init__(f"no payout {reference!r} is stored here. 'flask paycheckout payouts' lists them.")


class UnknownRequest(PayCheckoutError):
    """No payment request with this reference is stored."""

    def __init__(self, reference: str) -> None:
        self.reference = reference
        super().__init__(f"no payment request {reference!r} is stored here. 'flask paycheckout requests' lists them.")


class PayoutConflict(PayCheckoutError):
    """The reference belongs to a payout with another amount, currency, destination or account."""

    def __init__(self, reference: str, difference: str) -> None:
        self.reference = reference
        self.difference = difference
        """The first thing that differs, without its value: `amount`, `currency`, `destination` or `account`."""

        super().__init__(
            f"payout {reference!r} is stored already, with another {difference}."
            " Give each payment a reference of its own; the same reference with the same content is the same payment."
        )


_PAYOUT_STATUS = {
    "claimable": "waits for the customer",
    "waiting": "waits for approval",
    "ready": "is ready to be sent",
    "sending": "is being sent",
    "sent": "was sent",
    "completed": "is completed",
    "failed": "has failed",
    "unknown": "may have been sent",
    "cancelled": "is cancelled",
}


def payout_status_text(status: str) -> str:
    """The state of a payout for people, with its verb."""
    return _PAYOUT_STATUS.get(status, f"is {status}")


_APPROVABLE = ("waiting", "a person approved it")

_CANNOT = {
    "a person accepted the held payment": "it cannot be accepted",
    "a person rejected the held payment": "it cannot be rejected",
    "the customer said where the money goes": "its destination cannot be changed",
    "a person approved it": "it cannot be approved",
    "a person cancelled it": "it cannot be cancelled",
    "a person had it tried again": "it cannot be tried again",
    "a person found that it was sent": "it cannot be recorded as sent",
    "a person found that it was not sent": "it cannot be recorded as not sent",
    "a person found that it came back, or never left": "it cannot be recorded as returned",
    "a person accepted the amount that the service reports": "it cannot be recorded as sent",
    "give the transfer proof": "it has no transfer proof",
}


class PayoutRefused(TransitionRefused):
    """The payout's state does not allow this, or its destination changed since the person saw it."""

    def __init__(self, reference: str, status: str, evidence: str, remedy: str) -> None:
        self.reference = reference
        self.status = status
        self.evidence = evidence
        self.remedy = remedy
        cannot, waits = _CANNOT.get(evidence, "it cannot be changed"), (status, evidence) == _APPROVABLE
        # A payout that waits for approval could be approved: the remedy says what is against it.
        since = "" if waits else f", since it {payout_status_text(status)}"
        Exception.__init__(self, f"payout {reference!r}: {cannot}{since}. {remedy}")


class WithdrawalRefused(TransitionRefused):
    """The payment request is paid or withdrawn already, so that it cannot be withdrawn."""

    def __init__(self, reference: str, status: str) -> None:
        self.reference = reference
        self.status = status
        remedy = " Refund it instead." if status == "paid" else ""
        Exception.__init__(self, f"payment request {reference!r} cannot be withdrawn: it is {status} already.{remedy}")


class NothingToRefund(PayCheckoutError):
    """No money of this checkout arrived, or what arrived is not settled yet."""

    def __init__(self, checkout_id: str, status: str) -> None:
        self.checkout_id = checkout_id
        self.status = status
        super().__init__(
            f"checkout {checkout_id!r} is {status}, and no settled payment of it is stored, so nothing can be refunded."
            " Call settle(checkout_id) if its money should have arrived."
        )


class RefundTooLarge(PayCheckoutError):
    """Together, the refunds of this checkout would be more than what arrived."""

    def __init__(self, checkout_id: str, amount: object, rest: object, currency: str) -> None:
        self.checkout_id = checkout_id
        self.amount = amount
        self.rest = rest
        """The part of the payment that can still be refunded."""

        self.currency = currency
        super().__init__(
            f"{amount} {currency} of checkout {checkout_id!r} cannot be refunded: {rest} {currency} are left of what"
            " arrived, less the refunds that were neither cancelled nor failed."
        )


class UnsafeCheckoutUrl(PayCheckoutError):
    """The service returned a payment URL outside the allowed origins."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        super().__init__(
            f"the service's payment URL {fault}; no customer was sent there."
            " If this address is right, list its origin in PAYCHECKOUT_CHECKOUT_ORIGINS."
        )


class StartContended(PayCheckoutError):
    """The order kept changing, or stayed locked by another transaction, while its checkout was made; safe to retry."""

    def __init__(self, order_id: str, *, locked: bool = False) -> None:
        self.order_id = order_id
        self.locked = locked
        super().__init__(f"order {order_id!r} {_LOCKED if locked else _CHANGED}")


_CHANGED = "changed while its checkout was being made; try again"
_LOCKED = (
    "was locked by another transaction for too long, so order_total could not read it; try again."
    " A request that reads the order with_for_update must commit or roll back before it calls start()."
)


class TooManyAttempts(PayCheckoutError):
    """The order has reached its limit of checkouts that may still be paid; each change of its total makes another."""

    def __init__(self, order_id: str, open_attempts: int, retry_after: float) -> None:
        self.order_id = order_id
        self.open_attempts = open_attempts
        self.retry_after = retry_after
        """Seconds to wait before another try."""

        super().__init__(
            f"order {order_id!r} has {open_attempts} payment pages that may still be paid, and gets no more."
            " Show its status page and let the customer try again later: a page on which nobody picked a payment method"
            " lapses after 16 minutes. Change the order's total less often while it is being paid."
        )
