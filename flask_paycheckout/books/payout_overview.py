"""The stored payouts as lists show them, and what of them the doctor looks at."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Select, select

from flask_paycheckout.clock import as_utc
from flask_paycheckout.payouts.payout_states import WIPING, PayoutKind, PayoutStatus

if TYPE_CHECKING:
    from flask_paycheckout.models import Models

__all__ = ["ListedPayout", "PayoutOverview", "PayoutPage"]

_LISTED = 100
# A position of a page, with no more digits than a database accepts.
_MAX_PLACE_DIGITS = 18


@dataclass(frozen=True)
class ListedPayout:
    """A payout or refund as lists show it: without its history, and with its destination masked."""

    id: int
    """The number by which people name a refund."""

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
    """The stored payouts of one app.

    :param connection: of the transaction that reads.
    :param account: only of this merchant account; None: of all.
    """

    def __init__(self, connection: Connection, models: Models, account: str | None = None) -> None:
        self._connection = connection
        self._models = models
        self._account = account
        self._payouts = models.payouts
        self._of_account = [] if account is None else [models.payouts.c.account == account]

    def page(
        self,
        status: PayoutStatus | None,
        kind: PayoutKind | None,
        place: str | None,
        limit: int,
        days: tuple[datetime | None, datetime | None] = (None, None),
    ) -> PayoutPage:
        """A page of payouts, newest first.

        :param place: `next_place` of the page before; None, or an invalid one, gives the first page.
        :param days: only those that were made in this time, its end excluded.
        """
        c, (since, until) = self._payouts.c, days
        wanted = [*self._of_account, *([c.status == status.value] if status else [])]
        wanted += [c.kind == kind.value] if kind else []
        wanted += [c.created_at >= since] if since else []
        wanted += [c.created_at < until] if until else []
        if place and place.isascii() and place.isdigit() and len(place) <= _MAX_PLACE_DIGITS:
            wanted.append(c.id < int(place))
        statement = self._columns().where(*wanted).order_by(c.id.desc()).limit(limit + 1)
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
        return tuple(self._connection.execute(ready.limit(_LISTED)).scalars())

    def has_account_numbers(self) -> bool:
        """Whether the account number of any payout waits in its row."""
        c = self._payouts.c
        waiting = select(c.id).where(c.status.in_([each.value for each in PayoutStatus if each not in WIPING]))
        kept = waiting.where(c.to_kind == "bank", c.to_details.is_not(None))
        return self._connection.execute(kept.limit(1)).first() is not None

    def _columns(self) -> Select[Any]:
        return select(*(self._payouts.c[part.name] for part in fields(ListedPayout)))


def _listed(row: Any) -> ListedPayout:
    values = {part.name: row[part.name] for part in fields(ListedPayout)}
    moments = {name: as_utc(values[name]) for name in ("created_at", "moved_at")}
    return ListedPayout(**values | moments)
