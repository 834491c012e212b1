"""Requests for payouts and refunds: rows in the shop's own transaction, before whose commit nothing is sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.decisions import decided
from flask_paycheckout.checkouts.moves import Decision, Moves
from flask_paycheckout.checkouts.payments import Amount
from flask_paycheckout.checkouts.states import Evidence, Status
from flask_paycheckout.clock import moment_after
from flask_paycheckout.database.deeds import record_deed, stored_name, who_and_why, yes_or_no
from flask_paycheckout.database.history import Entry, line
from flask_paycheckout.database.order_ids import require_order_id
from flask_paycheckout.database.service_table import insert_in
from flask_paycheckout.errors import PayoutConflict, RefundTooLarge
from flask_paycheckout.events.shop_transaction import ShopTransaction, ShopTransactions
from flask_paycheckout.parts import Parts
from flask_paycheckout.payouts.destinations import ByHand, Destination, kind_of, require_destination
from flask_paycheckout.payouts.paybacks import RefundLimits
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_moves import PayoutMove, PayoutMoves
from flask_paycheckout.payouts.payout_states import PayoutEvidence, PayoutKind, PayoutStatus
from flask_paycheckout.payouts.payout_tries import installation_key, refund_reference, service_reference
from flask_paycheckout.payouts.sealing import Sealing
from flask_paycheckout.text import one_line
from flask_paycheckout.totals import positive_amount

Number = Decimal | int | str

_MAX_NOTE = 255


class UnseenRefund(Exception):
    """There is a refund that the person had not seen, perhaps of the same form."""


@dataclass(frozen=True, eq=False)
class PayoutRequests:
    """Adds payouts and refunds to the shop's `db.session`."""

    parts: Parts
    limits: RefundLimits
    moves: Moves
    payout_moves: PayoutMoves
    shop: ShopTransactions
    sealing: Sealing

    def pay_out(
        self,
        reference: str,
        amount: Number,
        currency: str,
        to: Destination | None,
        note: str | None,
        order_id: str | None,
        account: str,
        approve: bool | None,
        by: str | None,
        expires: datetime | timedelta | None,
    ) -> PayoutMixin:
        """Add a payout to `db.session`, or return the stored one with this reference and the same content."""
        require_order_id(reference, "reference")
        exact = positive_amount(amount, currency)
        if to is not None:
            require_destination(to, currency)
            if expires is not None:
                raise ValueError("expires is for a payout without `to`: what has a destination waits for nobody")
        wanted = {
            "reference": reference,
            "kind": PayoutKind.PAYOUT,
            "currency": currency,
            "note": None if note is None else one_line("note", note, _MAX_NOTE),
            "order_id": None if order_id is None else require_order_id(order_id),
            "account": self.parts.require_account(account),
            "asked_by": None if by is None else stored_name(who_and_why(by, "-")[0]),
        }
        session = self.parts.sessions.of_context()
        status = self._status(to, approve, Amount(exact, currency))
        end = None if expires is None else moment_after(self.parts.clock(), expires)
        stored = self._insert(session, wanted, exact, to, status, end, by=wanted["asked_by"])
        if stored is not None:
            return stored
        with session.no_autoflush:
            model: Any = self.parts.models.Payout
            found = select(model).where(model.reference == reference)
            known: PayoutMixin | None = session.scalars(found).one_or_none()
        # Not to be seen by this transaction when another one has just stored it.
        if known is None:
            raise PayoutConflict(reference, "content")
        if difference := self._difference(known, exact, currency, to, account):
            raise PayoutConflict(reference, difference)
        return known

    def refund(
        self,
        checkout_id: str,
        amount: Number | None,
        by: str,
        why: str,
        to: Destination | ByHand | None = None,
        send: tuple[Number, str] | None = None,
        seen: str | None = None,
    ) -> PayoutMixin:
        """Add a refund to `db.session`, and reject the payment if it is held. One by hand is completed at once.

        :param seen: the number of the checkout's refunds that the person saw.
        :raises UnseenRefund: there are others by now.
        """
        by, why = who_and_why(by, why)
        require_order_id(checkout_id, "checkout_id")
        session = self.parts.sessions.of_context()
        transaction = self.shop.within(session)
        payment = self.limits.lock(transaction.connection, checkout_id)
        left, currency = payment.left.amount, payment.left.currency
        if amount is None and left <= 0:
            raise RefundTooLarge(checkout_id, payment.arrived.amount, left, currency)
        exact = positive_amount(left if amount is None else amount, currency)
        if amount is None:
            # Written as it arrived.
            exact = left
        counted = Amount(exact, currency)
        sent = counted if send is None else _sum_to_send(send, currency)
        by_hand = isinstance(to, ByHand)
        if to is not None and not by_hand:
            require_destination(to, sent.currency)
        # The checkout's row is locked by now, so nobody else can add a refund before the commit.
        before = len(self.payout_moves.payouts.of_checkout(checkout_id, transaction.connection))
        if seen not in (None, str(before)):
            raise UnseenRefund
        self.limits.take(transaction.connection, payment, exact)
        now = self.parts.clock()
        self._reject_held(transaction, payment.checkout, by, why, now)
        key = installation_key(transaction.connection, self.parts.models.services)
        row = {
            # A restored database gives the same one again.
            "reference": refund_reference(key, checkout_id, before + 1),
            "kind": PayoutKind.REFUND,
            "currency": sent.currency,
            "exact_counts": f"{exact:f}",
            "counts_currency": currency,
            "order_id": payment.checkout.order_id,
            "refund_of": checkout_id,
            "account": payment.checkout.account,
            "asked_by": stored_name(by),
        }
        status = self._status(to, False if by_hand else None, counted, sent)
        stored = self._insert(
            session, row, sent.amount, to, status, counts=None if send is None else str(counted), by=by, why=why
        )
        if stored is None:
            raise PayoutConflict(row["reference"], "content")
        if by_hand:
            move = PayoutMove(PayoutEvidence.BY_HAND, facts={"by": by, "why": why})
            self.payout_moves.move_in(transaction.connection, transaction, stored, move, now, leased=False)
            session.refresh(stored)
        return stored

    def refund_now(
        self,
        checkout_id: str,
        amount: Number | None,
        by: str,
        why: str,
        seen: str | None = None,
        send: tuple[Number, str] | None = None,
    ) -> PayoutMixin:
        """Make a refund in a transaction of its own; arguments and errors as for `refund`."""
        with self.parts.sessions.own() as session:
            # Rolled back at the end of this block, unless it is committed.
            reference = self.refund(checkout_id, amount, by, why, send=send, seen=seen).reference
            session.commit()
        return self.payout_moves.payouts.require(reference)

    def _reject_held(self, transaction: ShopTransaction, held: CheckoutMixin, by: str, why: str, now: datetime) -> None:
        """Reject a held payment in the transaction of its refund, so that nobody can accept it any more."""
        if held.status != Status.HELD:
            return
        rejection = decided(held, Decision(False, by, why), now, Evidence.REJECTED)
        moved = self.moves.move_in(transaction.connection, transaction, held, rejection, now, leased=False)
        if moved is None:
            raise RuntimeError(f"checkout {held.checkout_id!r} changed although its row is locked")

    def _status(self, to: Destination | ByHand | None, approve: bool | None, *sums: Amount) -> PayoutStatus:
        """The first state of a payout.

        :param sums: what is sent, and what it counts; a person approves it when either reaches its currency's limit.
        """
        if to is None:
            return PayoutStatus.CLAIMABLE
        if approve is None:
            limits = self.parts.settings.approve_over
            approve = any(each.currency in limits and each.amount >= limits[each.currency] for each in sums)
        return PayoutStatus.WAITING if yes_or_no("approve", approve) else PayoutStatus.READY

    def _insert(
        self,
        session: Session,
        row: dict[str, Any],
        amount: Decimal,
        to: Destination | ByHand | None,
        status: PayoutStatus,
        end_of_claim: datetime | None = None,
        **facts: str | None,
    ) -> PayoutMixin | None:
        """Insert a payout; None when its reference is taken, also by a transaction that was committed meanwhile.

        :param end_of_claim: the time until which its receiver may say where the money goes.
        :param facts: for the first line of the history; `why` also for the deed of the person who asked for it.
        """
        model: Any = self.parts.models.Payout
        connection = session.connection(bind_arguments={"clause": self.parts.models.payouts})
        key = installation_key(connection, self.parts.models.services)
        now = self.parts.clock()
        values = row | {
            "service_reference": service_reference(key, row["account"], row["reference"], 1),
            "exact_amount": f"{amount:f}",
            "status": status,
            "created_at": now,
            "moved_at": now,
            "next_attempt_at": now if status is PayoutStatus.READY else end_of_claim,
            "history": line(now, Entry.CREATED, total=f"{amount:f} {row['currency']}", **facts),
            **(destination_columns(to, self.sealing) if to is not None else {}),
        }
        inserting = insert_in(connection, model).values(values)
        statement = inserting.on_conflict_do_nothing(index_elements=[model.reference])
        stored: PayoutMixin | None = session.scalars(statement.returning(model)).one_or_none()
        if stored is not None and stored.asked_by is not None:
            deed = ("asked", stored.reference) if stored.refund_of is None else ("refunded", stored.refund_of)
            why, deeds = facts.get("why"), self.parts.models.deeds
            record_deed(connection, deeds, now, stored.asked_by, *deed, why, stored.order_id)
        return stored

    def _difference(
        self, known: PayoutMixin, amount: Decimal, currency: str, to: Destination | None, account: str
    ) -> str | None:
        """The first part of the content that differs from the stored payout's."""
        if Decimal(known.asked_amount or known.exact_amount) != amount:
            return "amount"
        for name, given in {"currency": currency, "account": account}.items():
            if getattr(known, name) != given:
                return name
        if to is None or known.is_claimed:
            return None if to is None and known.is_claimed else "destination"
        same = self.sealing.is_fingerprint_of(known.fingerprint, to) if known.fingerprint else False
        if same is None:
            # The secret key that made the fingerprint is gone; the masked form is what remains.
            same = known.destination == to.masked
        return None if same else "destination"


def destination_columns(to: Destination | ByHand, sealing: Sealing) -> dict[str, Any]:
    """The columns of a payout that hold its destination."""
    columns = {"to_kind": kind_of(to), "destination": to.masked}
    if isinstance(to, ByHand):
        return columns
    return columns | {"to_details": sealing.seal(to), "fingerprint": sealing.fingerprint(to)}


def _sum_to_send(send: Any, paid_in: str) -> Amount:
    """The sum that is sent in place of the currency that was paid."""
    if not isinstance(send, (tuple, list)) or len(send) != 2:
        raise TypeError("send must be an amount and a currency, such as ('12.40', 'usdc-polygon')")
    amount, currency = send
    exact = positive_amount(amount, currency, "send")
    if currency == paid_in:
        raise ValueError(f"send must be in another currency than {paid_in}, which was paid; else leave it out")
    return Amount(exact, currency)
