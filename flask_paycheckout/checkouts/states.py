"""The states of a checkout, and the table of evidence that moves it between them."""

from __future__ import annotations

from collections.abc import Container
from enum import StrEnum


class Status(StrEnum):
    """The state of a checkout, which is one attempt at paying an order."""

    CREATED = "created"
    PENDING = "pending"
    PART = "part"
    PAID = "paid"
    HELD = "held"
    REJECTED = "rejected"
    ABANDONED = "abandoned"


class Evidence(StrEnum):
    """Evidence that can move a checkout; `flask paycheckout show` prints the values as they are."""

    DEPOSIT_OPEN = "the deposit exists and is not completed"
    DEPOSIT_AGREES = "the deposit is completed and everything agrees"
    DEPOSIT_IS_PART = "the deposit is completed, and is a part of what is left to pay"
    DEPOSIT_DISAGREES = "the deposit is completed and something disagrees"
    DEPOSIT_CLOSED = "the deposit ended without a payment"
    DEPOSIT_STALLED = "nothing moved for as long as PAYCHECKOUT_PENDING_FOR"
    NEVER_PICKED = "no payment method was picked while the page was valid"
    ACCEPTED = "a person accepted the held payment"
    ACCEPTED_AS_PART = "a person accepted the held payment as a part of what is left to pay"
    REJECTED = "a person rejected the held payment"
    TOTAL_REACHED = "the parts that arrived reach what the order costs now"
    DEPOSIT_REVERSED = "the service no longer reports the deposit as completed"
    """The state stays, and the money is gone."""

    DEPOSIT_CHANGED = "the service reports another amount for money that paid no order"
    """The books take the money back, and the new amount arrives with the same read."""

    DEPOSIT_RESTORED = "the service reports the deposit as completed again"


OPEN = frozenset({Status.CREATED, Status.PENDING, Status.ABANDONED})
"""States that a read of the deposit can still change."""

UNFINISHED = frozenset({Status.CREATED, Status.PENDING})
"""States in which the customer may be paying."""

_OF_MONEY = {
    Evidence.DEPOSIT_AGREES: Status.PAID,
    Evidence.DEPOSIT_IS_PART: Status.PART,
    Evidence.DEPOSIT_DISAGREES: Status.HELD,
}
# The customer may pick a method in the page's last second, so an abandoned checkout can still be paid.
TRANSITIONS: dict[tuple[str, Evidence | None], Status] = {
    **{(status, evidence): to for status in OPEN for evidence, to in _OF_MONEY.items()},
    (Status.CREATED, Evidence.DEPOSIT_OPEN): Status.PENDING,
    # A deposit that is closed at the first read was pending in between, though no read saw that.
    (Status.CREATED, Evidence.DEPOSIT_CLOSED): Status.PENDING,
    (Status.CREATED, Evidence.NEVER_PICKED): Status.ABANDONED,
    (Status.PENDING, Evidence.DEPOSIT_CLOSED): Status.ABANDONED,
    (Status.PENDING, Evidence.DEPOSIT_STALLED): Status.ABANDONED,
    (Status.ABANDONED, Evidence.DEPOSIT_OPEN): Status.PENDING,
    (Status.HELD, Evidence.ACCEPTED): Status.PAID,
    (Status.HELD, Evidence.ACCEPTED_AS_PART): Status.PART,
    (Status.HELD, Evidence.REJECTED): Status.REJECTED,
    # Without another payment: the order became cheaper, or a refund of a part was cancelled.
    (Status.PART, Evidence.TOTAL_REACHED): Status.PAID,
}
"""All transitions; any other one is refused. `paid` and `rejected` are final."""


class Reason(StrEnum):
    """The reason of a held payment, an excess or an abandoned checkout; receivers of `payment_held` get it too."""

    AMOUNT_MISMATCH = "amount_mismatch"
    DUPLICATE = "duplicate"
    ORDER_CHANGED = "order_changed"
    ORDER_NOT_PAYABLE = "order_not_payable"
    ORDER_TOTAL_FAILED = "order_total_failed"
    EXCESS = "excess"
    """The order is paid with more than it costs."""

    NEVER_PICKED = "never_picked"
    DEPOSIT_CLOSED = "deposit_closed"
    STALLED = "stalled"


class FoundBy(StrEnum):
    """The cause of a read; stored with the payment that it found."""

    WEBHOOK = "webhook"
    STATUS_PAGE = "status page"
    RECONCILE = "reconcile"
    SETTLE = "settle"


REASON_OF: dict[Evidence | None, Reason] = {
    Evidence.NEVER_PICKED: Reason.NEVER_PICKED,
    Evidence.DEPOSIT_CLOSED: Reason.DEPOSIT_CLOSED,
    Evidence.DEPOSIT_STALLED: Reason.STALLED,
}
"""The reason that is stored when this evidence abandons a checkout."""

COUNTED = frozenset({Status.PART, Status.PAID})
"""States whose money counts for the order, except for an accepted second payment of a paid order."""

LIVE = frozenset({Status.CREATED, Status.PENDING, Status.PART, Status.HELD, Status.PAID})
"""The statuses of orders that are not abandoned."""

UNREMINDED = frozenset({Status.PAID, Status.HELD, Status.PENDING})
"""The statuses of orders that nobody is reminded to pay."""

FINAL = frozenset({Status.PAID, Status.REJECTED})
"""States that never change."""

BEST_FIRST = (Status.PAID, Status.HELD, Status.PENDING, Status.PART, Status.CREATED, Status.ABANDONED)
"""An order has the first of these states that one of its checkouts is in."""


def best_of(statuses: Container[str]) -> str:
    """An order's status: the best state of its checkouts, or `unpaid` without any; rejected checkouts do not count."""
    for status in BEST_FIRST:
        if status in statuses:
            return status.value
    return "unpaid"
