"""The lists of orders with their attempts, payouts, payment requests and deeds, in pages, from the stored rows alone.

Pages are addressed by the position of the last row (keyset pagination), not by an offset: every page costs the same,
and orders that are added meanwhile shift none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Engine, Select, exists, func, literal, select, tuple_, union, union_all

from flask_paycheckout.books.periods import ALWAYS, Period
from flask_paycheckout.checkouts.requests import ShownRequest
from flask_paycheckout.checkouts.states import BEST_FIRST, Status, best_of
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.clock import EPOCH, as_utc
from flask_paycheckout.database.connections import read_rows
from flask_paycheckout.database.deeds import Deed
from flask_paycheckout.database.models import Models
from flask_paycheckout.database.state_table import Row
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutKind, PayoutState, PayoutStatus
from flask_paycheckout.payouts.payout_table import Payouts
from flask_paycheckout.totals import Amount, amount_of, is_token

T = TypeVar("T")

MANY = 100
"""The maximum number of orders of a status that are counted."""

_PAGE = 25
# The states of refunds that lists leave out.
_SETTLED = (PayoutState.CANCELLED, PayoutState.REPLACED)
# The number of the newest payments, and of the newest payouts, that are searched for tokens.
_LATELY = 1000
# The number of deeds that are read together.
_DEEDS = 1000
# Microseconds since the epoch and a row's id, with no more digits than databases and `datetime` accept.
_PLACE = re.compile(r"(?:([0-9]{1,17})-)?([0-9]{1,18})")


class Page(NamedTuple, Generic[T]):
    """Some rows of a long list, and the place where the list continues."""

    rows: tuple[T, ...]
    next_place: str | None
    """The `place` argument that gives the next page; None on the last page."""


Place = tuple[Any, ...]
"""The last row before a page, as the values of the columns that order the rows."""


def pages(
    engine: Engine, rows: Select[Any], order: Sequence[str], size: int, after: Place | None = None
) -> Iterator[Sequence[Row]]:
    """All rows of a statement in pages, each of which is read when it is requested.

    :param order: the names of the columns that order the rows; the last one is the id.
    :param after: the place after which the pages begin.
    """
    columns: list[Any] = [rows.selected_columns[name] for name in order]
    page = rows.order_by(*columns).limit(size)
    while True:
        # Use a single lower bound: with two, SQLite could read each page from the beginning.
        following = page if after is None else page.where(tuple_(*columns) > after)
        page_rows = [row._mapping for row in read_rows(engine, following)]
        # Only an empty page is the end, because rows may have been added since a short page was read.
        if not page_rows:
            return
        yield page_rows
        after = place_of(page_rows[-1], order)


def place_of(row: Row, order: Sequence[str]) -> Place:
    """The place of a row in the order of these columns."""
    return tuple(as_utc(at) if isinstance(at := row[name], datetime) else at for name in order)


@dataclass(frozen=True)
class ListedOrder:
    """One order with the rows of its attempts, newest first, without their URLs and histories."""

    order_id: str
    status: str
    attempts: Sequence[Any]


def page_of_orders(
    checkouts: Checkouts,
    status: Status | None = None,
    place: str | None = None,
    limit: int = _PAGE,
    period: Period = ALWAYS,
) -> Page[ListedOrder]:
    """One page of orders, newest first; with a status or a time, by the time of the last change of status.

    :param status: only orders with this status; for `held` and `rejected`, every order with such an attempt.
    :param place: `next_place` of the page before; None, or an invalid one, gives the first page.
    :param limit: the maximum number of orders on the page.
    :param period: only orders of its merchant account whose newest attempt, or attempt with this status, last changed
        its status in this time.
    """
    is_limited = period.is_limited
    time = "moved_at" if status or is_limited else None
    within = period.conditions(checkouts.table, checkouts.table.c.moved_at)
    rows = _orders(checkouts.models, status, within, is_limited=is_limited)
    page = _newest(checkouts.single, rows, time, place, limit)
    return Page(orders_named(checkouts, [row.order_id for row in page.rows]), page.next_place)


def orders_named(checkouts: Checkouts, order_ids: Sequence[str]) -> tuple[ListedOrder, ...]:
    """These orders, in the same sequence, without orders that nobody began to pay."""
    attempts = _attempts(checkouts, order_ids)
    return tuple(
        ListedOrder(each, best_of({attempt.status for attempt in attempts[each]}), attempts[each])
        for each in order_ids
        if each in attempts
    )


def _orders(
    models: Models, status: Status | None, within: Sequence[ColumnElement[bool]], *, is_limited: bool
) -> Select[Any]:
    """Select one row for each order.

    :param within: the conditions of a period.
    :param is_limited: whether the period has a beginning or an end.
    """
    c = models.checkouts.c
    orders = select(c.id, c.order_id, c.moved_at).where(*within)
    if status is not None:
        other = models.checkouts.alias()
        # An attempt is outranked by a newer attempt with the same status, or an attempt with a status of higher
        # precedence.
        outranks = (other.c.status == status) & (other.c.id > c.id)
        # Held and rejected money is listed even if another attempt paid the order.
        if status not in (Status.HELD, Status.REJECTED):
            outranks |= other.c.status.in_(BEST_FIRST[: BEST_FIRST.index(status)])
        return orders.where(c.status == status, ~exists().where(other.c.order_id == c.order_id, outranks))
    if is_limited:
        # Name every state, because the index begins with the state.
        orders = orders.where(c.status.in_([*Status]))
    return orders.where(c.current_order_id.is_not(None))


def count_of_orders(checkouts: Checkouts, period: Period) -> dict[str, int]:
    """The number of orders with each status, as `page_of_orders` lists them; `MANY` stands for that number or more."""
    moved_at, counts = checkouts.table.c.moved_at, list[Any]()
    within, is_limited = period.conditions(checkouts.table, moved_at), period.is_limited
    for status in Status:
        rows = _orders(checkouts.models, status, within, is_limited=is_limited)
        # Use the order of the index; otherwise SQLite could read all orders if few have this status.
        first = rows.with_only_columns(literal(1)).order_by(moved_at.desc()).limit(MANY).subquery()
        counts.append(select(literal(status.value), func.count()).select_from(first))
    return {row[0]: row[1] for row in read_rows(checkouts.single, union_all(*counts))}


def refunds_of_orders(payouts: Payouts, order_ids: Sequence[str]) -> dict[str, list[tuple[str, Amount | None]]]:
    """The states of the refunds of these orders, each with the sum that it takes of its payment.

    Cancelled refunds are left out, and failed refunds in whose place another was made.
    """
    c, by_order = payouts.table.c, dict[str, list[tuple[str, Amount | None]]]()
    rows = select(c.order_id, c.status, c.counts, c.counts_currency)
    refunds = rows.where(c.order_id.in_(order_ids), c.kind == PayoutKind.REFUND, c.state.not_in(_SETTLED))
    for order_id, status, amount, currency in read_rows(payouts.single, refunds) if order_ids else ():
        by_order.setdefault(order_id, []).append((status, amount_of(amount, currency)))
    return by_order


def _newest(engine: Engine, rows: Select[Any], time: str | None, place: str | None, limit: int) -> Page[Any]:
    """One page of rows, newest first.

    :param time: the name of the column of the time by which they are ordered; None for the order of ids.
    """
    c, after = rows.selected_columns, _read_place(place, by_time=time is not None)
    order: list[Any] = [c.id] if time is None else [c[time], c.id]
    page = rows.order_by(*[column.desc() for column in order]).limit(limit + 1)
    page_rows = read_rows(engine, page if after is None else page.where(tuple_(*order) < after))
    if len(page_rows) <= limit:
        return Page(tuple(page_rows), None)
    last = page_rows[limit - 1]
    at = "" if time is None else f"{(as_utc(getattr(last, time)) - EPOCH) // timedelta(microseconds=1)}-"
    return Page(tuple(page_rows[:limit]), f"{at}{last.id}")


def _read_place(place: str | None, *, by_time: bool) -> tuple[Any, ...] | None:
    """Parse a place that `_newest` wrote; None for any other text."""
    match = _PLACE.fullmatch(place or "")
    if match is None or (match[1] is None) is by_time:
        return None
    at = [EPOCH + timedelta(microseconds=int(match[1]))] if by_time else []
    return *at, int(match[2])


def _attempts(checkouts: Checkouts, order_ids: Sequence[str]) -> dict[str, list[Any]]:
    """The attempts of each of these orders, newest first."""
    c, attempts = checkouts.table.c, dict[str, list[Any]]()
    # Leave out the URL, with which anybody could pay, and the long history.
    columns = [column for column in c if column.name not in ("url", "history")]
    newest_first = select(*columns).where(c.order_id.in_(order_ids)).order_by(c.id.desc())
    for attempt in read_rows(checkouts.single, newest_first):
        attempts.setdefault(attempt.order_id, []).append(attempt)
    return attempts


# Payouts


def page_of_payouts(
    payouts: Payouts,
    status: PayoutStatus | None = None,
    kind: PayoutKind | None = None,
    place: str | None = None,
    limit: int = _PAGE,
    period: Period = ALWAYS,
) -> Page[PayoutMixin]:
    """A page of payouts, newest first.

    :param place: `next_place` of the page before; None, or an invalid one, gives the first page.
    :param period: only payouts of its merchant account that were created in this time.
    """
    c, time = payouts.table.c, "created_at" if period.is_limited else None
    conditions = [c[name] == value for name, value in {"status": status, "kind": kind}.items() if value is not None]
    columns = select(payouts.table).where(*conditions, *period.conditions(payouts.table, c.created_at))
    page = _newest(payouts.single, columns, time, place, limit)
    return Page(tuple(payouts.made(row._mapping) for row in page.rows), page.next_place)


def tokens_used(engine: Engine, models: Models) -> list[str]:
    """The tokens of the newest payments and payouts, by name."""
    names = (
        select(column.label("name")).order_by(table.c.id.desc()).limit(_LATELY).subquery()
        for table, column in (
            (models.payouts, models.payouts.c.currency),
            (models.checkouts, models.checkouts.c.payment_token),
        )
    )
    used = union(*(select(each.c.name).where(each.c.name.is_not(None)) for each in names))
    return sorted(name for (name,) in read_rows(engine, used) if is_token(name))


# Requests


def page_of_requests(
    checkouts: Checkouts,
    now: datetime,
    place: str | None,
    limit: int = _PAGE,
    account: str | None = None,
) -> Page[ShownRequest]:
    """A page of payment requests, newest first.

    :param place: `next_place` of the page before; None, or an invalid one, gives the first page.
    :param account: only requests of this merchant account; None for all.
    """
    models = checkouts.models
    rows = select(models.requests).where(*Period(account=account).conditions(models.requests, models.requests.c.id))
    page = _newest(checkouts.single, rows, None, place, limit)
    requests = [models.of_row(models.Request, row._mapping) for row in page.rows]
    statuses = checkouts.order_statuses([request.order_id for request in requests])
    request_rows = (ShownRequest(request, request.status(statuses[request.order_id], now)) for request in requests)
    return Page(tuple(request_rows), page.next_place)


# Deeds


def deeds_of(engine: Engine, models: Models, period: Period) -> Iterator[Deed]:
    """The deeds of a period, oldest first, read page by page."""
    deeds = select(models.deeds).where(*period.conditions(models.deeds, models.deeds.c.at))
    return (_deed_of(row) for page in pages(engine, deeds, ["at", "id"], _DEEDS) for row in page)


def deeds_about(
    engine: Engine, models: Models, deed: str, references: Sequence[str]
) -> list[tuple[datetime, str, str]]:
    """The time, person and payout of each deed of one kind on these payouts, oldest first; "" is the shop's code."""
    c = models.deeds.c
    deeds = select(c.at, c.by, c.subject).where(c.subject.in_(references), c.deed == deed).order_by(c.id)
    return [(as_utc(at), by, reference) for at, by, reference in read_rows(engine, deeds)] if references else []


def page_of_deeds(engine: Engine, models: Models, place: str | None, limit: int, with_views: bool) -> Page[Deed]:
    """A page of deeds, newest first.

    :param place: `next_place` of the page before; None, or an invalid one, gives the first page.
    :param with_views: whether deeds of people who only viewed something are included.
    """
    deeds = select(models.deeds)
    page = _newest(engine, deeds if with_views else deeds.where(models.deeds.c.deed != "viewed"), None, place, limit)
    return Page(tuple(_deed_of(row._mapping) for row in page.rows), page.next_place)


class About(NamedTuple):
    """The subject of a deed, beside its order."""

    amount: Amount | None = None
    """The sum of the payout, or of the payment that the decision was about."""

    payout: Any = None
    """The columns of the payout that its name needs; None for a deed about something else."""

    status: str = ""
    """The state of the payment that the decision was about; empty for a deed about something else."""


def subjects_of_deeds(models: Models, engine: Engine, deeds: Sequence[Deed]) -> list[About]:
    """The subjects of some deeds."""
    subjects = {deed.subject for deed in deeds}
    p, c = models.payouts.c, models.checkouts.c
    payouts = select(p.reference, p.id, p.kind, p.order_id, p.refund_of, p.created_at, p.amount, p.currency)
    payments = select(c.checkout_id, c.status, c.payment_paid_amount, c.payment_paid_currency)
    subjects_by_key: dict[Any, About] = {
        (deed, checkout_id): About(amount_of(*paid), status=status)
        for checkout_id, status, *paid in read_rows(engine, payments.where(c.checkout_id.in_(subjects)))
        for deed in ("decided", "kept")
    }
    for row in read_rows(engine, payouts.where(p.reference.in_(subjects) | p.refund_of.in_(subjects))):
        about = About(amount_of(row.amount, row.currency), row)
        # A refund and its deed are stored with the same time, and the deed names the payment.
        subjects_by_key[row.reference] = subjects_by_key[row.refund_of, as_utc(row.created_at)] = about
    return [
        subjects_by_key.get((deed.deed, deed.subject))
        or subjects_by_key.get((deed.subject, deed.at))
        or subjects_by_key.get(deed.subject, About())
        for deed in deeds
    ]


def _deed_of(row: Row) -> Deed:
    return Deed(as_utc(row["at"]), *(row[name] for name in Deed._fields[1:]))
