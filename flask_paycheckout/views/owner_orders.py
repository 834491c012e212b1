"""The owner's first page and the list of orders, with the search in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import chain

from flask import request
from werkzeug.wrappers import Response

from flask_paycheckout.books.alarms import Severity
from flask_paycheckout.books.customers import Described
from flask_paycheckout.books.lists import (
    ListedOrder,
    Page as OrderPage,
    count_of_orders,
    orders_named,
    page_of_orders,
    refunds_of_orders,
)
from flask_paycheckout.books.search import MOST_HITS, Hits, search
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.payments import Amount, Payment, amount_of, arrived_of, sums_of
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.payouts.payout_states import PayoutStatus
from flask_paycheckout.runtime import runtime
from flask_paycheckout.views.language import page_settings
from flask_paycheckout.views.owner_forms import Page, asked_for, chosen, go_to, owner_page, shown, sum_in_sentence
from flask_paycheckout.views.owner_overview import overviews
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


@dataclass(frozen=True)
class Row:
    """One order in the list."""

    order_id: str
    status: str
    described: Described | None
    attempt: CheckoutMixin
    """The newest attempt, or the one whose money arrived."""

    payment: Payment | None
    """The money of that attempt."""

    arrived: Amount | None
    all_arrived: Sequence[Amount]
    """The sums of all attempts that arrived, by currency."""

    due: Amount | None
    """The sum that the order costs; None where another program stored no amount."""

    refund: str
    """The words of a badge about refunds; empty without any."""

    needs_decision: bool
    """Whether money of the order is held beside what its status says."""

    taken_back: bool
    """Whether money that had arrived was taken back by the service."""

    attempts: int
    at: datetime


def overview() -> Page | Response:
    """Show what waits and the figures, above the newest orders; with filters in the address the list alone."""
    if any(request.args.get(name) for name in _FILTERS):
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
    status, asked, zone = chosen(Status, "status"), asked_for(), page_settings().time_zone
    today = shop.clock().astimezone(zone).date()
    if text:
        page = OrderPage(orders_named(shop.checkouts, hits.orders), None)
    else:
        page = page_of_orders(shop.checkouts, status, request.args.get("after"), period=asked.period)
    alarms = alarms_of_page(asked.account, sum_in_sentence) if with_figures else ()
    listed = [order.order_id for order in page.rows]
    orders = shop.customers.described([*listed, *orders_of(alarms)])
    refunds = refunds_of_orders(shop.payouts, listed)
    rows = [_row(order, orders.get(order.order_id), refunds.get(order.order_id, ())) for order in page.rows]
    tasks = tasks_of(alarms, orders)
    return owner_page(
        "orders",
        code=404 if text and not (hits.orders or hits.payouts) else 200,
        hits=hits,
        most_hits=MOST_HITS,
        payouts=[payout for each in hits.payouts if (payout := shop.payouts.find(each)) is not None],
        page=page,
        # Payment requests that nobody began to pay have no row.
        unlisted=[each for each in hits.orders if each not in listed],
        rows=rows,
        titles=shop.requests.titles(listed),
        together={} if with_figures else _sums_of_list(rows, page.rows, [*chain.from_iterable(refunds.values())]),
        sums=shop.books.sums(asked.period) if asked.period.is_limited else None,
        tasks=[task for task in tasks if task.severity is not Severity.NOTE],
        notes=[task for task in tasks if task.severity is Severity.NOTE],
        overviews=overviews(asked.account, zone, today) if with_figures else None,
        is_told=shop.callbacks.tell_owner is not None,
        last_told_at=shop.owner_telling.last_told_at() if with_figures else None,
        counts={} if text else count_of_orders(shop.checkouts, asked.period),
        presets=_presets(today),
        asked=asked,
        statuses=list(Status),
        status=status,
        searched=text,
    )


def _sums_of_list(
    rows: Sequence[Row], orders: Sequence[ListedOrder], refunds: Sequence[tuple[str, Amount | None]]
) -> dict[str, Sequence[Amount]]:
    """The sums of the orders that a page lists, such as all of one customer; without what none has."""
    pending = [each for order in orders for each in order.attempts if each.status == Status.PENDING]
    found: dict[str, list[Amount | None]] = {
        "arrived": [amount for row in rows for amount in row.all_arrived],
        "on its way": [amount_of(each.due_amount or each.total_amount, each.total_currency) for each in pending],
        "refunded": [amount for status, amount in refunds if status in _PAID_BACK],
        "to be refunded": [amount for status, amount in refunds if status in _WAITING],
    }
    return {name: sums for name, amounts in found.items() if (sums := sums_of(amounts))}


def _row(order: ListedOrder, described: Described | None, refunds: Sequence[tuple[str, Amount | None]]) -> Row:
    attempts = order.attempts
    payments = {each.id: each.payment for each in attempts}
    # The newest one where no money arrived, or several payments did.
    chosen_one = next((each for each in attempts if payments[each.id]), attempts[0])
    payment = payments[chosen_one.id]
    arrived = sums_of([arrived_of(payments[each.id], each.total_kind) for each in attempts])
    due = amount_of(chosen_one.total_amount, chosen_one.total_currency)
    return Row(
        order.order_id,
        order.status,
        described,
        chosen_one,
        payment,
        arrived[0] if len(arrived) == 1 else arrived_of(payment, chosen_one.total_kind),
        arrived,
        due,
        _refund_text(refunds),
        order.status != Status.HELD and any(each.status == Status.HELD for each in attempts),
        any(each.taken_back for each in attempts),
        len(attempts),
        attempts[0].moved_at,
    )


def _refund_text(refunds: Sequence[tuple[str, Amount | None]]) -> str:
    """The words of the badge about an order's refunds, given the state of each and the sum that it takes."""
    states = {status for status, _ in refunds}
    if PayoutStatus.FAILED in states:
        return "refund failed"
    if not states.issubset(_PAID_BACK):
        return "refund waits"
    back = sums_of([amount for _, amount in refunds])
    return f"{', '.join(map(shown, back))} refunded" if back else ""


def _presets(today: date) -> dict[str, tuple[date, date]]:
    """The first and last day of the times that people ask for."""
    return {
        "Today": (today, today),
        "This week": (today - timedelta(days=today.weekday()), today),
        "This month": (today.replace(day=1), today),
    }
