"""Requests for refunds: payouts that give a customer's money back, never more than arrived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from flask_paycheckout.checkouts.decisions import rejection
from flask_paycheckout.checkouts.moves import Decision, Moves
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.database.deeds import stored_name, who_and_why
from flask_paycheckout.database.transactions import ShopTransaction, ShopTransactions
from flask_paycheckout.errors import PayoutConflict, RefundTooLarge
from flask_paycheckout.payouts.destinations import ByHand, Destination, require_destination
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_moves import PayoutMove, PayoutMoves, without_money
from flask_paycheckout.payouts.payout_requests import Number, PayoutRequests
from flask_paycheckout.payouts.payout_states import PayoutEvidence, PayoutKind, PayoutState
from flask_paycheckout.payouts.payout_table import next_transfers, references_of, refund_reference
from flask_paycheckout.payouts.refund_limits import RefundLimits
from flask_paycheckout.text import require_order_id
from flask_paycheckout.totals import EXACT, Amount, plain_code, positive_amount
from flask_paycheckout.wiring import Wiring


class UnseenRefund(Exception):
    """There is a refund that the person had not seen, perhaps from the same form."""


@dataclass(frozen=True, eq=False)
class Refunds:
    """Adds refunds to the shop's `db.session`."""

    wiring: Wiring
    requests: PayoutRequests
    limits: RefundLimits
    moves: Moves
    payout_moves: PayoutMoves
    shop: ShopTransactions

    def refund(
        self,
        checkout_id: str,
        amount: Number | None,
        by: str,
        why: str,
        to: Destination | ByHand | None = None,
        send: tuple[Number, str] | None = None,
        reference: str | None = None,
        replaces: str | None = None,
        seen: str | None = None,
        now: datetime | None = None,
    ) -> PayoutMixin:
        """Add a refund to `db.session`, and reject the payment if it is held. A refund by hand is completed at once.

        :param reference: the shop's own reference; a stored refund with it is returned if it has the same content.
        :param replaces: the reference of a failed refund of this payment in whose place it is made.
        :param seen: the number of the checkout's refunds that the person saw.
        :param now: the time of the decision that it is a part of; None for a refund by itself.
        :raises UnseenRefund: there are more refunds by now.
        """
        by, why = who_and_why(by, why)
        checkout_id = require_order_id(checkout_id, "checkout_id")
        transaction = self.shop.within(self.wiring.sessions.of_context())
        connection = transaction.connection
        if reference is not None:
            reference = require_order_id(reference, "reference")
        if reference is not None and self.payout_moves.payouts.find(reference, connection) is not None:
            return self._same(transaction, reference, checkout_id, amount, to, send)
        payment = self.limits.lock(connection, checkout_id)
        left, currency = payment.left.amount, payment.left.currency
        if amount is None and left <= 0:
            raise RefundTooLarge(checkout_id, payment.arrived.amount, left, currency)
        counted = payment.left if amount is None else Amount(positive_amount(amount, currency), currency)
        sent = counted if send is None else _sum_to_send(send, currency)
        if to is not None and not isinstance(to, ByHand):
            require_destination(to, sent.currency)
        # The checkout's row is locked by now, so nobody else can add a refund before the commit.
        earlier = self.payout_moves.payouts.of_checkout(checkout_id, connection)
        if reference is not None and reference in {each.reference for each in earlier}:
            return self._same(transaction, reference, checkout_id, amount, to, send)
        if seen not in (None, str(len(earlier))):
            raise UnseenRefund
        self.limits.take(connection, payment, counted.amount)
        # Use one time for all records of the refund, by which erasing finds the reason again.
        now = now or self.wiring.clock()
        if payment.checkout.status == Status.HELD:
            self._reject_held(transaction, checkout_id, by, why, now)
        replaced = _replaced(earlier, EXACT.subtract(left, counted.amount), replaces)
        key = self.payout_moves.payouts.installation_key(connection)
        name = reference or refund_reference(key, checkout_id, len(earlier) + 1)
        of_payment = payment.checkout.account, checkout_id, references_of(earlier)
        row = {
            "reference": name,
            "service_reference": name if isinstance(to, ByHand) else next_transfers(key, *of_payment)[0],
            "kind": PayoutKind.REFUND,
            "exact_counts": f"{counted.amount:f}",
            "counts_currency": currency,
            "order_id": payment.checkout.order_id,
            "refund_of": checkout_id,
            "account": payment.checkout.account,
            "asked_by": stored_name(by),
            "replaces": replaces or (replaced[-1].reference if replaced else None),
        }
        approve = False if isinstance(to, ByHand) else None
        state = self.requests.first_state(to, approve, counted, sent)
        counts = None if send is None else str(counted)
        stored = self.requests.add(transaction, row, sent, to, state, now, counts=counts, by=by, why=why)
        if stored is None:
            raise PayoutConflict(name, "content")
        for failed in replaced:
            self.payout_moves.replace(connection, failed, stored, now)
        if isinstance(to, ByHand):
            move = PayoutMove(PayoutEvidence.BY_HAND, facts={"by": by, "why": why})
            self.payout_moves.move_in(connection, transaction, stored, move, now, leased=False)
            transaction.session.expire(stored)
            self.requests.stored(transaction, name)
        return stored

    def refund_now(self, checkout_id: str, amount: Number | None, by: str, why: str, **more: Any) -> PayoutMixin:
        """Make a refund in a transaction of its own; arguments and errors as for `refund`."""
        with self.wiring.sessions.own() as session:
            # Rolled back at the end of this block, unless it is committed.
            reference = self.refund(checkout_id, amount, by, why, **more).reference
            session.commit()
        return self.payout_moves.payouts.require(reference)

    def _same(
        self,
        transaction: ShopTransaction,
        reference: str,
        checkout_id: str,
        amount: Number | None,
        to: Destination | ByHand | None,
        send: tuple[Number, str] | None,
    ) -> PayoutMixin:
        """The stored refund with this reference, which must have this content; without an amount, any amount matches.

        :raises PayoutConflict: it has other content, or belongs to another payment, or to a payout.
        """
        refund = self.payout_moves.payouts.require(reference, transaction.connection)
        columns: dict[str, Any] = {"kind": PayoutKind.REFUND, "refund_of": checkout_id}
        paid_in = refund.counts_currency
        if paid_in is None:
            return self.requests.same(transaction, reference, None, to, columns)
        counted = None if amount is None else positive_amount(amount, paid_in)
        sent = None if send is None else _sum_to_send(send, paid_in)
        if sent is not None and counted is not None:
            columns["counts"] = counted
        columns["currency"] = paid_in if sent is None else sent.currency
        return self.requests.same(transaction, reference, counted if sent is None else sent.amount, to, columns)

    def _reject_held(self, transaction: ShopTransaction, checkout_id: str, by: str, why: str, now: datetime) -> None:
        """Reject a held payment in the transaction of its refund, so that nobody can accept it any more."""
        checkout = self.moves.checkouts.require(checkout_id, transaction.connection)
        move = rejection(checkout, Decision(False, by, why), now)
        moved = self.moves.move_in(transaction.connection, transaction, checkout, move, now, leased=False)
        if moved is None:
            raise RuntimeError(f"checkout {checkout.checkout_id!r} changed although its row is locked")


def _replaced(earlier: Sequence[PayoutMixin], left: Decimal, replaces: str | None) -> Sequence[PayoutMixin]:
    """The failed refunds of a payment whose money a new one counts, oldest first.

    :param left: the part of the payment that no refund takes after the new one.
    :param replaces: the reference of a failed refund in whose place the new one is made.
    :raises ValueError: there is no such failed refund of this payment.
    """
    named = [refund for refund in earlier if refund.reference == replaces and refund.state == PayoutState.FAILED]
    if replaces is not None and not named:
        raise ValueError("replaces must be the reference of a failed refund of this payment that none has replaced")
    displaced = without_money(earlier, left)
    return [refund for refund in earlier if refund in named or refund in displaced]


def _sum_to_send(send: Any, paid_in: str) -> Amount:
    """The amount to send in another currency than the customer paid."""
    if not isinstance(send, (tuple, list)) or len(send) != 2:
        raise TypeError("send must be an amount and a currency, such as ('12.40', 'usdc-polygon')")
    amount, currency = send
    exact = positive_amount(amount, currency, "send")
    if currency == paid_in:
        raise ValueError(f"send must be in another currency than {paid_in}, which was paid; else leave it out")
    return Amount(exact, plain_code(currency))
