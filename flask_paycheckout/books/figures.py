"""Figures of a period, by currency: payments, refunds, and checkouts that were started but not paid.

Amounts are exact text in the database, so Python sums them as decimals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal, InvalidOperation, localcontext
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, Engine, bindparam, func, select

from flask_paycheckout.books.ledger import LineKind
from flask_paycheckout.books.periods import Period, moment_of
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.connections import read_rows
from flask_paycheckout.database.models import Models
from flask_paycheckout.totals import EXACT, number_of

REFUNDS = (LineKind.REFUND, LineKind.REFUND_RETURNED)
_ZERO = Decimal(0)


@dataclass
class Figures:
    """The figures of one currency."""

    currency: str
    taken: Decimal = _ZERO
    """The sum of the payments in the books."""

    payments: int = 0
    """The number of these payments."""

    fees: Decimal = _ZERO
    """The sum of their fees in this currency."""

    refunded: Decimal = _ZERO
    """The sum that refunds take of payments, less refunds that came back."""

    begun: int = 0
    """The number of checkouts that were created."""

    unpaid: int = 0
    """The number of these checkouts for which no money came, and none is on its way."""

    unpaid_amount: Decimal = _ZERO
    on_its_way: int = 0
    """The number of these checkouts whose customer picked a payment method."""

    on_its_way_amount: Decimal = _ZERO
    by_method: dict[str, tuple[int, Decimal]] = field(default_factory=dict)
    """The number and the sum of the payments by method; "" for an unknown method."""

    by_day: dict[date, Decimal] = field(default_factory=dict)
    """The sum of the payments of each day with a payment."""

    payments_by_day: dict[date, int] = field(default_factory=dict)
    """The number of these payments."""


def figures_of(engine: Engine, models: Models, period: Period, zone: tzinfo) -> list[Figures]:
    """The figures of a period by currency, in alphabetical order.

    :param zone: the time zone of the days.
    """
    by_currency: dict[str, Figures] = {}
    _add_lines(engine, models, period, zone, by_currency)
    _add_checkouts(engine, models, period, by_currency)
    return sorted(by_currency.values(), key=attrgetter("currency"))


def payments_in(engine: Engine, models: Models, period: Period) -> dict[str, Figures]:
    """The payments of a period by currency, without other figures: sums and numbers, also by method."""
    c, by_currency = models.bookings.c, dict[str, Figures]()
    within = c.kind == LineKind.PAYMENT, *period.conditions(models.bookings, c.booked_at)
    payments = select(c.currency, c.method, listed(c.gross), func.count()).where(*within)
    for currency, method, gross, number in read_rows(engine, payments.group_by(c.currency, c.method)):
        _add_payments(_of(by_currency, currency), sum_of(gross), method or "", number)
    return by_currency


def _add_lines(engine: Engine, models: Models, period: Period, zone: tzinfo, by_currency: dict[str, Figures]) -> None:
    c = models.bookings.c
    kinds = c.kind.in_((LineKind.PAYMENT, *REFUNDS))
    of_account = [] if period.account is None else [c.account == period.account]
    # The statement is the same for each day, so that it is compiled once.
    within = c.booked_at >= bindparam("start"), c.booked_at < bindparam("end"), *of_account
    same = c.kind, c.currency, c.method, c.received_currency
    amounts = listed(c.gross), listed(c.fee), listed(c.received)
    lines = select(*same, *amounts, func.count()).where(kinds, *within).group_by(*same)
    # Two subqueries, because SQLite finds each by an index.
    ends = [select(end(c.booked_at)).where(*of_account).scalar_subquery() for end in (func.min, func.max)]
    with engine.connect() as connection:
        first, last = connection.execute(select(*ends)).one()
        for day, start, end in () if first is None else _days(period, as_utc(first), as_utc(last), zone):
            rows = connection.execute(lines, {"start": start, "end": end})
            for kind, currency, method, other, gross, fees, counts, number in rows:
                if kind == LineKind.PAYMENT:
                    figures, amount = _of(by_currency, currency), sum_of(gross)
                    _add_payments(figures, amount, method or "", number)
                    figures.fees = EXACT.add(figures.fees, sum_of(fees))
                    figures.by_day[day] = EXACT.add(figures.by_day.get(day, _ZERO), amount)
                    figures.payments_by_day[day] = figures.payments_by_day.get(day, 0) + number
                else:
                    figures = _of(by_currency, other or currency)
                    figures.refunded = EXACT.subtract(figures.refunded, sum_of(counts if other else gross))


def _add_payments(figures: Figures, amount: Decimal, method: str, payments: int) -> None:
    figures.taken = EXACT.add(figures.taken, amount)
    figures.payments += payments
    count, before = figures.by_method.get(method, (0, _ZERO))
    figures.by_method[method] = count + payments, EXACT.add(before, amount)


def _add_checkouts(engine: Engine, models: Models, period: Period, by_currency: dict[str, Figures]) -> None:
    c = models.checkouts.c
    # Group by the label: pg8000 sends the value twice, and PostgreSQL takes the two for different conditions.
    is_pending = (c.status == Status.PENDING).label("is_pending")
    same = c.total_currency, c.payment_completed_at.is_not(None)
    amounts_due = listed(func.coalesce(c.due_amount, c.total_amount))
    within = period.conditions(models.checkouts, c.created_at)
    query = select(*same, is_pending, amounts_due, func.count()).where(*within).group_by(*same, "is_pending")
    with engine.connect() as connection:
        for currency, paid, pending, amounts, number in connection.execute(query):
            figures, total = _of(by_currency, currency), sum_of(amounts)
            figures.begun += number
            if not paid and pending:
                figures.on_its_way += number
                figures.on_its_way_amount = EXACT.add(figures.on_its_way_amount, total)
            elif not paid:
                figures.unpaid += number
                figures.unpaid_amount = EXACT.add(figures.unpaid_amount, total)


def listed(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """The amounts of a group as one text, because a row for each amount would take longer than all the rest."""
    return func.aggregate_strings(column, " ")


def sum_of(amounts: str | None) -> Decimal:
    """The exact sum of amounts from `listed`, without texts that are no numbers; None stands for no amounts."""
    with localcontext(EXACT):
        try:
            total = sum(map(Decimal, (amounts or "").split()), _ZERO)
        except InvalidOperation:
            total = Decimal("NaN")
        return total if total.is_finite() else sum(filter(None, map(number_of, (amounts or "").split())), _ZERO)


def _of(by_currency: dict[str, Figures], currency: str | None) -> Figures:
    """The figures of a currency; for a line without one, figures that are not kept."""
    return Figures("") if currency is None else by_currency.setdefault(currency, Figures(currency))


def _days(period: Period, first: datetime, last: datetime, zone: tzinfo) -> Iterator[tuple[date, datetime, datetime]]:
    """Each day of a period with its beginning and end, between the first and the last line.

    :param first: the time of the first line; `last` likewise.
    """
    start = first if period.start is None else max(period.start, first)
    until = last if period.end is None else min(period.end - timedelta(microseconds=1), last)
    while start <= until:
        day = start.astimezone(zone).date()
        end = moment_of(day + timedelta(days=1), zone)
        yield day, start, end if period.end is None else min(end, period.end)
        start = end
