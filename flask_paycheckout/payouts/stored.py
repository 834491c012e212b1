"""The table of payouts: its queries, claims of those that are due to be sent, looked up or read, and webhooks.

A claim ends at `next_attempt_at`, so that the rows of a process that died are found again. Moves between states are in
`payouts.payout_moves`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from threading import Event
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, case, exists, func, not_, or_, select, tuple_, update

from flask_paycheckout.checkouts.payments import EXACT
from flask_paycheckout.database.connections import begin_limited
from flask_paycheckout.database.history import Entry, appended, line
from flask_paycheckout.database.state_table import StateTable, lost_races_ignored
from flask_paycheckout.errors import UnknownPayout
from flask_paycheckout.parts import Parts
from flask_paycheckout.payouts.daily_limit import locked_sum
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_schedule import QUESTIONS
from flask_paycheckout.payouts.payout_states import LIVE, PayoutEvidence, PayoutKind, PayoutStatus
from flask_paycheckout.payouts.payout_tries import installation_key
from flask_paycheckout.service.limits import Cooldown

# States that end when a time has passed.
_TIMED = PayoutStatus.CLAIMABLE, PayoutStatus.WAITING

# The payouts in one of these states that one round moves.
_MOVED = 1000
# The reads that one webhook makes due.
_MOST = 10
# The least time between two webhooks that have an effect.
_BETWEEN_HINTS = timedelta(minutes=1)


class RefundState(NamedTuple):
    """A state in which refunds of one amount of a payment are."""

    checkout_id: str
    paid_order_id: str | None
    """The id of the order that the payment paid; None when it paid none."""

    payback: str | None
    status: str
    currency: str
    amount: str
    times: int


@dataclass(frozen=True, eq=False)
class Payouts(StateTable[PayoutMixin]):
    """The stored payouts of one app."""

    parts: Parts
    _has_key: Event = field(default_factory=Event, init=False)

    key = "reference"
    unknown = UnknownPayout
    # Each claim counts as a change, so that a process which lost its claim changes nothing.
    unmoved = ("id", "status", "changes")

    @property
    def model(self) -> type[PayoutMixin]:
        return self.models.Payout

    def planned(self, columns: frozenset[str]) -> dict[str, Any]:
        return super().planned(columns) | {"changes": self.table.c.changes + 1}

    def of_checkout(self, checkout_id: str, connection: Connection | None = None) -> Sequence[PayoutMixin]:
        """The refunds of a checkout, oldest first; `connection` as for `find`."""
        return self.of("refund_of", checkout_id, connection)

    def refund_states(self, order_id: str) -> Sequence[RefundState]:
        """The states of an order's refunds, each once for each payment and amount; without cancelled ones.

        Their number does not grow with the number of refunds of one amount.
        """
        c, of = self.table.c, self.models.checkouts.c
        columns = (of.checkout_id, of.paid_order_id, of.payback, c.status, c.currency, c.amount)
        live = (c.kind == PayoutKind.REFUND, c.status != PayoutStatus.CANCELLED)
        together = self.table.join(self.models.checkouts, of.checkout_id == c.refund_of)
        found = select(*columns, func.count()).select_from(together).where(c.order_id == order_id, *live)
        return [RefundState(*row) for row in self.rows(found.group_by(*columns))]

    def sent_before(self, account: str, client_id: str | None, before: datetime) -> str | None:
        """The service reference of the newest bank transfer that the service had by then; None when there is none."""
        c = self.table.c
        sent = (
            select(c.service_reference)
            .where(c.account == account, c.client_id.is_not_distinct_from(client_id), c.to_kind != "wallet")
            .where(c.status.in_([PayoutStatus.SENT, PayoutStatus.COMPLETED]), c.moved_at < before)
            .where(c.disbursement_id.is_not(None))
        )
        return next((row[0] for row in self.rows(sent.order_by(c.id.desc()).limit(1))), None)

    # Claims

    def backlog(self, due_by: datetime) -> tuple[bool, int]:
        """Whether anything is due to be sent, looked up or read, and the number of payouts that are ready to be sent.

        A shop reconciles before it pays out, so that each backup from which it forgets payouts has the key of their
        service references.
        """
        if not self._has_key.is_set():
            with begin_limited(self.engine()) as connection:
                installation_key(connection, self.models.services)
            self._has_key.set()
        c = self.table.c
        due = exists().where(c.status.in_(LIVE), self._is_due(due_by))
        ready = select(func.count()).where(c.status == PayoutStatus.READY).scalar_subquery()
        ((any_due, count),) = self.rows(select(due, ready))
        return bool(any_due), int(count)

    def overdue(self, due_by: datetime) -> Sequence[PayoutMixin]:
        """Payouts that nobody claimed in time, or that waited for this day; as many as one round moves."""
        return self.loaded(self._oldest(_TIMED, due_by, _MOVED))

    def next_ready(self, due_by: datetime, without: Collection[str], locked: Collection[int]) -> PayoutMixin | None:
        """The payout that is to be sent next, not claimed yet.

        :param without: merchant accounts whose payouts are not sent now, but for those whose payer is certain already.
        :param locked: ids of payouts that other transactions hold, or whose own payer cannot send now.
        """
        c = self.table.c
        free = c.paid_by.is_not(None) | c.account.not_in(without), c.id.not_in(locked)
        return next(iter(self.loaded(self._oldest((PayoutStatus.READY,), due_by, 1, *free))), None)

    def take(
        self, first: PayoutMixin, due_by: datetime, *, paid_by: str, client_id: str | None
    ) -> Sequence[PayoutMixin]:
        """Claim a ready payout to be sent, with others that can go in the same call.

        Tokens go one to a call, as do payouts whose batch was refused, and those that may have been sent before.

        :param paid_by: the account whose access token they are sent with; stored, unless another one is already.
        :param client_id: of that account's keys; stored likewise.

        :returns: the payouts, now sending; empty when other processes have claimed them.
        """
        now, c = self.parts.clock(), self.table.c
        if first.alone or first.is_token or first.paid_by is not None:
            those = [c.id == first.id]
        else:
            those = [c.account == first.account, c.currency == first.currency, c.alone.is_(False), c.paid_by.is_(None)]
        due = self._oldest((PayoutStatus.READY,), due_by, self.parts.settings.payout_batch, *those)
        entry = line(now, Entry.MOVED, to=PayoutStatus.SENDING, rule=PayoutEvidence.TAKEN)
        taking = self._claiming(due, now).values(
            status=PayoutStatus.SENDING,
            moved_at=now,
            taken_at=func.coalesce(c.taken_at, now),
            refused=False,
            next_attempt_at=case((c.earlier.is_not(None), now + QUESTIONS), else_=now + self.parts.claim),
            paid_by=func.coalesce(c.paid_by, paid_by),
            client_id=func.coalesce(c.client_id, client_id),
            history=appended(c.history, entry, always=False),
        )
        limit = self.parts.settings.daily_limit.get(first.currency)
        if limit is None:
            return self.claimed(taking)
        today = {"account": paid_by, "currency": first.currency, "day": now.date().isoformat()}
        return self._take_within(limit, today, due, taking, now)

    def _take_within(
        self, limit: Decimal, today: Mapping[str, str], due: Any, taking: Any, now: datetime
    ) -> Sequence[PayoutMixin]:
        """Claim those of these payouts that the account may still send today; the others wait for the next day.

        :param today: the account, currency and day whose limit it is.
        :param taking: the statement that claims all of them.
        """
        days, admitted, mark = self.models.days, list[int](), f"{today['day']} {today['account']}"
        told = f"{limit:f} {today['currency']}: it waits for the next day, or for approval"
        waiting = {
            "status": PayoutStatus.WAITING,
            "moved_at": now,
            "next_attempt_at": now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1),
            "problem": f"it would exceed the daily limit of {told}",
        }
        entry = line(now, Entry.MOVED, to=PayoutStatus.WAITING, rule=PayoutEvidence.OVER_LIMIT)
        with lost_races_ignored(), begin_limited(self.engine()) as connection:
            sent = locked_sum(connection, days, today)
            for payout in self.loaded(due.with_for_update(skip_locked=True), connection):
                # A payout counts once a day for an account, however often it is tried.
                counted, total = payout.counted_on == mark, EXACT.add(sent, payout.amount)
                if counted or payout.over_limit or total <= limit:
                    admitted.append(payout.id)
                    sent = sent if counted else total
                else:
                    self.change(connection, payout, waiting | {"problem_since": payout.problem_since or now}, entry)
            connection.execute(update(days).filter_by(**today).values(amount=f"{sent:f}"))
            admitting = taking.where(self.table.c.id.in_(admitted)).values(counted_on=mark)
            return sorted(self.loaded(admitting, connection), key=lambda payout: payout.id)
        return []

    def take_due(
        self, status: PayoutStatus, due_by: datetime, limit: int, without: Collection[str]
    ) -> Sequence[PayoutMixin]:
        """Claim payouts to be looked up, or sent ones to be read.

        Those in sending are marked as doubted, unless they were refused: whoever sent them never stored an answer.

        :param status: sending, whose claim has ended or whose next look-up is due; or sent.
        :param without: merchant accounts that are not asked now.
        """
        c = self.table.c
        due = self._oldest((status,), due_by, limit, c.account.not_in(without))
        claiming = self._claiming(due, self.parts.clock())
        doubted = or_(c.doubted, and_(c.status == PayoutStatus.SENDING, not_(c.refused)))
        return self.claimed(claiming.values(doubted=doubted))

    def renew(self, claimed: Sequence[PayoutMixin]) -> Sequence[PayoutMixin]:
        """Prolong the claim of payouts in sending, right before the call.

        :returns: those that nobody else has claimed or changed meanwhile; only these may be sent.
        """
        c = self.table.c
        same = tuple_(c.id, c.changes).in_([(payout.id, payout.changes) for payout in claimed])
        return self.claimed(self._claiming(select(self.table).where(same), self.parts.clock()))

    def _oldest(self, states: Collection[str], due_by: datetime, limit: int, *conditions: ColumnElement[bool]) -> Any:
        """Select the due payouts in these states that have waited for the longest time."""
        table = self.table
        due = select(table).where(table.c.status.in_(states), self._is_due(due_by), *conditions)
        return due.order_by(table.c.next_attempt_at, table.c.id).limit(limit)

    def _is_due(self, due_by: datetime) -> ColumnElement[bool]:
        c = self.table.c
        # One that never failed waits for nothing: it was planned by a clock that is ahead of this one.
        return (c.next_attempt_at <= due_by) | (c.status == PayoutStatus.READY) & (c.failures == 0)

    def _claiming(self, due: Any, now: datetime) -> Any:
        """A statement that claims those of these payouts that nobody has locked."""
        c = self.table.c
        claiming = update(self.table).where(self.unlocked(due.with_only_columns(c.id)))
        return claiming.values(next_attempt_at=now + self.parts.claim, changes=c.changes + 1).returning(*c)

    @cached_property
    def _hinted_lately(self) -> Cooldown:
        return Cooldown(max(self.parts.settings.webhook_cooldown, _BETWEEN_HINTS))

    def receive_hint(self) -> None:
        """Make the next planned reads of sent payouts due, unless a webhook about payouts did so a moment ago.

        Nobody proves who posted it, so that it costs little: a few reads a minute, however many come. Payouts that
        could not be read keep their time. It is no change of the row, so that a read under way still counts.
        """
        now, c = self.parts.clock(), self.table.c
        if not self._hinted_lately.begin("", now):
            return
        waits = c.status == PayoutStatus.SENT, c.next_attempt_at > now, c.failures == 0
        waiting = select(c.id).where(*waits).order_by(c.next_attempt_at, c.id).limit(_MOST)
        hurry = update(self.table).where(self.unlocked(waiting))
        self.claimed(hurry.values(next_attempt_at=now).returning(*c))
