"""The rows that an audit compares, in pages along an index, and the rows that a disbursement may belong to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Engine, Select, Table, and_, func, or_, select, tuple_

from flask_paycheckout.books.account_names import stored_accounts
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.autocommit import autocommit
from flask_paycheckout.database.mapping import MOMENT
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutStatus

if TYPE_CHECKING:
    from flask_paycheckout.models import Models

__all__ = ["AuditRows", "Row", "Scope", "Source", "earlier"]

Row = Mapping[Any, Any]
Conditions = list[ColumnElement[bool]]

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


@dataclass(frozen=True)
class Source:
    """Rows of one table in the order of a time, or of their ids."""

    table: Table
    wanted: Conditions
    moment: str | None = None
    """The column of the time; None for the order of ids."""


class AuditRows:
    """Reads the rows of one audit. Every statement is short, and no connection is kept while the service is read.

    :param reach: for how long after its creation money may arrive for a checkout.
    """

    def __init__(self, engine: Callable[[], Engine], models: Models, scope: Scope, reach: timedelta) -> None:
        self._engine = autocommit(engine())
        self._models = models
        self.scope = scope
        c = models.checkouts.c
        no_money = [c.payment_completed_at.is_(None), *self._of_account(c)]
        since = [] if scope.since is None else [c.created_at >= earlier(scope.since, reach)]
        self.unpaid = Source(models.checkouts, [*since, c.created_at < scope.until, *no_money], "created_at")
        """Checkouts without money for which some could have arrived in the period, by creation."""

        self.paid = Source(
            models.checkouts, self._within(models.checkouts, "payment_completed_at"), "payment_completed_at"
        )
        """Checkouts whose money arrived in the period, by its time."""

        token = models.payouts.c.currency.contains("-")
        sent = self._sent(models.payouts.c)
        # The service knows nothing of what a person gave back by hand.
        asked = [*sent, models.payouts.c.to_kind.is_distinct_from("hand")]
        self.payouts = Source(models.payouts, [*asked, ~token])
        """Payouts of the period to bank accounts that the service may have."""

        self.tokens = Source(models.payouts, [*asked, token])
        """Payouts of the period in tokens, which the service does not show."""

        self.paid_out = Source(models.payouts, sent)
        """All payouts of the period."""

        self.lines = Source(models.bookings, self._within(models.bookings, "booked_at"), "booked_at")
        """The lines of the books of the period."""

    def count(self, *sources: Source) -> int:
        """The number of rows."""
        with self._engine.connect() as connection:
            counted = [select(func.count()).select_from(one.table).where(*one.wanted) for one in sources]
            return sum(connection.execute(statement).scalar_one() for statement in counted)

    def pages(self, source: Source, size: int) -> Iterator[Sequence[Row]]:
        """The rows in pages, each read when it is asked for."""
        c, after = source.table.c, None
        place: list[Any] = [c[source.moment], c.id] if source.moment is not None else [c.id]
        page = select(source.table).where(*source.wanted).order_by(*place).limit(size)
        while True:
            rows = self._read(page if after is None else page.where(tuple_(*place) > after))
            if not rows:
                return
            yield rows
            after = tuple(as_utc(at) if isinstance(at := rows[-1][column.name], datetime) else at for column in place)

    def accounts(self) -> list[str]:
        """The merchant accounts whose disbursements are listed, that of the settings among them."""
        if self.scope.account is not None:
            return [self.scope.account]
        with self._engine.connect() as connection:
            return sorted({"", *stored_accounts(connection, self._models, _MOST_ACCOUNTS)})

    def checkouts_now(self, ids: Collection[int]) -> dict[int, CheckoutMixin]:
        """Checkouts as they are now, by the id of the row."""
        return {row["id"]: self.checkout(row) for row in self._of(self._models.checkouts, "id", ids)}

    def checkout(self, row: Row) -> CheckoutMixin:
        """The checkout of a row."""
        return self._models.checkout_of_row(row)

    def payout(self, row: Row) -> PayoutMixin:
        """The payout of a row."""
        return self._models.payout_of_row(row)

    def payouts_now(self, ids: Collection[int]) -> dict[int, PayoutMixin]:
        """Payouts as they are now, by the id of the row."""
        return {row["id"]: self.payout(row) for row in self._of(self._models.payouts, "id", ids)}

    def payouts_by(self, column: str, values: Collection[str]) -> dict[str, PayoutMixin]:
        """Payouts by a column that names them to the service."""
        return {row[column]: self.payout(row) for row in self._of(self._models.payouts, column, values)}

    def by_booked_reference(self, references: Collection[str]) -> dict[str, PayoutMixin]:
        """Payouts that were sent under a reference and then tried again under another one, by the earlier one."""
        booked = self._of(self._models.bookings, "subject", references)
        owners = {row["subject"]: row["reference"] for row in booked if row["reference"] is not None}
        payouts = self.payouts_by("reference", set(owners.values()))
        return {earlier: payouts[owner] for earlier, owner in owners.items() if owner in payouts}

    def with_lines(
        self, names: Collection[str], *, payouts: bool
    ) -> tuple[dict[str, Row], dict[str, list[Row]], dict[str, set[datetime]]]:
        """Checkouts or payouts by id or reference, their lines in the order of changes, and when they were sent."""
        models, lines, sent = self._models, dict[str, list[Row]](), dict[str, set[datetime]]()
        table, name, subject = (
            (models.payouts, "reference", "reference") if payouts else (models.checkouts, "checkout_id", "subject")
        )
        stored = {row[name]: row for row in self._of(table, name, names)}
        for line in sorted(self._of(models.bookings, subject, names), key=lambda line: (line["change"], line["id"])):
            lines.setdefault(line[subject], []).append(line)
        for event in self._of(models.events, "payout_reference", names) if payouts else ():
            if event["name"] == "payout_sent":
                sent.setdefault(event["payout_reference"], set()).add(as_utc(event["occurred_at"]))
        return stored, lines, sent

    def is_in_period(self, payout: PayoutMixin) -> bool:
        """Whether a payout is one of `payouts`."""
        if payout.taken_at is None and payout.status not in _TRACES:
            return False
        return self.scope.contains(payout.taken_at or payout.created_at)

    def _sent(self, c: Any) -> Conditions:
        scope = self.scope
        taken: ColumnElement[Any] = func.coalesce(c.taken_at, c.created_at, type_=MOMENT)
        period = and_(taken < scope.until, *([] if scope.since is None else [taken >= scope.since]))
        return [period, or_(c.taken_at.is_not(None), c.status.in_(_TRACES)), *self._of_account(c)]

    def _within(self, table: Table, column: str) -> Conditions:
        at, scope = table.c[column], self.scope
        since = [] if scope.since is None else [at >= scope.since]
        return [*since, at < scope.until, *self._of_account(table.c)]

    def _of(self, table: Table, column: str, values: Collection[Any]) -> Sequence[Row]:
        return self._read(select(table).where(table.c[column].in_(values))) if values else []

    def _read(self, statement: Select[Any]) -> Sequence[Row]:
        with self._engine.connect() as connection:
            return connection.execute(statement).mappings().all()

    def _of_account(self, c: Any) -> Conditions:
        return [] if self.scope.account is None else [c.account == self.scope.account]


def earlier(moment: datetime, by: timedelta) -> datetime:
    """A time before another, or the first that there is."""
    try:
        return moment - by
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)
