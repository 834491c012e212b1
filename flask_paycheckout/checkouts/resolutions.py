"""Decisions of people on held payments."""

from __future__ import annotations

from datetime import datetime

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.decisions import Decision, who_and_why, yes_or_no
from flask_paycheckout.checkouts.moves import Move, Moved, Moves
from flask_paycheckout.checkouts.order_totals import OrderTotalFailed, OrderTotals
from flask_paycheckout.checkouts.states import TRANSITIONS, Evidence, Status
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.clock import Clock
from flask_paycheckout.database.history import Entry, line
from flask_paycheckout.errors import TransitionRefused
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.events.shop_transaction import ShopTransaction
from flask_paycheckout.service.logs import FailureLog, about_checkout

__all__ = ["Resolutions"]

# One decision needs one round; the others are for races lost against other processes.
_MAX_ROUNDS = 8


class Resolutions:
    """Records decisions on held payments of one app."""

    def __init__(
        self,
        checkouts: Checkouts,
        moves: Moves,
        outbox: Outbox,
        totals: OrderTotals,
        clock: Clock,
        log: FailureLog,
    ) -> None:
        self._checkouts = checkouts
        self._moves = moves
        self._outbox = outbox
        self._totals = totals
        self._clock = clock
        self._log = log

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
            attempt = self._checkouts.require(checkout_id)
            target = TRANSITIONS.get((Status(attempt.status), evidence))
            if target is None:
                raise TransitionRefused(checkout_id, attempt.status, evidence)
            now = self._clock()
            entry = line(now, Entry.RESOLVED, to=target, by=by, why=why, rule=evidence)
            move = Move(target, entry, attempt.reason, decision, {"next_read_at": None})
            moved = self._store(attempt, move, now)
            if moved is not None:
                self._outbox.deliver(moved.events)
                return self._checkouts.require(checkout_id)
        raise TransitionRefused(checkout_id, attempt.status, evidence)

    def _store(self, attempt: CheckoutMixin, move: Move, now: datetime) -> Moved | None:
        def decide(transaction: ShopTransaction) -> Move:
            # Called only for the lock that it takes: the shop's order is locked before our checkouts, as in settlement.
            # In the other order the two could deadlock.
            self._totals.total(transaction, attempt)
            return move

        if move.to is Status.PAID:
            try:
                return self._moves.move_as_shop_says(attempt, now, decide)
            except OrderTotalFailed:
                text = "order_total failed for order %s, whose payment a person accepted"
                self._log.warning("order_total", text, attempt.order_id, extra=about_checkout(attempt))
        return self._moves.move(attempt, move, now)
