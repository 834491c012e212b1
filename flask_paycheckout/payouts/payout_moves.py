"""Moves of payouts between states: one conditional statement each, with booking and event in the same transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

import msgspec
from sqlalchemy import Connection

from flask_paycheckout.database.connections import lost_races_ignored
from flask_paycheckout.database.deeds import record_deed
from flask_paycheckout.database.state_table import Book, Entry, line
from flask_paycheckout.database.transactions import ShopTransaction, ShopTransactions
from flask_paycheckout.errors import PayoutRefused
from flask_paycheckout.events.events import HeldEvent, NewEvent
from flask_paycheckout.events.receivers import EventWriter
from flask_paycheckout.payouts.daily_limit import LimitedDay
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_schedule import FIRST_READ
from flask_paycheckout.payouts.payout_states import (
    DEED_OF,
    ENDED,
    LIVE,
    PASSED_ON,
    PAYOUT_SIGNAL_OF,
    PAYOUT_TRANSITIONS,
    RELEASING,
    WIPING,
    Doubt,
    PayoutEvidence,
    PayoutState,
    PayoutStatus,
)
from flask_paycheckout.payouts.payout_table import Payouts, late_tries
from flask_paycheckout.payouts.refund_limits import RefundLimits
from flask_paycheckout.totals import EXACT

_SENT_AGAIN = "it, or a refund before it, was said to have come back; compare its transfers with the chain"
# An outage of months must not make histories grow without limit.
_ROUTINE = frozenset({PayoutEvidence.NOT_CARRIED_OUT, PayoutEvidence.ANSWER_LOST, PayoutEvidence.MISSED})
# The number of attempts to mark a failed refund as replaced, because a concurrent note may change its row.
_MAX_ROUNDS = 3
# The ends of a refund that was never sent.
_LAPSES = frozenset({PayoutEvidence.CANCELLED, PayoutEvidence.EXPIRED})
# Evidence from the service that no money left.
_FAILURES = frozenset({PayoutEvidence.FAILED, PayoutEvidence.MISSED})
# Evidence that the service pays a payout that had failed.
_PAID = frozenset({PayoutEvidence.FOUND, PayoutEvidence.AMENDED})


class PayoutMove(msgspec.Struct, frozen=True):
    """A change of a payout's state, to be stored."""

    evidence: PayoutEvidence
    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Further columns of the payout with their values."""

    problem: str | None = None
    """The problem that a person should know of; None clears earlier problems."""

    facts: Mapping[str, object] = msgspec.field(default_factory=dict)
    """Facts for the line of the history, such as who decided, and why."""

    def target(self, payout: PayoutMixin) -> PayoutState:
        """The state of the payout after the move.

        :raises KeyError: the table of states has no such transition.
        """
        return PAYOUT_TRANSITIONS[PayoutState(payout.state), self.evidence]

    def signal(self, to: PayoutState) -> str | None:
        """The name of the signal that announces the move to this state; None if there is none."""
        return PAYOUT_SIGNAL_OF.get(self.evidence, PAYOUT_SIGNAL_OF.get(to))

    @property
    def history_facts(self) -> dict[str, object]:
        """All facts for the line of the history."""
        columns = {"disbursement_id": self.values.get("disbursement_id"), "problem": self.problem}
        return {"rule": self.evidence, **columns, **self.facts}


@dataclass(frozen=True, eq=False)
class PayoutMoves:
    """Moves the stored payouts of one app."""

    payouts: Payouts
    limits: RefundLimits
    book: Book
    events: EventWriter
    transactions: ShopTransactions

    def move(self, payout: PayoutMixin, move: PayoutMove, now: datetime) -> Sequence[HeldEvent] | None:
        """Move a payout, book it, store its event and update the sum of the payment's refunds, in one transaction.

        :returns: the event, leased to the caller, who delivers it; empty if the move has no signal; None if another
            process changed or claimed the payout meanwhile.
        :raises KeyError: the table of states has no such transition.
        :raises RefundTooLarge: a failed refund is retried, but other refunds have taken its money.
        :raises PayoutRefused: as for `_refuse_before_unsent`.
        :raises ReceiverFailed: an atomic receiver raised; nothing was stored.
        """
        signal = move.signal(move.target(payout))
        in_session = signal is not None and self.events.has_atomic(signal)
        with lost_races_ignored(), self.transactions.begin_for(shop=in_session) as (connection, shop):
            return self.move_in(connection, shop, payout, move, now)
        return None

    def move_in(
        self,
        connection: Connection,
        shop: ShopTransaction | None,
        payout: PayoutMixin,
        move: PayoutMove,
        now: datetime,
        *,
        leased: bool = True,
    ) -> Sequence[HeldEvent] | None:
        """Move a payout in a transaction that the caller commits; otherwise like `move`.

        :param shop: the transaction of the shop's session; None when the move's signal has no atomic receiver.
        :param leased: whether the caller delivers the event; otherwise it is due for every process.
        """
        to = move.target(payout)
        status, signal = to.status, move.signal(to)
        is_token = status == PayoutStatus.SENT and payout.is_token
        # Nothing is planned in other states, and the service cannot be asked about tokens.
        planned = {
            PayoutStatus.READY: now,
            PayoutStatus.SENDING: payout.due_at,
            PayoutStatus.SENT: None if is_token else now + FIRST_READ,
        }
        if status in ENDED and _may_be_paid(payout, status, move.values):
            planned[status] = now + FIRST_READ
        # Only a person can see that just one of its transfers was carried out.
        is_again = is_token and self.payouts.had_come_back(payout, connection)
        values = {
            "due_at": planned.get(status),
            "missed_at": None,
            "reported_amount": None,
            **problem_columns(payout, _SENT_AGAIN if is_again else move.problem, now),
            **({"reported_amount": ""} if is_again else {}),
            **move.values,
        }
        values |= {"status": status, "state": to, "moved_at": now}
        if status in WIPING and payout.to_kind == "bank":
            values["to_details"] = None
        # Lock the checkout's row before the payout's own row, in the same order as a new refund.
        more = self._more_counted(payout, status, values)
        payment = self.limits.lock(connection, payout.refund_of, new=False) if more and payout.refund_of else None
        is_paid_after_all = move.evidence is PayoutEvidence.AMENDED and payout.state in PASSED_ON
        if is_paid_after_all:
            self._refuse_before_unsent(connection, payout, move)
        if "service_reference" in values and payout.refund_of is not None:
            self.payouts.renumber(connection, payout.id, values["service_reference"])
        # The status stays while lookups find out about a failed call.
        stays = status == payout.status == PayoutStatus.SENDING
        what, moved_to = (Entry.NO_ANSWER, None) if stays else (Entry.MOVED, status)
        before, entry = self.payouts.models.row_of(payout), line(now, what, to=moved_to, **move.history_facts)
        # A move that decides about money is always recorded.
        row = self.payouts.change(connection, before, values, entry, always=move.evidence not in _ROUTINE)
        if row is None:
            return None
        if payment is not None:
            self.limits.take(connection, payment, more, beyond=is_paid_after_all)
            if more > 0 or move.evidence in _LAPSES:
                left = EXACT.subtract(payment.left.amount, more)
                self._replace_others(connection, payout, more, left, now)
        self._count_of_day(connection, payout, move, to)
        if deed := DEED_OF.get(move.evidence):
            by, why = str(move.facts["by"]), cast("str | None", move.facts["why"])
            record_deed(connection, self.payouts.models.deeds, now, by, deed, payout.reference, why, payout.order_id)
        self.book(connection, before, row, now)
        if signal is None:
            return ()
        # The event's key: notes of failures do not change it, and a retry changes the service reference.
        once = f"{payout.moved_at.timestamp()}:{row['revision']}:{payout.service_reference}:{payout.reference}"
        event = NewEvent(signal, once, payout.refund_of or "", payout.order_id or "", payout.reference)
        return [self.events.store(connection, shop, event, self.payouts, row, now, leased=leased)]

    def ask_for_claim(self, connection: Connection, shop: ShopTransaction, payout: PayoutMixin, now: datetime) -> None:
        """Store the event that a new payout waits until its receiver names a destination, in the shop's transaction."""
        about = payout.refund_of or "", payout.order_id or "", payout.reference
        event = NewEvent("claim_wanted", payout.reference, *about)
        self.events.store(connection, shop, event, self.payouts, self.payouts.models.row_of(payout), now, leased=False)

    def replace(self, connection: Connection, failed: PayoutMixin, by: PayoutMixin, now: datetime) -> None:
        """Mark a failed refund as replaced by one that counts its money, in the caller's transaction."""
        move = PayoutMove(PayoutEvidence.REPLACED, {"replaced_by": by.reference}, failed.problem)
        for _ in range(_MAX_ROUNDS):
            if self.move_in(connection, None, failed, move, now) is not None:
                return
            failed = self.payouts.require(failed.reference, connection)

    def _replace_others(
        self, connection: Connection, refund: PayoutMixin, more: Decimal, left: Decimal, now: datetime
    ) -> None:
        """Mark failed refunds as replaced when a retried refund counts a part of their money.

        Refunds that a lapsed refund had replaced can be retried, unless other refunds count their money by now.

        :param more: the amount by which the refund counts more than before; negative for a lapsed refund.
        :param left: the part of the payment that no refund takes after the move.
        """
        refunds = self.payouts.of_checkout(str(refund.refund_of), connection)
        if more > 0:
            for failed in without_money(refunds, left):
                self.replace(connection, failed, refund, now)
            return
        counted = [each for each in refunds if each.status not in RELEASING]
        for each in refunds:
            if each.replaced_by != refund.reference or each.state != PayoutState.REPLACED:
                continue
            if (each.counts or 0) > left and counted:
                values = {"replaced_by": counted[-1].reference}
                self.payouts.change(connection, self.payouts.models.row_of(each), values, None)
            else:
                restored = PayoutMove(PayoutEvidence.RESTORED, {"replaced_by": None}, each.problem)
                self.move_in(connection, None, each, restored, now)

    def _refuse_before_unsent(self, connection: Connection, payout: PayoutMixin, move: PayoutMove) -> None:
        """Refuse to record that a refund was paid after all while another refund of the payment may still be sent.

        :raises PayoutRefused: another refund may still be sent.
        """
        for other in self.payouts.of_checkout(payout.refund_of, connection) if payout.refund_of else ():
            if other.status in LIVE - {PayoutStatus.SENT}:
                remedy = f"Cancel refund {other.reference} first, which may still be sent."
                raise PayoutRefused(payout.reference, payout.status, move.evidence, remedy)

    @staticmethod
    def _more_counted(payout: PayoutMixin, to: PayoutStatus, values: Mapping[str, Any]) -> Decimal:
        """The amount by which a refund counts more of its payment after a move; negative for less."""
        before = Decimal(0 if payout.status in RELEASING else payout.exact_counts or 0)
        after = Decimal(0 if to in RELEASING else values.get("counts", payout.exact_counts) or 0)
        return EXACT.subtract(after, before)

    def _count_of_day(self, connection: Connection, payout: PayoutMixin, move: PayoutMove, to: PayoutState) -> None:
        """Subtract a payout from the sum of its day if the service says that it failed, or it is cancelled unsent.

        Add it again if the service pays it after all.
        """
        failed = move.evidence in _FAILURES and to == PayoutState.FAILED
        unsent = move.evidence is PayoutEvidence.CANCELLED and payout.doubt is None
        after_all = move.evidence in _PAID and payout.status in RELEASING and payout.doubt != Doubt.DENIED
        if payout.counted_on is None or not (failed or unsent or after_all):
            return
        date, _, account = payout.counted_on.partition(" ")
        key = {"account": account, "currency": payout.currency, "day": date}
        day = LimitedDay(connection, self.payouts.models.days, key, Decimal(0))
        day.correct(payout, left=after_all)
        day.store()


def without_money(refunds: Iterable[PayoutMixin], left: Decimal) -> Sequence[PayoutMixin]:
    """The failed refunds of a payment that cannot be retried, because other refunds count their money.

    :param refunds: all refunds of the payment.
    :param left: the part of the payment that no refund takes.
    """
    return [refund for refund in refunds if refund.state == PayoutState.FAILED and (refund.counts or 0) > left]


def _may_be_paid(payout: PayoutMixin, end: PayoutStatus, values: Mapping[str, Any]) -> bool:
    """Whether the service may still pay a try of a payout that has failed.

    :param end: the status with which it has ended.
    :param values: the columns that the move sets.
    """
    if payout.is_token:
        return False
    disbursement_id, doubt = (values.get(name, getattr(payout, name)) for name in ("disbursement_id", "doubt"))
    has_failed = end in RELEASING and disbursement_id is not None and doubt != Doubt.DENIED
    return has_failed or bool(late_tries(payout.earlier))


def problem_columns(payout: PayoutMixin, problem: str | None, now: datetime) -> dict[str, Any]:
    """The columns that record one more consecutive problem; None clears them."""
    if problem is None:
        return {"problem": None, "problem_since": None, "failures": 0}
    return {"problem": problem, "problem_since": payout.problem_since or now, "failures": payout.failures + 1}
