"""Orders that several payments pay: what is left of them, and orders whose parts reach a total that was lowered.

A payment that completes its order is settled like any other one. Here the newest part pays the order without another
payment, since the order became cheaper, or a refund of a part was cancelled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from flask_paycheckout.checkouts.checkout_model import problem_columns
from flask_paycheckout.checkouts.moves import Move, Moves
from flask_paycheckout.checkouts.ruling import Rest
from flask_paycheckout.checkouts.schedule import after_failures, next_look
from flask_paycheckout.checkouts.shop_answers import OrderTotalFailed, OrderTotals, is_in_parts
from flask_paycheckout.checkouts.states import TRANSITIONS, Evidence, Reason, Status
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.database.connections import begin_limited
from flask_paycheckout.database.history import Entry, line
from flask_paycheckout.database.state_table import lost_races_ignored
from flask_paycheckout.errors import ReceiverFailed
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.events.receiver_runs import Delivery
from flask_paycheckout.events.shop_transaction import ShopTransaction
from flask_paycheckout.parts import Parts
from flask_paycheckout.parts.logs import about
from flask_paycheckout.totals import Pay, Total

# The orders that are looked up together.
_PAGE = 100


class _NotReached(Exception):
    """The parts do not reach the total, so the transaction that asked for it is rolled back."""


@dataclass(frozen=True, eq=False)
class PartPayments:
    """Tells what is left of one app's orders, and completes those whose parts reach their newest total."""

    parts: Parts
    checkouts: Checkouts
    moves: Moves
    outbox: Outbox
    totals: OrderTotals

    def rest(self, order_id: str) -> Rest | None:
        """How much of an order is paid and left, by what it costs now; None without a payment that counts.

        While the shop wants no payment, or cannot say what the order costs, what it cost last is left to pay.
        """
        # In a transaction of the shop, such as that of order_total, another connection would wait for its locks.
        connection = self.parts.sessions.open_connection()
        balance = self.checkouts.balance(order_id, connection)
        if not balance.has_payment:
            return None
        if not balance.is_paid:
            current = self.checkouts.current(order_id, connection)
            for total in (self.totals.answers.total_now(order_id), current and current.total):
                if isinstance(total, Pay) and balance.excess(total) is not None:
                    return balance.rest(total)
        return Rest(balance.paid, Decimal(0), balance.currency or "")

    def due(self, order_id: str, total: Total, *, has_part: bool) -> tuple[Total | None, Decimal]:
        """The total that the order's next checkout asks for, and all that is left to pay.

        :param has_part: whether a part of it has arrived.
        :returns: None for the first where nothing is left, or that cannot be reckoned.
        """
        balance = self.checkouts.balance(order_id) if has_part or is_in_parts(total) else None
        if balance is None or not isinstance(total, Pay):
            return (total if balance is None else None), total.amount
        return balance.due(total), balance.rest(total).left

    def complete(self, order_id: str) -> Delivery | None:
        """Let the newest part pay the order if the parts reach what it costs now; deliver the events.

        :returns: the counts of the deliveries; None when the parts do not reach the total.
        :raises ReceiverFailed: an atomic receiver raised; nothing was stored.
        """
        balance = self.checkouts.balance(order_id)
        newest = balance.newest_part
        if newest is None:
            return None
        if balance.is_paid:
            # By a payment that is no part of its total, or in another process while this one planned the next look.
            self._look_again(order_id, None)
            return None
        part, now = self.checkouts.require(newest), self.parts.clock()

        def decide(transaction: ShopTransaction) -> Move:
            total = self.totals.total(transaction, part)
            balance = self.checkouts.balance(order_id, transaction.connection, lock=True)
            excess = balance.excess(total)
            unpaid = balance.newest_part == newest and not balance.is_paid
            if excess is None or excess < 0 or not (unpaid and isinstance(total, Pay)):
                raise _NotReached
            evidence = Evidence.TOTAL_REACHED
            to, rest = TRANSITIONS[Status.PART, evidence], balance.rest(total)
            reason = Reason.EXCESS if excess > 0 else None
            compared = [f"order_total now: {total}, parts: {balance.paid:f}"]
            entry = line(now, Entry.MOVED, to=to, rule=evidence, reason=reason, compared=compared)
            # Earlier notes about this part alone are cleared: now it stands for the whole order.
            values = {"payback": None, **problem_columns(part, None, now)}
            return Move(to, entry, reason, values=values, rest=rest, excess=excess)

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
        """Complete an order like `complete`; False also where an atomic receiver raised: reconcile tries again."""
        try:
            return self.complete(order_id) is not None
        except ReceiverFailed:
            text = "the parts of order %s reach its total, which could not be stored"
            self.parts.log.exception("settling payments", text, order_id, extra=about(order_id))
            return False

    def complete_due(self) -> Iterator[Delivery | None]:
        """Complete the orders that are due to be asked about; gives the deliveries of each, None where it failed."""
        due_by, after = self.parts.clock(), ""
        while found := self.checkouts.part_orders(due_by, after, _PAGE):
            for after in found:
                try:
                    completed = self.complete(after)
                except Exception:
                    text = "it could not be settled whether the parts of order %s reach its total"
                    self.parts.log.exception("settling payments", text, after, extra=about(after))
                    yield None
                else:
                    if completed is not None:
                        yield completed

    def _look_again(self, order_id: str, at: datetime | None, **failure: Any) -> None:
        with lost_races_ignored(), begin_limited(self.parts.engine()) as connection:
            # Another process may have let a payment pay the order meanwhile.
            if self.checkouts.lock_order(connection, order_id):
                at, failure = None, {}
            self.checkouts.look_at_parts(connection, order_id, at, **failure)
