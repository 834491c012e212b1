"""People's decisions on held payments: their limits, their effect in words, and their storage."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.moves import Decision, Move, Moved, Moves
from flask_paycheckout.checkouts.shop_answers import OrderTotalFailed, OrderTotals
from flask_paycheckout.checkouts.states import TRANSITIONS, Evidence, Reason, Status
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.database.history import Entry, line
from flask_paycheckout.errors import TransitionRefused
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.events.shop_transaction import ShopTransaction
from flask_paycheckout.service.logs import about_checkout
from flask_paycheckout.text import storable, trimmed

if TYPE_CHECKING:
    from flask_paycheckout.parts import Parts

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


def stored_name(by: str) -> str:
    """A person's name as a column holds it, and as it is compared with one."""
    return storable(trimmed(by))[:MAX_BY]


def yes_or_no(name: str, answer: object) -> bool:
    """Check an answer that moves money: a text such as "no" would count as True.

    :raises TypeError: it is neither True nor False.
    """
    if not isinstance(answer, bool):
        raise TypeError(f"{name} must be True or False, not {type(answer).__name__}")
    return answer


# One decision needs one round; the others are for races lost against other processes.
_MAX_ROUNDS = 8


@dataclass(frozen=True, eq=False)
class Resolutions:
    """Records decisions on held payments of one app."""

    parts: Parts
    checkouts: Checkouts
    moves: Moves
    outbox: Outbox
    totals: OrderTotals

    def resolve(self, checkout_id: str, accept: bool, by: str, why: str) -> CheckoutMixin:
        """Record a person's decision on a held payment, with name and reason.

        :raises UnknownCheckout: no such checkout is stored.
        :raises TransitionRefused: the checkout is not held.
        :raises ReceiverFailed: an atomic receiver raised; nothing was recorded.
        :raises TypeError: `accept` is neither True nor False.
        :raises ValueError: `by` or `why` is empty or too long.
        """
        by, why = who_and_why(by, why)
        decision = Decision(yes_or_no("accept", accept), by, why)
        evidence = Evidence.ACCEPTED if accept else Evidence.REJECTED
        for _ in range(_MAX_ROUNDS):
            checkout = self.checkouts.require(checkout_id)
            target = TRANSITIONS.get((Status(checkout.status), evidence))
            if target is None:
                raise TransitionRefused(checkout_id, checkout.status, evidence)
            now = self.parts.clock()
            entry = line(now, Entry.RESOLVED, to=target, by=by, why=why, rule=evidence)
            move = Move(target, entry, checkout.reason, decision, {"next_read_at": None})
            moved = self._store(checkout, move, now)
            if moved is not None:
                self.outbox.deliver(moved.events)
                return self.checkouts.require(checkout_id)
        raise TransitionRefused(checkout_id, checkout.status, evidence)

    def _store(self, checkout: CheckoutMixin, move: Move, now: datetime) -> Moved | None:
        def decide(transaction: ShopTransaction) -> Move:
            # Called only for the lock that it takes: the shop's order is locked before our checkouts, as in settlement.
            # In the other order the two could deadlock.
            self.totals.total(transaction, checkout)
            return move

        if move.to is Status.PAID:
            try:
                return self.moves.move_as_shop_says(checkout, now, decide)
            except OrderTotalFailed:
                text = "order_total failed for order %s, whose payment a person accepted"
                self.parts.log.warning("order_total", text, checkout.order_id, extra=about_checkout(checkout))
        return self.moves.move(checkout, move, now)
