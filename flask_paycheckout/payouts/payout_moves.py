"""Moves of payouts between states: each is one conditional statement, with its booking and event in the transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

import msgspec
from sqlalchemy import Connection

from flask_paycheckout.checkouts.payments import EXACT
from flask_paycheckout.database.deeds import record_deed
from flask_paycheckout.database.history import Entry, line
from flask_paycheckout.database.state_table import Book, lost_races_ignored
from flask_paycheckout.events.event_writer import EventWriter
from flask_paycheckout.events.events import HeldEvent, NewEvent
from flask_paycheckout.events.shop_transaction import ShopTransaction, ShopTransactions
from flask_paycheckout.payouts.paybacks import RefundLimits
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_schedule import FIRST_READ
from flask_paycheckout.payouts.payout_states import (
    DEED_OF,
    PAYOUT_SIGNAL_OF,
    PAYOUT_TRANSITIONS,
    RELEASING,
    WIPING,
    PayoutEvidence,
    PayoutStatus,
)
from flask_paycheckout.payouts.stored import Payouts

# A service that is away for months must not make histories grow without end.
_ROUTINE = frozenset({PayoutEvidence.NOT_CARRIED_OUT, PayoutEvidence.MISSED})


class PayoutMove(msgspec.Struct, frozen=True):
    """A change of a payout's state, to be stored."""

    evidence: PayoutEvidence
    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Further columns of the payout with their values."""

    problem: str | None = None
    """The problem that a person should know of; without one, earlier problems are over."""

    facts: Mapping[str, object] = msgspec.field(default_factory=dict)
    """Facts for the line of the history, such as who decided, and why."""

    def target(self, payout: PayoutMixin) -> PayoutStatus:
        """The state that the payout has after it.

        :raises KeyError: the table of states has no such transition.
        """
        return PAYOUT_TRANSITIONS[PayoutStatus(payout.status), self.evidence]

    def signal(self, payout: PayoutMixin) -> str | None:
        """The name of the signal that tells of it; None without one."""
        return PAYOUT_SIGNAL_OF.get(self.evidence) or PAYOUT_SIGNAL_OF.get(self.target(payout))

    @property
    def told(self) -> dict[str, object]:
        """All facts for the line of the history."""
        known = {"disbursement_id": self.values.get("disbursement_id"), "problem": self.problem}
        return {"rule": self.evidence, **known, **self.facts}


@dataclass(frozen=True, eq=False)
class PayoutMoves:
    """Moves the stored payouts of one app."""

    payouts: Payouts
    limits: RefundLimits
    book: Book
    events: EventWriter
    transactions: ShopTransactions

    def move(self, payout: PayoutMixin, move: PayoutMove, now: datetime) -> Sequence[HeldEvent] | None:
        """Move a payout, book it and store its event, in one transaction; a refund counts against what arrived, or not.

        :returns: the event, leased to the caller, who delivers it, if a signal is sent for this move; None when the
            payout moved, or another process took it, meanwhile.
        :raises KeyError: the table of states has no such transition.
        :raises RefundTooLarge: a failed refund is tried again, and others have taken its money.
        :raises ReceiverFailed: an atomic receiver raised; nothing was stored.
        """
        signal = move.signal(payout)
        with lost_races_ignored():
            in_session = signal is not None and self.events.has_atomic(signal)
            with self.transactions.begin_for(shop=in_session) as (connection, shop):
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
        # Nothing happens by itself in other states, and the service cannot be asked about tokens.
        first_read = None if payout.is_token else now + FIRST_READ
        planned = {PayoutStatus.READY: now, PayoutStatus.SENT: first_read}.get(to)
        values = {"next_attempt_at": planned, "missed_at": None, **problem_columns(payout, move.problem, now)}
        values |= {**move.values, "status": to.value, "moved_at": now}
        if to in WIPING and payout.to_kind == "bank":
            values["to_details"] = None
        entry = line(now, Entry.MOVED, to=to, **move.told)
        # A move that decides about money is always recorded.
        row = self.payouts.change(connection, payout, values, entry, always=move.evidence not in _ROUTINE)
        if row is None:
            return None
        self._count_refund(connection, payout, to, row["counts"])
        if deed := DEED_OF.get(move.evidence):
            by, why = str(move.facts["by"]), cast("str | None", move.facts["why"])
            record_deed(connection, self.payouts.models.deeds, now, by, deed, payout.reference, why, payout.order_id)
        self.book(connection, self.payouts.models.row_of(payout), row, now)
        signal = move.signal(payout)
        if signal is None:
            return ()
        # Notes of failed tries change nothing of this; a payout that is sent again has a new reference at the service.
        once = f"{payout.moved_at.timestamp()}:{row['revision']}:{payout.service_reference}:{payout.reference}"
        event = NewEvent(signal, once, payout.refund_of or "", payout.order_id or "", payout.reference)
        return [self.events.store(connection, shop, event, self.payouts, row, now, leased=leased)]

    def _count_refund(self, connection: Connection, payout: PayoutMixin, to: PayoutStatus, counts: str) -> None:
        """Keep the sum of the checkout's refunds.

        :param counts: the amount that the payout counts after the move.
        """
        if payout.refund_of is None:
            return
        before = Decimal(0 if payout.status in RELEASING else payout.exact_counts or 0)
        after = Decimal(0 if to in RELEASING else counts)
        if before != after:
            refundable = self.limits.lock(connection, payout.refund_of, new=False)
            self.limits.take(connection, refundable, EXACT.subtract(after, before))


def problem_columns(payout: PayoutMixin, problem: str | None, now: datetime) -> dict[str, Any]:
    """The columns that tell of one more problem in a row, or that there is none."""
    if problem is None:
        return {"problem": None, "problem_since": None, "failures": 0}
    return {"problem": problem, "problem_since": payout.problem_since or now, "failures": payout.failures + 1}
