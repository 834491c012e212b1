"""The exceptions of the extension. Fields hold the facts, and the message ends with the remedy.

    PayCheckoutError
      ConfigurationError     a PAYCHECKOUT_* value is missing or wrong
      UncommittedChanges     db.session holds uncommitted changes of the shop
      OrderNotPayable        the shop's order_total returned None, or a total of zero
      AmountRefused          the service refuses this checkout, such as an amount outside its limits
      OrderSettled           money for this order has already arrived: it is paid or held
      UnknownCheckout        no checkout with this id is stored
      TransitionRefused      the table of states has no such transition
        PayoutRefused        ... for this payout, or it changed since the person saw it
        WithdrawalRefused    ... for this payment request
      ReceiverFailed         an atomic receiver raised, so the whole change was rolled back
      UnknownPayout          no payout with this reference is stored
      UnknownRequest         no payment request with this reference is stored
      PayoutConflict         the reference belongs to a payout with other content
      NothingToRefund        no money of this checkout arrived, or it is not settled yet
      RefundTooLarge         the refunds would exceed the payment
      UnsafeCheckoutUrl      the service returned a URL outside the allowed origins
      StartContended         the order kept changing while a checkout was being made
      TooManyAttempts        the order has reached its limit of open payment pages

Failed calls to the service raise `flask_paycheckout.client.PaymentsError` instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from typing import Any

from flask_paycheckout.client.errors import Invalid, RequestRefused
from flask_paycheckout.text import first_line


class PayCheckoutError(Exception):
    """Base class of the extension's exceptions. They can be copied, and pickled, as task queues do."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Python would call the class with the message, but some errors make the message of other arguments.
        return _again, (type(self), self.args, vars(self))


def _again(kind: type[PayCheckoutError], args: tuple[object, ...], facts: Mapping[str, object]) -> PayCheckoutError:
    """A copied or unpickled error."""
    error = kind.__new__(kind, *args)
    vars(error).update(facts)
    return error


class ConfigurationError(PayCheckoutError):
    """A setting is missing or wrong; the message names the key, the fault and the remedy, never a secret."""


@dataclass(eq=False)
class UncommittedChanges(PayCheckoutError):
    """`db.session` holds uncommitted changes of the shop, which the extension never commits."""

    call: str
    what: str

    def __str__(self) -> str:
        return (
            f"{self.call} was called while db.session holds uncommitted changes ({self.what})."
            " Commit them first (db.session.commit()), so that the payment sees the order as it is stored,"
            " or roll them back."
        )


@dataclass(eq=False)
class OrderNotPayable(PayCheckoutError):
    """No payment can be started for this order: its `order_total` returned None or a total of zero, for instance."""

    order_id: str
    why: str

    def __str__(self) -> str:
        return f"order {self.order_id!r} is not payable: {self.why}"


class AmountRefused(PayCheckoutError, Invalid, ValueError):
    """The service refuses this checkout, for example an amount outside the limits of every payment method."""

    def __init__(self, order_id: str, due: object, refusal: RequestRefused) -> None:
        Invalid.__init__(self, refusal.operation, refusal.status_code, refusal.error, refusal.message)
        self.order_id = order_id
        self.due = due
        """The total of the refused checkout."""

        # Pickle calls the class with these arguments.
        self.args = (order_id, due, refusal)

    def __str__(self) -> str:
        return f"the service takes no payment of {self.due} for order {self.order_id!r}: {self.summary}"


@dataclass(eq=False)
class OrderSettled(PayCheckoutError):
    """Money for this order has already arrived: it is paid, or held for a person to decide."""

    order_id: str
    status: str

    def __str__(self) -> str:
        return f"order {self.order_id!r} is already {self.status}; show its status page instead of a new checkout"


@dataclass(eq=False)
class UnknownCheckout(PayCheckoutError):
    """No checkout with this id is stored."""

    checkout_id: str

    def __str__(self) -> str:
        return (
            f"no checkout {self.checkout_id!r} is stored here; a checkout id is not the shop's order id."
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


@dataclass(eq=False)
class UnknownPayout(PayCheckoutError):
    """No payout with this reference is stored."""

    reference: str

    def __str__(self) -> str:
        return f"no payout {self.reference!r} is stored here. 'flask paycheckout payouts' lists them."


@dataclass(eq=False)
class UnknownRequest(PayCheckoutError):
    """No payment request with this reference is stored."""

    reference: str

    def __str__(self) -> str:
        return f"no payment request {self.reference!r} is stored here. 'flask paycheckout requests' lists them."


@dataclass(eq=False)
class PayoutConflict(PayCheckoutError):
    """The reference belongs to a payout or refund with other content."""

    reference: str
    difference: str
    """The name of the first value that differs, such as `amount`, `currency` or `destination`."""

    def __str__(self) -> str:
        return (
            f"payout {self.reference!r} is stored already, with another {self.difference}."
            " Give each payment a reference of its own; the same reference with the same content is the same payment."
        )


_PAYOUT_STATUS = {
    "claimable": "waits for its receiver",
    "waiting": "waits for approval",
    "ready": "is ready to be sent",
    "sending": "is being sent",
    "sent": "was sent",
    "failed": "has failed",
    "replaced": "has failed and was replaced",
    "unknown": "may have been sent",
}


def payout_status_text(status: str) -> str:
    """The state of a payout in words, with a verb."""
    return _PAYOUT_STATUS.get(status, f"is {status}")


_APPROVABLE = {
    ("waiting", "a person approved it"),
    ("waiting", "a person approved it beyond the daily limit"),
}

_CANNOT = {
    "a person accepted the held payment": "it cannot be accepted",
    "a person rejected the held payment": "it cannot be rejected",
    "a person keeps the money": "its money cannot be marked as kept",
    "the customer said where the money goes": "its destination cannot be changed",
    "a person approved it": "it cannot be approved",
    "a person approved it beyond the daily limit": "it cannot be approved",
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
        cannot, waits = _CANNOT.get(evidence, "it cannot be changed"), (status, evidence) in _APPROVABLE
        # The state of a waiting payout would allow an approval, so the remedy has the reason.
        since = "" if waits else f", since it {payout_status_text(status)}"
        Exception.__init__(self, f"payout {reference!r}: {cannot}{since}. {remedy}")


class WithdrawalRefused(TransitionRefused):
    """The payment request cannot be withdrawn, because it is already paid or withdrawn."""

    def __init__(self, reference: str, status: str) -> None:
        self.reference = reference
        self.status = status
        remedy = " Refund it instead." if status == "paid" else ""
        Exception.__init__(self, f"payment request {reference!r} cannot be withdrawn: it is {status} already.{remedy}")


@dataclass(eq=False)
class NothingToRefund(PayCheckoutError):
    """No money of this checkout arrived, or its payment is not settled yet."""

    checkout_id: str
    status: str
    _: KW_ONLY
    taken_back: bool = False
    """Whether money had arrived, and the service no longer reports it as paid."""

    def __str__(self) -> str:
        if self.taken_back:
            return (
                f"the service no longer reports the payment of checkout {self.checkout_id!r} as completed, so there is"
                " nothing to refund. Ask the service why."
            )
        return (
            f"checkout {self.checkout_id!r} is {self.status}, and no settled payment of it is stored, so nothing can be"
            " refunded. Call settle(checkout_id) if its money should have arrived."
        )


@dataclass(eq=False)
class RefundTooLarge(PayCheckoutError):
    """Together, the refunds of this checkout would exceed its payment."""

    checkout_id: str
    amount: Decimal
    limit: Decimal
    """The part of the payment that can still be refunded."""

    currency: str

    def __str__(self) -> str:
        return (
            f"{self.amount:f} {self.currency} of checkout {self.checkout_id!r} cannot be refunded: {self.limit:f}"
            f" {self.currency} are left of what arrived, less the refunds that were neither cancelled nor failed."
        )


@dataclass(eq=False)
class UnsafeCheckoutUrl(PayCheckoutError):
    """The service returned a payment URL outside the allowed origins."""

    fault: str

    def __str__(self) -> str:
        return (
            f"the service's payment URL {self.fault}; no customer was sent there."
            " If this address is right, list its origin in PAYCHECKOUT_CHECKOUT_ORIGINS."
        )


@dataclass(eq=False)
class StartContended(PayCheckoutError):
    """The order kept changing, or another transaction held its lock, while its checkout was made; safe to retry."""

    order_id: str
    _: KW_ONLY
    locked: bool = False

    def __str__(self) -> str:
        return f"order {self.order_id!r} {_LOCKED if self.locked else _CHANGED}"


_CHANGED = "changed while its checkout was being made; try again"
_LOCKED = (
    "was locked by another transaction for too long, so order_total could not read it; try again."
    " A request that reads the order with_for_update must commit or roll back before it calls start()."
)


@dataclass(eq=False)
class TooManyAttempts(PayCheckoutError):
    """The order has reached its limit of checkouts that can still be paid; each change of its total makes another."""

    order_id: str
    open_attempts: int
    retry_after: float
    """Seconds to wait before another try."""

    def __str__(self) -> str:
        return (
            f"order {self.order_id!r} has {self.open_attempts} payment pages that may still be paid, and gets no more."
            " Show its status page and let the customer try again later: a page on which nobody picked a payment method"
            " lapses after 16 minutes. Change the order's total less often while it is being paid."
        )
