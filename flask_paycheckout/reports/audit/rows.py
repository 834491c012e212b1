"""The rows that an audit compares, in pages along an index, and the rows that a disbursement may belong to."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Engine, Select, and_, func, or_, select, tuple_

from flask_paycheckout.clock import as_utc
from flask_paycheckout.reports.audit.deposits import MONEY_COLUMNS, CheckoutRow
from flask_paycheckout.rules.payout_states import PayoutStatus
from flask_paycheckout.store.account_names import stored_accounts
from flask_paycheckout.store.autocommit import autocommit
from flask_paycheckout.store.mapping import MOMENT
from flask_paycheckout.store.models import Models
from flask_paycheckout.store.payout_model import PayoutMixin
from flask_paycheckout.totals import Pay, Receive, Total

__all__ = ["After", "AuditRows", "Scope", "earlier"]

After = Sequence[Any] | None
"""A position in the rows, as JSON has it: a time and a row's id; None for the beginning."""

# More accounts than any shop has: each is listed once.
_MOST_ACCOUNTS = 1_000_000
# A status in which a payout may be at the service, when it is not known when it was taken.
_TRACES = [
    status.value
    for status in (
        PayoutStatus.SENDING,
        PayoutStatus.SENT,
        PayoutStatus.COMPLETED,
        PayoutStatus.FAILED,
        PayoutStatus.UNKNOWN,
    )
]
_OURS = re.compile(r"[A-Za-z0-9-]+-[0-9a-f]{16}")
_PLAIN = ("id", "checkout_id", "order_id", "account", "client_id", "status", "reason", "deposit_status", "problem")
_MOMENTS = ("created_at", "moved_at", "next_read_at", "payment_completed_at")
_TOTAL = ("total_kind", "total_amount", "total_currency", "total_other_currency")


@dataclass(frozen=True)
class Scope:
    """What an audit compares."""

    since: datetime | None
    """The beginning of the period; None for the first row."""

    until: datetime
    """The end of the period, not included; at the latest the beginning of the audit, so that its rows keep still."""

    account: str | None
    """Only this merchant account; None for all."""

    def contains(self, moment: datetime | None, margin: timedelta = timedelta()) -> bool:
        """Whether a time is in the period; one that nobody knows is."""
        if moment is None:
            return True
        return moment < self.until + margin and (self.since is None or moment >= earlier(self.since, margin))


class AuditRows:
    """Reads the rows of one audit. Every statement is short, and no connection is kept while the service is read.

    :param reach: for how long after its creation money may arrive for a checkout.
    """

    def __init__(self, engine: Callable[[], Engine], models: Models, scope: Scope, reach: timedelta) -> None:
        self._engine = autocommit(engine())
        self._models = models
        self._scope = scope
        self._reach = reach

    def count(self) -> int:
        """The number of checkouts and payouts that are compared."""
        checkouts, payouts = self._models.checkouts, self._models.payouts
        parts = ((checkouts, self._unpaid()), (checkouts, self._paid()), (payouts, self._payouts()))
        with self._engine.connect() as connection:
            return sum(
                connection.execute(select(func.count()).select_from(table).where(*conditions)).scalar_one()
                for table, conditions in parts
            )

    def count_tokens(self) -> int:
        """The number of payouts in tokens in the period, which the service cannot show."""
        counted = select(func.count()).select_from(self._models.payouts).where(*self._payouts(tokens=True))
        with self._engine.connect() as connection:
            return connection.execute(counted).scalar_one()

    def accounts(self) -> list[str]:
        """The merchant accounts whose disbursements are listed, that of the settings among them."""
        if self._scope.account is not None:
            return [self._scope.account]
        with self._engine.connect() as connection:
            return sorted({"", *stored_accounts(connection, self._models, _MOST_ACCOUNTS)})

    # Checkouts

    def unpaid(self, after: After, limit: int) -> Sequence[CheckoutRow]:
        """Checkouts without money for which some could have arrived in the period, by creation."""
        return self._checkouts(self._unpaid(), self._models.checkouts.c.created_at, after, limit)

    def paid(self, after: After, limit: int) -> Sequence[CheckoutRow]:
        """Checkouts whose money arrived in the period, by its time."""
        return self._checkouts(self._paid(), self._models.checkouts.c.payment_completed_at, after, limit)

    def checkouts_now(self, ids: Collection[int]) -> dict[int, CheckoutRow]:
        """Checkouts as they are now, by the id of the row."""
        return {row.id: row for row in self._read(self._select().where(self._models.checkouts.c.id.in_(ids)))}

    def _unpaid(self) -> list[ColumnElement[bool]]:
        c, scope = self._models.checkouts.c, self._scope
        since = [] if scope.since is None else [c.created_at >= earlier(scope.since, self._reach)]
        return [*since, c.created_at < scope.until, c.payment_completed_at.is_(None), *self._of_account(c)]

    def _paid(self) -> list[ColumnElement[bool]]:
        c, scope = self._models.checkouts.c, self._scope
        since = [] if scope.since is None else [c.payment_completed_at >= scope.since]
        return [*since, c.payment_completed_at < scope.until, *self._of_account(c)]

    def _checkouts(
        self, conditions: list[ColumnElement[bool]], moment: ColumnElement[Any], after: After, limit: int
    ) -> Sequence[CheckoutRow]:
        c = self._models.checkouts.c
        page = self._select().where(*conditions).order_by(moment, c.id).limit(limit)
        if after is not None:
            page = page.where(tuple_(moment, c.id) > (datetime.fromisoformat(after[0]), after[1]))
        return self._read(page)

    def _select(self) -> Select[Any]:
        c = self._models.checkouts.c
        names = (*_PLAIN, *_MOMENTS, *_TOTAL, *MONEY_COLUMNS)
        return select(*(c[name] for name in names))

    def _read(self, statement: Select[Any]) -> Sequence[CheckoutRow]:
        with self._engine.connect() as connection:
            return [_checkout(row) for row in connection.execute(statement).mappings()]

    # Payouts

    def payouts(self, after: int, limit: int) -> Sequence[PayoutMixin]:
        """Payouts of the period to bank accounts that the service may have, by the id of the row."""
        c = self._models.payouts.c
        return self._load(
            select(self._models.payouts).where(c.id > after, *self._payouts()).order_by(c.id).limit(limit)
        )

    def payouts_now(self, ids: Collection[int]) -> dict[int, PayoutMixin]:
        """Payouts as they are now, by the id of the row."""
        return {row.id: row for row in self._of("id", ids)}

    def by_service_reference(self, references: Collection[str]) -> dict[str, PayoutMixin]:
        """Payouts by the reference that the service was given."""
        return {row.service_reference: row for row in self._of("service_reference", references)}

    def by_disbursement_id(self, ids: Collection[str]) -> dict[str, PayoutMixin]:
        """Payouts by the service's id."""
        return {str(row.disbursement_id): row for row in self._of("disbursement_id", ids)}

    def by_replaced_reference(self, references: Collection[str]) -> dict[str, PayoutMixin]:
        """Payouts that were tried again under another reference, by the earlier one."""
        found = self._by_booked_reference(references)
        c = self._models.payouts.c
        # What an older version sent is not booked. Only references of ours: each costs a look at all histories.
        for reference in filter(_OURS.fullmatch, set(references) - set(found)):
            told = c.history.contains(f'"replaced":"{reference}"', autoescape=True)
            for row in self._load(select(self._models.payouts).where(told).limit(1)):
                found[reference] = row
        return found

    def _by_booked_reference(self, references: Collection[str]) -> dict[str, PayoutMixin]:
        c = self._models.bookings.c
        booked = select(c.subject, c.reference).where(c.subject.in_(references), c.reference.is_not(None)).distinct()
        with self._engine.connect() as connection:
            owners = {row[0]: row[1] for row in connection.execute(booked)} if references else {}
        payouts = {row.reference: row for row in self._of("reference", set(owners.values()))}
        return {booked: payouts[owner] for booked, owner in owners.items() if owner in payouts}

    def is_in_period(self, payout: PayoutMixin) -> bool:
        """Whether a payout is one of those that `payouts` gives."""
        if payout.taken_at is None and payout.status not in _TRACES:
            return False
        return self._scope.contains(payout.taken_at or payout.created_at)

    def _payouts(self, *, tokens: bool = False) -> list[ColumnElement[bool]]:
        c, scope = self._models.payouts.c, self._scope
        taken: ColumnElement[Any] = func.coalesce(c.taken_at, c.created_at, type_=MOMENT)
        period = and_(taken < scope.until, *([] if scope.since is None else [taken >= scope.since]))
        token = c.currency.contains("-")
        return [
            period,
            or_(c.taken_at.is_not(None), c.status.in_(_TRACES)),
            token if tokens else ~token,
            *self._of_account(c),
        ]

    def _of(self, column: str, values: Collection[Any]) -> Sequence[PayoutMixin]:
        if not values:
            return []
        return self._load(select(self._models.payouts).where(self._models.payouts.c[column].in_(values)))

    def _load(self, statement: Select[Any]) -> Sequence[PayoutMixin]:
        with self._engine.connect() as connection:
            return [self._models.payout_of_row(row) for row in connection.execute(statement).mappings()]

    def _of_account(self, c: Any) -> list[ColumnElement[bool]]:
        return [] if self._scope.account is None else [c.account == self._scope.account]


def earlier(moment: datetime, by: timedelta) -> datetime:
    """A time before another, or the first that there is."""
    try:
        return moment - by
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _checkout(row: Mapping[Any, Any]) -> CheckoutRow:
    return CheckoutRow(
        **{name: row[name] for name in _PLAIN},
        created_at=as_utc(row["created_at"]),
        moved_at=as_utc(row["moved_at"]),
        total=_total(*(row[name] for name in _TOTAL)),
        payment={name: row[name] for name in MONEY_COLUMNS},
        completed_at=_moment(row["payment_completed_at"]),
        next_read_at=_moment(row["next_read_at"]),
    )


def _moment(value: datetime | None) -> datetime | None:
    return None if value is None else as_utc(value)


def _total(kind: str, amount: str, currency: str, other: str | None) -> Total | None:
    """The total that was asked for; None when another program wrote something else."""
    try:
        return (
            Pay(amount, currency, receive_in=other) if kind == "pay" else Receive(amount, currency, pay_in=str(other))
        )
    except (ValueError, TypeError):
        return None
