"""The owner's first page and the list of orders, with the search in it."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal
from itertools import chain
from typing import Any

from flask import request
from sqlalchemy import Engine
from werkzeug.wrappers import Response

from flask_paycheckout.books.customers import Described
from flask_paycheckout.books.figures import Figures, figures_of, payments_in
from flask_paycheckout.books.lists import (
    ListedOrder,
    Page as OrderPage,
    count_of_orders,
    orders_named,
    page_of_orders,
    refunds_of_orders,
)
from flask_paycheckout.books.periods import Period, moment_of
from flask_paycheckout.books.search import MOST_HITS, Hits, search
from flask_paycheckout.checkouts.payments import Payment, arrived_of, payment_of, sums_of
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.models import Models
from flask_paycheckout.payouts.payout_states import PayoutStatus
from flask_paycheckout.runtime import runtime
from flask_paycheckout.text import request_of
from flask_paycheckout.totals import Amount, amount_of
from flask_paycheckout.views.language import shown
from flask_paycheckout.views.owner_page import Page, chosen, go_to, owner_page, requested_filters
from flask_paycheckout.views.owner_tasks import alarms_of_page, orders_of, tasks_of

_FILTERS = ("search", "status", "from", "to", "after")
_WAITING = (
    PayoutStatus.CLAIMABLE,
    PayoutStatus.WAITING,
    PayoutStatus.READY,
    PayoutStatus.SENDING,
    PayoutStatus.UNKNOWN,
)
_PAID_BACK = (PayoutStatus.SENT, PayoutStatus.COMPLETED)
_ONE_DAY, _NOTHING = timedelta(days=1), Figures("")
# The height of the longest bar in the chart of the days.
_HEIGHT = 80


@dataclass(frozen=True)
class Row:
    """One order in the list."""

    order_id: str
    status: str
    described: Described | None
    attempt: Any
    """The newest attempt, or the one whose money arrived."""

    payment: Payment | None
    """The money of that attempt."""

    arrived: Amount | None
    all_arrived: Sequence[Amount]
    """The sums of all attempts that arrived, by currency."""

    due: Amount | None
    """The order's price; None if another program stored the checkout without an amount."""

    refund: str
    """The words of a badge about refunds; empty without any."""

    needs_decision: bool
    """Whether money of the order is held although its status says otherwise."""

    taken_back: bool
    """Whether the service has taken back money that had arrived."""

    attempts: int
    at: datetime


def overview() -> Page | Response:
    """Show tasks and figures above the newest orders; with filters in the address, only the list of orders."""
    if any(map(request.args.get, _FILTERS)):
        return list_orders()
    return _orders_page(with_figures=True)


def list_orders() -> Page | Response:
    """List the orders, newest first."""
    return _orders_page(with_figures=False)


def _orders_page(*, with_figures: bool) -> Page | Response:
    shop = runtime()
    text, hits = request.args.get("search", "").strip(), Hits((), ())
    if text:
        hits = search(shop.engine(), shop.models, text, shop.customers.find)
        if len(hits.orders) + len(hits.payouts) == 1:
            order_id = next(iter(hits.orders), None)
            return go_to("order", order_id=order_id) if order_id else go_to("payout", reference=hits.payouts[0])
    status, filters = chosen(Status, "status"), requested_filters()
    today = shop.clock().astimezone(filters.zone).date()
    if text:
        page = OrderPage(orders_named(shop.checkouts, hits.orders), None)
    else:
        page = page_of_orders(shop.checkouts, status, request.args.get("after"), period=filters.period)
    alarms = alarms_of_page(filters.account) if with_figures else ()
    listed = [order.order_id for order in page.rows]
    describes = shop.callbacks.describe_orders is not None
    orders = shop.customers.described([*listed, *orders_of(alarms)]) if describes else {}
    refunds = refunds_of_orders(shop.payouts, listed)
    rows = [_row(order, orders.get(order.order_id), refunds.get(order.order_id, ())) for order in page.rows]
    is_told = with_figures and shop.callbacks.tell_owner is not None
    return owner_page(
        "orders",
        code=404 if text and not (hits.orders or hits.payouts) else 200,
        hits=hits,
        most_hits=MOST_HITS,
        payouts=[payout for each in hits.payouts if (payout := shop.payouts.find(each)) is not None],
        page=page,
        # A payment request without any checkout has no row.
        unlisted=[each for each in hits.orders if each not in listed],
        rows=rows,
        titles=shop.requests.titles(listed) if any(map(request_of, listed)) else {},
        together={} if with_figures else _sums_of_list(rows, page.rows, [*chain.from_iterable(refunds.values())]),
        sums=shop.books.sums(filters.period) if filters.period.is_limited else None,
        tasks=tasks_of(alarms, orders),
        overviews=overviews(shop.engine(), shop.models, filters.account, filters.zone, today) if with_figures else None,
        is_told=is_told,
        last_sent_at=shop.owner_telling.last_sent_at() if is_told else None,
        counts={} if text else count_of_orders(shop.checkouts, filters.period),
        presets=_presets(today),
        asked=filters,
        statuses=list(Status),
        status=status,
        searched=text,
    )


def _sums_of_list(
    rows: Sequence[Row], orders: Sequence[ListedOrder], refunds: Sequence[tuple[str, Amount | None]]
) -> dict[str, Sequence[Amount]]:
    """The sums of the listed orders, such as all orders of one customer, without sums that are zero."""
    pending = [each for order in orders for each in order.attempts if each.status == Status.PENDING]
    amounts_of: dict[str, list[Amount | None]] = {
        "arrived": [amount for row in rows for amount in row.all_arrived],
        "on its way": [amount_of(each.due_amount or each.total_amount, each.total_currency) for each in pending],
        "refunded": [amount for status, amount in refunds if status in _PAID_BACK],
        "to be refunded": [amount for status, amount in refunds if status in _WAITING],
    }
    return {name: sums for name, amounts in amounts_of.items() if (sums := sums_of(amounts))}


def _row(order: ListedOrder, described: Described | None, refunds: Sequence[tuple[str, Amount | None]]) -> Row:
    attempts, is_held, is_taken_back = order.attempts, False, False
    # The newest attempt, unless money arrived with another one.
    attempt, payment, amounts = attempts[0], None, list[Amount | None]()
    for each in attempts:
        is_held = is_held or each.status == Status.HELD
        if each.payment_completed_at is None:
            is_taken_back = is_taken_back or each.payment_paid_amount is not None
            continue
        paid = payment_of(each._mapping)
        amounts.append(arrived_of(paid, each.total_kind))
        if payment is None:
            attempt, payment = each, paid
    arrived = sums_of(amounts)
    return Row(
        order.order_id,
        # An unpaid order in this list has only rejected payments.
        Status.REJECTED if order.status == "unpaid" else order.status,
        described,
        attempt,
        payment,
        arrived[0] if len(arrived) == 1 else arrived_of(payment, attempt.total_kind),
        arrived,
        amount_of(attempt.total_amount, attempt.total_currency),
        _refund_text(refunds) if refunds else "",
        is_held and order.status != Status.HELD,
        is_taken_back,
        len(attempts),
        as_utc(attempts[0].moved_at),
    )


def _refund_text(refunds: Sequence[tuple[str, Amount | None]]) -> str:
    """The words of the badge about an order's refunds, given the state and the sum of each."""
    states = {status for status, _ in refunds}
    if PayoutStatus.FAILED in states:
        return "refund failed"
    if not states.issubset(_PAID_BACK):
        return "refund waits"
    back = sums_of([amount for _, amount in refunds])
    return f"{', '.join(map(shown, back))} refunded" if back else ""


def _presets(today: date) -> dict[str, tuple[date, date]]:
    """The first and last day of the periods that people often choose."""
    return {
        "Today": (today, today),
        "This week": (today - timedelta(days=today.weekday()), today),
        "This month": (today.replace(day=1), today),
    }


# The figures of the first page


@dataclass(frozen=True)
class Bar:
    """A bar of a chart."""

    name: str
    amount: Decimal
    length: float
    """In units of the chart."""

    count: int = 0


@dataclass(frozen=True)
class Overview:
    """The figures of one currency, for the cards and charts of the first page."""

    month: Figures
    taken_today: Decimal
    payments_today: int
    taken_before: Decimal
    """The money taken in as many days of the previous month."""

    first: date
    change: int | None
    """The change in percent from as many days of the previous month; None if nothing was taken then."""

    share: Decimal | None
    """The fees in percent of the money taken."""

    days: list[Bar]
    """A bar for each day of the month, from the first to the last."""

    methods: list[Bar]
    """A bar for each payment method, by its stored name, the longest first."""


def overviews(engine: Engine, models: Models, account: str | None, zone: tzinfo, today: date) -> list[Overview]:
    """The figures of each currency, the one with the most payments of this month first.

    :param account: only this merchant account's figures.
    :param zone: the time zone of the page.
    """
    first = today.replace(day=1)
    month_days = [first.replace(day=number + 1) for number in range(monthrange(today.year, today.month)[1])]
    before = (first - _ONE_DAY).replace(day=1)
    as_far = min(before + (today - first) + _ONE_DAY, first)

    def period(start: date, end: date) -> Period:
        return Period(moment_of(start, zone), moment_of(end, zone), account)

    earlier, result = payments_in(engine, models, period(before, as_far)), list[Overview]()
    for month in figures_of(engine, models, period(first, today + _ONE_DAY), zone):
        taken, taken_before = month.taken, earlier.get(month.currency, _NOTHING).taken
        change = round(100 * (taken - taken_before) / taken_before) if taken_before else None
        share = round(100 * month.fees / taken, 1) if taken else None
        on_day = month.by_day.get(today, Decimal(0)), month.payments_by_day.get(today, 0)
        days = [(day.isoformat(), 0, month.by_day.get(day, Decimal(0))) for day in month_days]
        methods = sorted([(name, *paid) for name, paid in month.by_method.items()], key=lambda method: -method[2])
        bars = _bars(days, _HEIGHT), _bars(methods, 100)
        result.append(Overview(month, *on_day, taken_before, first, change, share, *bars))
    return sorted(result, key=lambda each: (-each.month.payments, -each.month.begun, each.month.currency))


def _bars(sums: Sequence[tuple[str, int, Decimal]], longest: int) -> list[Bar]:
    """Bars for amounts, each with its name and the number of its payments.

    :param longest: the length of the longest bar.
    """
    most = max([amount for _, _, amount in sums], default=Decimal(0))
    return [
        Bar(name, amount, round(float(longest * amount / most), 1) if amount > 0 else 0.0, count)
        for name, count, amount in sums
    ]
