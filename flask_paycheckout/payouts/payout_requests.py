"""Requests for payouts: rows in the shop's own transaction. Nothing is sent before its commit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import select

from flask_paycheckout.clock import moment_after
from flask_paycheckout.database.deeds import record_deed, stored_name, who_and_why, yes_or_no
from flask_paycheckout.database.state_table import Entry, insert_in, line
from flask_paycheckout.database.transactions import ShopTransaction, ShopTransactions
from flask_paycheckout.errors import PayoutConflict
from flask_paycheckout.payouts.destinations import ERASED, ByHand, Destination, Sealing, kind_of, require_destination
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_moves import PayoutMoves
from flask_paycheckout.payouts.payout_states import PayoutKind, PayoutState
from flask_paycheckout.payouts.payout_table import service_reference
from flask_paycheckout.text import one_line, require_order_id
from flask_paycheckout.totals import Amount, plain_code, positive_amount
from flask_paycheckout.wiring import Wiring

Number = Decimal | int | str

_MAX_NOTE = 255


@dataclass(frozen=True, eq=False)
class PayoutRequests:
    """Adds payouts to the shop's `db.session`."""

    wiring: Wiring
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
        reference = require_order_id(reference, "reference")
        exact = Amount(positive_amount(amount, currency), plain_code(currency))
        if to is not None:
            require_destination(to, currency)
            if expires is not None:
                raise ValueError("expires is for a payout without `to`: what has a destination waits for nobody")
        account = self.wiring.require_account(account)
        asked_by = None if by is None else stored_name(who_and_why(by, "-")[0])
        row = {
            "reference": reference,
            "kind": PayoutKind.PAYOUT,
            "note": None if note is None else one_line("note", note, _MAX_NOTE),
            "order_id": None if order_id is None else require_order_id(order_id),
            "account": account,
            "asked_by": asked_by,
            "claim_ends_at": None if expires is None else moment_after(self.wiring.clock(), expires),
        }
        state = self.first_state(to, approve, exact)
        transaction = self.shop.within(self.wiring.sessions.of_context())
        key = self.payout_moves.payouts.installation_key(transaction.connection)
        row["service_reference"] = service_reference(key, account, reference, 1)
        stored = self.add(transaction, row, exact, to, state, self.wiring.clock(), by=asked_by)
        if stored is not None:
            return stored
        columns = {"kind": PayoutKind.PAYOUT, "currency": currency, "account": account}
        return self.same(transaction, reference, exact.amount, to, columns)

    def first_state(self, to: Destination | ByHand | None, approve: bool | None, *sums: Amount) -> PayoutState:
        """The first state of a payout.

        :param sums: the amount to send, and the amount that a refund counts; a person approves it if either reaches its
            currency's limit.
        """
        if to is None:
            return PayoutState.CLAIMABLE
        if approve is None:
            limits = self.wiring.settings.approve_over
            approve = any(each.currency in limits and each.amount >= limits[each.currency] for each in sums)
        return PayoutState.WAITING if yes_or_no("approve", approve) else PayoutState.READY

    def add(
        self,
        transaction: ShopTransaction,
        row: dict[str, Any],
        sent: Amount,
        to: Destination | ByHand | None,
        state: PayoutState,
        now: datetime,
        **facts: str | None,
    ) -> PayoutMixin | None:
        """Insert a payout; None if its reference is taken, even by a transaction that was committed meanwhile.

        :param facts: facts for the first line of the history; `why` is also stored in the deed of the person who
            requested it.
        """
        model: Any = self.wiring.models.Payout
        connection = transaction.connection
        values = row | {
            "exact_amount": f"{sent.amount:f}",
            "currency": sent.currency,
            "status": state.status,
            "state": state,
            "created_at": now,
            "moved_at": now,
            "due_at": now if state is PayoutState.READY else None,
            "history": line(now, Entry.CREATED, total=str(sent), **facts),
            **({} if to is None else destination_columns(to, self.sealing)),
        }
        inserting = insert_in(connection, model).values(values).on_conflict_do_nothing(index_elements=[model.reference])
        stored: PayoutMixin | None = transaction.session.scalars(inserting.returning(model)).one_or_none()
        if stored is None:
            return None
        if stored.asked_by is not None:
            deed = ("asked", stored.reference) if stored.refund_of is None else ("refunded", stored.refund_of)
            why, deeds = facts.get("why"), self.wiring.models.deeds
            record_deed(connection, deeds, now, stored.asked_by, *deed, why, stored.order_id)
        if state is PayoutState.CLAIMABLE:
            self.payout_moves.ask_for_claim(connection, transaction, stored, now)
        return stored

    def stored(self, transaction: ShopTransaction, reference: str) -> PayoutMixin | None:
        """The payout in the shop's transaction; read from the writer even if the session reads from a replica."""
        model: Any = self.wiring.models.Payout
        session, writer = transaction.session, {"bind": self.wiring.sessions.engine_of(transaction.session)}
        payouts = session.scalars(select(model).filter_by(reference=reference), bind_arguments=writer)
        payout: PayoutMixin | None = payouts.one_or_none()
        return payout

    def same(
        self,
        transaction: ShopTransaction,
        reference: str,
        amount: Decimal | None,
        to: Destination | ByHand | None,
        columns: dict[str, Any],
    ) -> PayoutMixin:
        """The stored payout with this reference, which must have this content.

        :param amount: the amount to send; None accepts any amount.
        :param columns: further columns.
        :raises PayoutConflict: it has other content, or was stored by a transaction that this one does not see.
        """
        with transaction.session.no_autoflush:
            payout = self.stored(transaction, reference)
        if payout is None:
            raise PayoutConflict(reference, "content")
        differences = {name: getattr(payout, name) != value for name, value in columns.items()}
        stored_amount = Decimal(payout.asked_amount or payout.exact_amount)
        differences |= {"amount": amount not in (None, stored_amount), "destination": not self._goes_to(payout, to)}
        for name, differs in differences.items():
            if differs:
                raise PayoutConflict(reference, name)
        return payout

    def _goes_to(self, payout: PayoutMixin, to: Destination | ByHand | None) -> bool:
        """Whether a payout was requested with this destination; None means that its receiver names one."""
        if to is None or payout.is_claimed:
            return to is None and payout.is_claimed
        if isinstance(to, ByHand) or payout.destination == ERASED:
            # An erased destination leaves only its kind to compare.
            return payout.to_kind == kind_of(to)
        same = self.sealing.is_fingerprint_of(payout.fingerprint, to) if payout.fingerprint else False
        # If the secret key of the fingerprint is gone, compare the masked form.
        return payout.destination == to.masked if same is None else same


def destination_columns(to: Destination | ByHand, sealing: Sealing) -> dict[str, Any]:
    """The columns of a payout that hold its destination."""
    columns = {"to_kind": kind_of(to), "destination": to.masked}
    if isinstance(to, ByHand):
        return columns
    return columns | {"to_details": sealing.seal(to), "fingerprint": sealing.fingerprint(to)}
