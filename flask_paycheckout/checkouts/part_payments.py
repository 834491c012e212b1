"""Orders that are paid in parts: their balance, and their completion when the parts reach a lowered total.

A payment that completes its order is settled like any other payment. Here the newest part pays the order without
another payment, because the order became cheaper, or a refund of a part was cancelled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

from flask_paycheckout.checkouts.checkout_model import problem_columns
from flask_paycheckout.checkouts.moves import Move, Moves, confirm
from flask_paycheckout.checkouts.ruling import Balance, Free, OrderPayments
from flask_paycheckout.checkouts.schedule import after_failures, next_look
from flask_paycheckout.checkouts.shop_answers import OrderTotalFailed, OrderTotals
from flask_paycheckout.checkouts.states import Evidence, Reason, Status
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.database.connections import begin_limited, lost_races_ignored
from flask_paycheckout.database.state_table import Entry, line
from flask_paycheckout.database.transactions import ShopTransaction
from flask_paycheckout.errors import ReceiverFailed
from flask_paycheckout.events.events import Delivery
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.totals import Pay, Total
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.logs import about

_ANOTHER_CURRENCY = (
    "no payment can complete the order: it costs {} now, and parts were paid in {}. Return a Pay in that currency from"
    " order_total, or refund or keep the parts"
)


class _NotReached(Exception):
    """The parts do not reach the total, so the transaction that asked for it is rolled back."""


@dataclass(frozen=True, eq=False)
class PartPayments:
    """Gives the balances of one app's orders, and completes the orders whose parts reach their newest total."""

    wiring: Wiring
    checkouts: Checkouts
    moves: Moves
    outbox: Outbox
    totals: OrderTotals

    def balance(self, order_id: str) -> Balance | None:
        """The sums of an order that are paid and left, by its present total; None without a payment that counts.

        While the shop wants no payment, or cannot give the total, the last total counts. None also if the payments
        cannot be set off against the total.
        """
        # Use the shop's open transaction, such as order_total's, because another connection would wait for its locks.
        connection = self.wiring.sessions.open_connection()
        payments = self.checkouts.order_payments(order_id, connection)
        if not payments.has_payment:
            return None
        if payments.is_paid:
            return Balance(payments.paid, Decimal(0), payments.currency or "")
        current = self.checkouts.current(order_id, connection)
        total = self.totals.answers.total_now(order_id) or (None if current is None else current.total)
        return None if payments.excess(total) is None else payments.balance(cast("Pay", total))

    def due(self, order_id: str, total: Total) -> tuple[Total | None, Decimal]:
        """The total that the next checkout of an order in parts asks for, and all that is left to pay.

        :returns: the first is None if nothing is left, or if it cannot be computed.
        """
        if not isinstance(total, Pay):
            return None, total.amount
        payments = self.checkouts.order_payments(order_id)
        return payments.due(total), payments.balance(total).left

    def complete(self, order_id: str) -> Delivery | None:
        """Let the newest part pay the order if the parts reach what it costs now; deliver the events.

        :returns: the counts of the deliveries; None when the parts do not reach the total.
        :raises ReceiverFailed: an atomic receiver raised; nothing was stored.
        """
        payments = self.checkouts.order_payments(order_id)
        newest = payments.newest_part
        if newest is None:
            return None
        if payments.is_paid:
            # A payment outside of the parts paid it, or another process completed it while this one planned the next
            # check.
            self._look_again(order_id, None)
            return None
        part, now = self.checkouts.require(newest), self.wiring.clock()

        def decide(transaction: ShopTransaction, payments_now: Callable[[], OrderPayments]) -> Move:
            total, payments = self.totals.total(transaction, part), payments_now()
            excess = payments.excess(total)
            if total is not None and excess is None and part.payback is None:
                raise OrderTotalFailed(ValueError(_ANOTHER_CURRENCY.format(total, payments.currency)))
            unpaid = payments.newest_part == newest and not payments.is_paid
            if excess is None or excess < 0 or not (unpaid and isinstance(total, (Pay, Free))):
                raise _NotReached
            balance, reason = payments.balance(total), Reason.EXCESS if excess > 0 else None
            compared = [f"order_total now: {total}, parts: {payments.paid:f}"]
            rule = Evidence.TOTAL_REACHED
            entry = line(now, Entry.MOVED, to=Status.PAID, rule=rule, reason=reason, compared=compared)
            # Clear earlier notes about this part alone, because it represents the whole order now.
            values = {} if part.came_otherwise else {"payback": None, **problem_columns(part, None, now)}
            return confirm(entry, values, balance, excess)

        def fails(problem: str) -> None:
            failures = part.failed_reads + 1
            failure = problem_columns(part, problem, now, failures)
            self._look_again(order_id, after_failures(failures, now), **failure)

        moved = None
        try:
            moved = self.moves.move(part, decide, now)
        except _NotReached:
            self._look_again(order_id, next_look(part.moved_at, now))
        except OrderTotalFailed as error:
            fails(error.text)
        except ReceiverFailed as error:
            fails(error.problem)
            raise
        return None if moved is None else self.outbox.deliver(moved.events)

    def try_to_complete(self, order_id: str) -> bool:
        """Complete an order like `complete`; False also if an atomic receiver raised: reconcile tries again."""
        try:
            return self.complete(order_id) is not None
        except ReceiverFailed:
            text = "the parts of order %s reach its total, which could not be stored"
            self.wiring.log.exception("settling payments", text, order_id, extra=about(order_id))
            return False

    def _look_again(self, order_id: str, at: datetime | None, **failure: Any) -> None:
        with lost_races_ignored(), begin_limited(self.wiring.engine()) as connection:
            # A payment may have paid the order in another process meanwhile.
            if self.checkouts.lock_order(connection, order_id):
                at, failure = None, {}
            self.checkouts.look_at_parts(connection, order_id, at, **failure)
