"""A person's decision on a held payment: its limits, and the wording of its effect for commands and pages. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from flask_paycheckout.checkouts.states import Reason
from flask_paycheckout.text import trimmed

__all__ = ["MAX_BY", "MAX_WHY", "Decision", "accepting", "rejecting", "who_and_why", "yes_or_no"]

MAX_BY = 255
"""The most characters of the name of the person who decides."""

MAX_WHY = 1000
"""The most characters of the reason for a decision."""

_ACCEPTING: dict[str, str] = {
    Reason.AMOUNT_MISMATCH: "the order is paid with what arrived",
    Reason.ORDER_CHANGED: "the order is paid at the total that was asked for before it changed",
    Reason.ORDER_NOT_PAYABLE: "the order is paid, although the shop had stopped wanting a payment for it",
    Reason.ORDER_TOTAL_FAILED: "the order is paid, although order_total could not say what it costs",
}
_ACCEPTING_SECOND = (
    "the order stays paid by its other payment, and order_paid does not fire again;"
    " this money stays listed until it is refunded, or somebody says that it was paid back or is kept"
)
_REJECTING = (
    "this payment does not pay the order; the money stays listed until it is refunded, or somebody says that it was"
    " paid back or is kept"
)


class Decision(msgspec.Struct, frozen=True):
    """A person's decision on a held payment, with the name and the reason to record."""

    accepted: bool
    by: str
    why: str

    def as_keywords(self) -> dict[str, Any]:
        """The keyword arguments for receivers of `payment_resolved`."""
        return {"accepted": self.accepted, "by": self.by, "why": self.why}


def accepting(reason: str | None, *, order_is_paid: bool) -> str:
    """Describe the effect of accepting a payment that is held for this reason.

    :param order_is_paid: whether another payment has paid the order.
    """
    if order_is_paid or reason == Reason.DUPLICATE:
        return _ACCEPTING_SECOND
    return _ACCEPTING.get(reason or "", "the order is paid")


def rejecting() -> str:
    """Describe the effect of rejecting a held payment; it is independent of the reason."""
    return _REJECTING


def who_and_why(by: str, why: str) -> tuple[str, str]:
    """Strip and check the name and the reason that a decision is recorded with.

    :raises TypeError: one of them is not a string.
    :raises ValueError: one of them is empty or too long.
    """
    for name, given, longest in (("by", by, MAX_BY), ("why", why, MAX_WHY)):
        if not isinstance(given, str):
            raise TypeError(f"{name} must be a string, not {type(given).__name__}: the decision is recorded with it")
        value = trimmed(given)
        if not value:
            raise ValueError(f"{name} must not be empty: the decision is recorded with it")
        if len(value) > longest:
            raise ValueError(f"{name} must have {longest} characters at most; the decision is recorded with it")
    return trimmed(by), trimmed(why)


def yes_or_no(name: str, answer: object) -> bool:
    """Check an answer that moves money: a text such as "no" would count as True.

    :raises TypeError: it is neither True nor False.
    """
    if not isinstance(answer, bool):
        raise TypeError(f"{name} must be True or False, not {type(answer).__name__}")
    return answer
