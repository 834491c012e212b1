"""An overview of the stored payouts: pages of all, counts, and short lists of what may need a person."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select

from flask_paycheckout.clock import as_utc
from flask_paycheckout.rules.payout_states import RELEASING, WIPING, PayoutKind, PayoutStatus
from flask_paycheckout.store.models import Models
from flask_paycheckout.store.overview import LISTED, PATIENCE

__all__ = ["FAILED_FOR", "ListedPayout", "PayoutOverview", "PayoutPage"]

FAILED_FOR = timedelta(days=7)
"""The time for which a failed payout needs a person; after that it is only counted."""

# A customer who has not said where a refund goes by then has not seen the link.
_UNCLAIMED = timedelta(days=7)
# Banks take some days; with no news after this time the transfer is worth a question.
_LONGEST_TRANSFER = timedelta(days=7)
_UNDER_WAY = (PayoutStatus.READY, PayoutStatus.SENDING, PayoutStatus.SENT)
# A position of a page, with no more digits than a database accepts.
_MAX_PLACE_DIGITS = 18


@dataclass(frozen=True)
class ListedPayout:
    """A payout or refund as lists show it: without its history, and with its destination masked."""

    reference: str
    service_reference: str
    kind: str
    status: str
    amount: str
    """The exact amount."""

    currency: str
    order_id: str | None
    refund_of: str | None
    """The id of the checkout whose money a refund pays back."""

    account: str
    destination: str | None
    """The destination with a masked account number; None until a customer has said it."""

    revision: int
    """The number of changes of the destination, which an approval names."""

    disbursement_id: str | None
    problem: str | None
    """The last error, until there is a success."""

    created_at: datetime
    moved_at: datetime
    """The time when the state last changed."""


@dataclass(frozen=True)
class PayoutPage:
    """One page of payouts; `next_place` is the position of the next page, None on the last."""

    payouts: tuple[ListedPayout, ...]
    next_place: str | None


class PayoutOverview:
    """The overview of one app's payouts at a moment.

    :param connection: of the transaction that reads.
    :param account: only of this merchant account; None: of all.
    """

    def __init__(self, connection: Connection, models: Models, now: datetime, account: str | None = None) -> None:
        self._connection = connection
        self._models = models
        self._account = account
        self._payouts = models.payouts
        self._now = now
        self._of_account = [] if account is None else [models.payouts.c.account == account]

    def count_by_status(self) -> dict[str, int]:
        """The number of payouts in each state; every state is named."""
        status = self._payouts.c.status
        counting = select(status, func.count()).where(*self._of_account).group_by(status)
        counted = {row[0]: row[1] for row in self._connection.execute(counting)}
        return {state.value: counted.get(state.value, 0) for state in PayoutStatus}

    def page(self, status: PayoutStatus | None, kind: PayoutKind | None, place: str | None, limit: int) -> PayoutPage:
        """A page of payouts, newest first.

        :param place: `next_place` of the page before; None, or an invalid one, gives the first page.
        """
        c = self._payouts.c
        wanted = [*self._of_account, *([c.status == status.value] if status else [])]
        wanted += [c.kind == kind.value] if kind else []
        if place and place.isascii() and place.isdigit() and len(place) <= _MAX_PLACE_DIGITS:
            wanted.append(c.id < int(place))
        statement = self._columns().add_columns(c.id).where(*wanted).order_by(c.id.desc()).limit(limit + 1)
        rows = self._connection.execute(statement).mappings().all()
        following = str(rows[limit - 1]["id"]) if len(rows) > limit else None
        return PayoutPage(tuple(_listed(row) for row in rows[:limit]), following)

    def has_any(self) -> bool:
        """Whether any payout or refund is stored."""
        return self._connection.execute(select(self._payouts.c.id).limit(1)).first() is not None

    def accounts_to_send(self) -> tuple[str, ...]:
        """The merchant accounts whose payouts are ready to be sent; 100 at most."""
        c = self._payouts.c
        ready = (
            select(c.account)
            .where(c.status == PayoutStatus.READY.value, *self._of_account)
            .distinct()
            .order_by(c.account)
        )
        return tuple(self._connection.execute(ready.limit(LISTED)).scalars())

    def has_account_numbers(self) -> bool:
        """Whether the account number of any payout waits in its row."""
        c = self._payouts.c
        waiting = select(c.id).where(c.status.in_([each.value for each in PayoutStatus if each not in WIPING]))
        kept = waiting.where(c.to_kind == "bank", c.to_details.is_not(None))
        return self._connection.execute(kept.limit(1)).first() is not None

    def waiting(self) -> tuple[ListedPayout, ...]:
        """Payouts that wait for a person's approval, oldest first."""
        return self._oldest(self._payouts.c.status == PayoutStatus.WAITING.value)

    def claimable(self) -> tuple[ListedPayout, ...]:
        """Refunds of which the customer has not said where they go, oldest first."""
        return self._oldest(self._payouts.c.status == PayoutStatus.CLAIMABLE.value)

    def unclaimed(self) -> tuple[ListedPayout, ...]:
        """Those of `claimable` that have waited for more than a week."""
        c = self._payouts.c
        return self._oldest(c.status == PayoutStatus.CLAIMABLE.value, c.moved_at <= self._now - _UNCLAIMED)

    def late(self) -> tuple[ListedPayout, ...]:
        """Payouts under way whose next step is overdue or fails, or of which there was no news for a week."""
        c, patience = self._payouts.c, self._now - PATIENCE
        slow = and_(c.status == PayoutStatus.SENT.value, c.moved_at <= self._now - _LONGEST_TRANSFER)
        # A token transfer that was sent has no next step, and is at its end.
        planned = c.status.in_([status.value for status in _UNDER_WAY]), c.next_attempt_at.is_not(None)
        late = or_(c.next_attempt_at <= patience, c.problem_since <= patience, slow)
        # Not by id: a database could then read the table along its primary key.
        return self._oldest(*planned, late, order=c.moved_at)

    def unknown(self) -> tuple[ListedPayout, ...]:
        """Payouts of which nobody here knows whether they were sent, oldest first."""
        return self._oldest(self._payouts.c.status == PayoutStatus.UNKNOWN.value)

    def failed(self) -> tuple[ListedPayout, ...]:
        """Payouts that failed in the last seven days, without refunds that a later refund has replaced."""
        c, later = self._payouts.c, self._payouts.alias()
        counts = later.c.status.not_in([status.value for status in RELEASING])
        replaced = select(later.c.id).where(later.c.refund_of == c.refund_of, later.c.id > c.id, counts).exists()
        recent = c.moved_at > self._now - FAILED_FOR
        return self._oldest(c.status == PayoutStatus.FAILED.value, recent, ~replaced)

    def _oldest(
        self, *conditions: ColumnElement[bool], order: ColumnElement[Any] | None = None
    ) -> tuple[ListedPayout, ...]:
        first = self._payouts.c.id if order is None else order
        oldest = self._columns().where(*conditions, *self._of_account).order_by(first).limit(LISTED)
        return tuple(_listed(row) for row in self._connection.execute(oldest).mappings())

    def _columns(self) -> Select[Any]:
        return select(*(self._payouts.c[part.name] for part in fields(ListedPayout)))


def _listed(row: Any) -> ListedPayout:
    values = {part.name: row[part.name] for part in fields(ListedPayout)}
    moments = {name: as_utc(values[name]) for name in ("created_at", "moved_at")}
    return ListedPayout(**values | moments)
