"""People's decisions on held payments: their limits, their effect in words, and their storage."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.moves import Decision, Move, Moved, Moves, accept, reject
from flask_paycheckout.checkouts.payments import arrived_of
from flask_paycheckout.checkouts.ruling import Free, OrderPayments
from flask_paycheckout.checkouts.shop_answers import OrderTotalFailed, OrderTotals, is_in_parts
from flask_paycheckout.checkouts.states import TRANSITIONS, Evidence, Reason, Status
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.database.deeds import who_and_why, yes_or_no
from flask_paycheckout.database.state_table import Entry, line
from flask_paycheckout.database.transactions import ShopTransaction
from flask_paycheckout.errors import TransitionRefused
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.totals import Pay, Total, whole_units
from flask_paycheckout.wiring import Wiring

_ACCEPTING: dict[str, str] = {
    Reason.AMOUNT_MISMATCH: "the order is paid with what arrived",
    Reason.ORDER_CHANGED: "the order is paid at the total that was asked for before it changed",
    Reason.ORDER_NOT_PAYABLE: "the order is paid, although the shop had stopped wanting a payment for it",
    Reason.ORDER_TOTAL_FAILED: "the order is paid, although order_total could not say what it costs",
}
_ACCEPTING_SECOND = (
    "the order stays paid by its other payment, and the shop is not told of a second payment;"
    " this money stays listed until it is refunded, or somebody says that it was paid back or is kept"
)
ACCEPTING_PART = "the order is partly paid with it, and its customer is asked for the rest"
ACCEPTING_EXCESS = "what came too much is refunded; the customer says where it goes"
REJECTING = (
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


HOW_TO_ACCEPT = {"accept": (False, False), "part": (True, False), "excess": (False, True)}
"""The ways to accept a held payment, by their names in forms: the values of `as_part` and `refund_excess`."""

# One decision needs one round; the others are for races lost against other processes.
_MAX_ROUNDS = 8


@dataclass(frozen=True, eq=False)
class Resolutions:
    """Records decisions on held payments of one app."""

    wiring: Wiring
    checkouts: Checkouts
    moves: Moves
    outbox: Outbox
    totals: OrderTotals
    refund: Callable[..., object]
    """Adds a claimable refund of a checkout to the running transaction: id, amount, by, why, now."""

    def resolve(
        self, checkout_id: str, accepted: bool, by: str, why: str, *, as_part: bool = False, refund_excess: bool = False
    ) -> CheckoutMixin:
        """Record a person's decision on a held payment, with name and reason.

        :param as_part: accept it as a part of what is left to pay.
        :param refund_excess: accept it, and refund the excess.
        :raises UnknownCheckout: no such checkout is stored.
        :raises TransitionRefused: the checkout is not held, or cannot be accepted like this.
        :raises ReceiverFailed: an atomic receiver raised; nothing was recorded.
        :raises TypeError: `accepted`, `as_part` or `refund_excess` is neither True nor False.
        :raises ValueError: `by` or `why` is empty or too long, or a payment is rejected as a part or with a refund.
        """
        by, why = who_and_why(by, why)
        as_part, refund_excess = yes_or_no("as_part", as_part), yes_or_no("refund_excess", refund_excess)
        decision = Decision(yes_or_no("accept", accepted), by, why, as_part, refund_excess)
        if (as_part or refund_excess) and not accepted:
            raise ValueError("accept must be True with as_part or refund_excess; refund a rejected payment by itself")
        evidence = Evidence.ACCEPTED if accepted else Evidence.REJECTED
        for _ in range(_MAX_ROUNDS):
            checkout = self.checkouts.require(checkout_id)
            if (checkout.status, evidence) not in TRANSITIONS:
                raise TransitionRefused(checkout_id, checkout.status, evidence)
            now = self.wiring.clock()
            if accepted:
                moved = self._accept(checkout, decision, now)
            else:
                moved = self.moves.move(checkout, rejection(checkout, decision, now), now)
            if moved is not None:
                self.outbox.deliver(moved.events)
                return self.checkouts.require(checkout_id)
        raise TransitionRefused(checkout_id, checkout.status, evidence)

    def choices(self, checkout: CheckoutMixin) -> dict[str, Move]:
        """The ways of `HOW_TO_ACCEPT` in which a held payment can be accepted now, each with its move."""
        choices, now = dict[str, Move](), self.wiring.clock()
        total, payments = (
            self.totals.answers.total_now(checkout.order_id),
            self.checkouts.order_payments(checkout.order_id),
        )
        for name, how in HOW_TO_ACCEPT.items():
            with suppress(TransitionRefused):
                move = self._accepted(checkout, Decision(True, "", "", *how), now, total, payments)
                if name != "part" or move.to is Status.PART:
                    choices[name] = move
        return choices

    def _accept(self, checkout: CheckoutMixin, decision: Decision, now: datetime) -> Moved | None:
        def decide(transaction: ShopTransaction, payments: Callable[[], OrderPayments]) -> Move:
            # This also locks the shop's order before our checkouts, as settlement does. In the opposite order the two
            # could deadlock.
            total = self.totals.total(transaction, checkout)
            return self._accepted(checkout, decision, now, total, payments())

        def decide_alone(transaction: ShopTransaction, payments: Callable[[], OrderPayments]) -> Move:
            return self._accepted(checkout, decision, now, None, payments(), total_known=False)

        with suppress(OrderTotalFailed):
            return self.moves.move(checkout, decide, now)
        return self.moves.move(checkout, decide_alone, now)

    def _accepted(
        self,
        checkout: CheckoutMixin,
        decision: Decision,
        now: datetime,
        total: Total | Free | None,
        payments: OrderPayments,
        *,
        total_known: bool = True,
    ) -> Move:
        """The move of an accepted payment, which pays its order or a part of it.

        :param total: the order's present total; None if the shop wants no payment any more, so that the checkout's
            total counts.
        :param total_known: whether the shop could give the total.
        """
        as_part, refund_excess = decision.as_part, decision.refund_excess
        plan = partial(_acceptance, checkout, decision, now, pays=not payments.is_paid)
        refusal = partial(TransitionRefused, checkout.checkout_id, checkout.status, Evidence.ACCEPTED)
        if checkout.payment is None:
            raise refusal("the service has taken its money back")
        in_parts = as_part or payments.newest_part or is_in_parts(total) or is_in_parts(checkout.total)
        if not (in_parts or refund_excess):
            return plan(Evidence.ACCEPTED)
        if not total_known:
            # An old total could refund too much, or request too little.
            raise refusal("order_total could not say what the order costs now: decide again once it can")
        basis = total if isinstance(total, Pay) else checkout.total
        arrived = arrived_of(checkout.payment, "pay")
        excess = None
        if arrived is not None and payments.is_paid:
            excess = arrived.amount
        elif arrived is not None and arrived.currency == basis.currency:
            excess = payments.excess(basis, arrived.amount)
        if arrived is None or excess is None or whole_units(arrived.amount, arrived.currency) <= 0:
            if as_part or refund_excess:
                raise refusal("it cannot be set off against what the order costs")
            return plan(Evidence.ACCEPTED)
        if refund_excess and excess <= 0:
            raise refusal("no more arrived than is left to pay")
        if excess > 0 and not refund_excess and (as_part or not payments.is_paid):
            raise refusal("more arrived than is left to pay: refund the excess too, or reject it")
        then = None
        if refund_excess:
            back = whole_units(min(excess, arrived.amount), arrived.currency)
            then = partial(self.refund, checkout.checkout_id, back, decision.by, decision.why, now=now)
        if payments.is_paid or not isinstance(basis, Pay):
            return plan(Evidence.ACCEPTED, excess=excess, then=then)
        evidence = Evidence.ACCEPTED_AS_PART if as_part and excess < 0 else Evidence.ACCEPTED
        balance = payments.balance(basis, arrived.amount)
        return plan(evidence, balance=balance, excess=excess, then=then)


def _acceptance(
    checkout: CheckoutMixin, decision: Decision, now: datetime, evidence: Evidence, *, pays: bool, **more: Any
) -> Move:
    to = TRANSITIONS[checkout.status, evidence]
    # For a part, the shop is asked again for the order's total.
    values = {"next_read_at": now} if to is Status.PART else {}
    return accept(
        decision, checkout, to, _entry(decision, now, evidence), values, pays=pays and to is Status.PAID, **more
    )


def rejection(checkout: CheckoutMixin, decision: Decision, now: datetime) -> Move:
    """The move of a held payment that a person rejects."""
    return reject(decision, checkout, _entry(decision, now, Evidence.REJECTED))


def _entry(decision: Decision, now: datetime, evidence: Evidence) -> str:
    to = TRANSITIONS[Status.HELD, evidence]
    return line(now, Entry.RESOLVED, to=to, by=decision.by, why=decision.why, rule=evidence)
