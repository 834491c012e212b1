"""The rows that an audit compares, in pages by an index, and the rows that a disbursement may belong to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Engine, Select, Table, func, select

from flask_paycheckout.books.lists import Place, pages
from flask_paycheckout.books.periods import Period, earlier
from flask_paycheckout.database.connections import autocommit, read_rows
from flask_paycheckout.database.mapping import MOMENT
from flask_paycheckout.database.models import Models, table_of
from flask_paycheckout.database.state_table import Row
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_table import is_of_account, tries_of
from flask_paycheckout.wiring import Wiring
from flask_paycheckout.wiring.installation import installation_key

T = TypeVar("T")
Ordered = tuple[Select[Any], Sequence[str]]
"""The rows of one table, and the columns that order them: a time, if any, and the id."""


class AuditPlace(NamedTuple):
    """The progress of an audit."""

    step: int
    after: Place | None


BEGIN = AuditPlace(0, None)

# The states in which a payout may be at the service although `taken_at` is NULL.
_TRACES = ("sending", "sent", "completed", "failed", "unknown")


@dataclass(frozen=True)
class AuditRows:
    """Reads the rows of one audit. Every statement is short, and no connection is kept while the service is read.

    :param period: the period, which ends at the latest when the audit begins, so that its rows do not change.
    """

    wiring: Wiring
    period: Period

    @property
    def models(self) -> Models:
        return self.wiring.models

    def unpaid(self) -> Ordered:
        """Checkouts without money whose money could have arrived in the period, in the order of creation."""
        table, pending = self.models.checkouts, self.wiring.settings.pending_for
        longest = pending if isinstance(pending, timedelta) else max(pending.values())
        start = self.period.start and earlier(self.period.start, longest + self.wiring.settings.watch_for)
        created = replace(self.period, start=start).conditions(table, table.c.created_at)
        return select(table).where(*created, table.c.payment_completed_at.is_(None)), ("created_at", "id")

    def paid(self) -> Ordered:
        """Checkouts whose money arrived in the period, in the order of arrival."""
        return self._in_period(self.models.checkouts, "payment_completed_at")

    def lines(self) -> Ordered:
        """The lines of the books of the period."""
        return self._in_period(self.models.bookings, "booked_at")

    def paid_out(self) -> Ordered:
        """Payouts of the period."""
        table = self.models.payouts
        taken = self.period.conditions(table, func.coalesce(table.c.taken_at, table.c.created_at, type_=MOMENT))
        return select(table).where(*taken, table.c.taken_at.is_not(None) | table.c.status.in_(_TRACES)), ("id",)

    def payouts(self, *, tokens: bool = False) -> Ordered:
        """Payouts of the period that the service may have: bank transfers, or token payouts, which it does not show."""
        c, (paid_out, order) = self.models.payouts.c, self.paid_out()
        token = c.currency.contains("-")
        # The service does not have refunds that a person has paid by hand.
        return paid_out.where(c.to_kind.is_distinct_from("hand"), token if tokens else ~token), order

    def retried_tokens(self) -> Ordered:
        """Token payouts of the period that were retried, and token refunds, which may be made in place of others."""
        (paid_out, order), c = self.payouts(tokens=True), self.models.payouts.c
        return paid_out.where(c.earlier.is_not(None) | c.refund_of.is_not(None)), order

    def count(self, *sources: Ordered) -> int:
        """The number of rows."""
        with self._engine.connect() as connection:
            counted = (select(func.count()).select_from(rows.subquery()) for rows, _ in sources)
            return sum(map(connection.scalar, counted))

    def pages(self, source: Ordered, after: Place | None, size: int) -> Iterator[Sequence[Row]]:
        """The rows after a place, in pages, each of which is read when it is requested.

        :param after: the place; its time may be ISO 8601 text.
        """
        place = after and tuple(datetime.fromisoformat(each) if isinstance(each, str) else each for each in after)
        return pages(self._engine, *source, size, place)

    def find(self, model: type[T], column: str, values: Collection[Any]) -> dict[Any, T]:
        """Checkouts or payouts as they are now, by a column with unique values."""
        return {row[column]: self.models.of_row(model, row) for row in self._of(table_of(model), column, values)}

    def by_earlier_reference(self, references: Collection[str]) -> dict[str, PayoutMixin]:
        """Payouts by an earlier service reference; a retried payout has another one now."""
        owners = {each: self._tried_again[each] for each in references if each in self._tried_again}
        payouts = self.find(self.models.Payout, "reference", {*owners.values()})
        return {each: payouts[owner] for each, owner in owners.items()}

    def is_of_its_account(self, payout: Row) -> bool:
        """Whether a payout's service reference was derived for the merchant account in its row."""
        return is_of_account(self.installation_key, payout)

    @cached_property
    def installation_key(self) -> bytes:
        with self.wiring.engine().begin() as connection:
            return installation_key(connection, self.models.installation)

    @cached_property
    def _tried_again(self) -> dict[str, str]:
        """The earlier service references of retried payouts, each with the payout's reference."""
        c = self.models.payouts.c
        retried = read_rows(self._engine, select(c.reference, c.earlier).where(c.earlier.is_not(None)))
        return {each.service_reference: reference for reference, earlier in retried for each in tries_of(earlier)}

    def by(self, table: Table, column: str, values: Collection[str]) -> dict[str, list[Row]]:
        """The rows of each value of a column, in the order in which they were stored."""
        by_value: dict[str, list[Row]] = {value: [] for value in values}
        for row in self._of(table, column, values):
            by_value[row[column]].append(row)
        return by_value

    def _in_period(self, table: Table, moment: str) -> Ordered:
        return select(table).where(*self.period.conditions(table, table.c[moment])), (moment, "id")

    def _of(self, table: Table, column: str, values: Collection[Any]) -> Sequence[Row]:
        query = select(table).where(table.c[column].in_(values)).order_by(table.c.id)
        return [row._mapping for row in read_rows(self._engine, query)] if values else []

    @cached_property
    def _engine(self) -> Engine:
        return autocommit(self.wiring.engine())
