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

from sqlalchemy import ColumnElement, Engine, Select, exists, literal, select, tuple_

from flask_paycheckout.books.periods import ALWAYS, Period
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.requests import ShownRequest
from flask_paycheckout.checkouts.states import BEST_FIRST, Status
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.clock import EPOCH, as_utc
from flask_paycheckout.database.connections import read_rows
from flask_paycheckout.database.deeds import Deed
from flask_paycheckout.database.models import Models
from flask_paycheckout.database.order_ids import is_order_id
from flask_paycheckout.database.state_table import Row
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutKind, PayoutStatus
from flask_paycheckout.payouts.stored import Payouts

T = TypeVar("T")

_PAGE = 25
# The deeds that are read together.
_DEEDS = 1000
# Microseconds since the epoch and a row's id, with no more digits than databases and `datetime` accept.
_PLACE = re.compile(r"(?:([0-9]{1,17})-)?([0-9]{1,18})")


class Page(NamedTuple, Generic[T]):
    """Some rows of a long list, and where the list goes on."""

    rows: tuple[T, ...]
    next_place: str | None
    """The `place` argument that gives the next page; None on the last page."""


def pages(
    engine: Engine, rows: Select[Any], order: Sequence[str], size: int, *, since: datetime | None = None
) -> Iterator[Sequence[Row]]:
    """All rows of a statement in pages, the first one first, each read when it is asked for.

    :param order: the names of the columns that order the rows, at last the id.
    :param since: the least value of the first of two such columns, which is a time.
    """
    place: list[Any] = [rows.selected_columns[name] for name in order]
    page = rows.order_by(*place).limit(size)
    after: tuple[Any, ...] | None = None if since is None else (since, 0)
    while True:
        # One lower bound: of two, SQLite could read each page from the beginning.
        following = page if after is None else page.where(tuple_(*place) > after)
        found = [row._mapping for row in read_rows(engine, following)]
        # Only an empty page is the end. Rows may have been added since a short one was read.
        if not found:
            return
        yield found
        after = tuple(as_utc(at) if isinstance(at := found[-1][name], datetime) else at for name in order)


@dataclass(frozen=True)
class ListedOrder:
    """One order with its attempts, newest first, without their URLs and histories."""

    order_id: str
    status: str
    attempts: Sequence[CheckoutMixin]


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
    :param limit: the most orders on the page.
    :param period: only orders whose newest attempt, or attempt with this status, last changed its status in this time,
        and is of its merchant account.
    """
    time = "moved_at" if status or period.is_limited else None
    found = _newest(checkouts.single, _orders(checkouts.models, status, period), time, place, limit)
    order_ids = [row.order_id for row in found.rows]
    attempts, statuses = _attempts(checkouts, order_ids), checkouts.order_statuses(order_ids)
    orders = (ListedOrder(order_id, statuses[order_id], attempts[order_id]) for order_id in order_ids)
    return Page(tuple(orders), found.next_place)


def find_order_id(checkouts: Checkouts, search: str) -> str | None:
    """Find an order by its own id or by the id of one of its checkouts; None when neither is stored."""
    # PostgreSQL refuses other text, and none is ever stored.
    if is_order_id(search) and checkouts.counts(search):
        return search
    checkout = checkouts.find(search)
    return None if checkout is None else checkout.order_id


def _orders(models: Models, status: Status | None, period: Period) -> Select[Any]:
    """Select one row for each order."""
    c = models.checkouts.c
    orders = select(c.id, c.order_id, c.moved_at).where(*period.conditions(models.checkouts, c.moved_at))
    if status is not None:
        return orders.where(c.status == status, ~_is_outranked(models, status))
    if period.is_limited:
        # Every state by its name, since the index begins with it.
        orders = orders.where(c.status.in_([*Status]))
    return orders.where(c.current_order_id.is_not(None))


def _newest(engine: Engine, rows: Select[Any], time: str | None, place: str | None, limit: int) -> Page[Any]:
    """One page of rows, newest first.

    :param time: the name of the column of the time by which they are ordered; None for the order of ids.
    """
    c, after = rows.selected_columns, _read_place(place, by_time=time is not None)
    order: list[Any] = [c.id] if time is None else [c[time], c.id]
    page = rows.order_by(*(column.desc() for column in order)).limit(limit + 1)
    found = read_rows(engine, page if after is None else page.where(tuple_(*order) < after))
    if len(found) <= limit:
        return Page(tuple(found), None)
    last = found[limit - 1]
    at = "" if time is None else f"{(as_utc(getattr(last, time)) - EPOCH) // timedelta(microseconds=1)}-"
    return Page(tuple(found[:limit]), f"{at}{last.id}")


def _is_outranked(models: Models, status: Status) -> ColumnElement[bool]:
    """Whether another attempt of the order has a status of higher precedence, or the same status and is newer."""
    this, other = models.checkouts.c, models.checkouts.alias()
    outranks = (other.c.status == status) & (other.c.id > this.id)
    # Somebody else's money is listed even when another attempt paid the order.
    if status not in (Status.HELD, Status.REJECTED):
        better = BEST_FIRST[: BEST_FIRST.index(status)]
        outranks |= other.c.status.in_(better)
    return exists().where(other.c.order_id == this.order_id, outranks)


def _read_place(place: str | None, *, by_time: bool) -> tuple[Any, ...] | None:
    """Parse a position that `_newest` wrote; None for any other text."""
    match = _PLACE.fullmatch(place or "")
    if match is None or (match[1] is None) is by_time:
        return None
    at = [EPOCH + timedelta(microseconds=int(match[1]))] if by_time else []
    return *at, int(match[2])


def _attempts(checkouts: Checkouts, order_ids: Sequence[str]) -> dict[str, list[CheckoutMixin]]:
    """The attempts of each of these orders, newest first."""
    c = checkouts.table.c
    # Without the URL, with which anybody could pay, and the long history.
    columns = [literal("").label(column.name) if column.name in ("url", "history") else column for column in c]
    attempts: dict[str, list[CheckoutMixin]] = {}
    for attempt in checkouts.loaded(select(*columns).where(c.order_id.in_(order_ids)).order_by(c.id.desc())):
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
    :param period: only those that were made in this time, for its merchant account.
    """
    c, time = payouts.table.c, "created_at" if period.is_limited else None
    wanted = [c[name] == value for name, value in {"status": status, "kind": kind}.items() if value is not None]
    columns = select(payouts.table).where(*wanted, *period.conditions(payouts.table, c.created_at))
    found = _newest(payouts.single, columns, time, place, limit)
    return Page(tuple(payouts.made(row._mapping) for row in found.rows), found.next_place)


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
    :param account: only those of this merchant account; None for all.
    """
    models = checkouts.models
    rows = select(models.requests).where(*Period(account=account).conditions(models.requests, models.requests.c.id))
    found = _newest(checkouts.single, rows, None, place, limit)
    listed = [models.of_row(models.Request, row._mapping) for row in found.rows]
    statuses = checkouts.order_statuses([one.order_id for one in listed])
    shown = (ShownRequest(one, one.status(statuses[one.order_id], now)) for one in listed)
    return Page(tuple(shown), found.next_place)


# Deeds


def deeds_of(engine: Engine, models: Models, period: Period) -> Iterator[Deed]:
    """The deeds of a period, oldest first, read page by page."""
    deeds = select(models.deeds).where(*period.conditions(models.deeds, models.deeds.c.at))
    return (_deed_of(row) for page in pages(engine, deeds, ["at", "id"], _DEEDS) for row in page)


def page_of_deeds(engine: Engine, models: Models, place: str | None, limit: int) -> Page[Deed]:
    """A page of deeds, newest first.

    :param place: `next_place` of the page before; None, or an invalid one, gives the first page.
    """
    found = _newest(engine, select(models.deeds), None, place, limit)
    return Page(tuple(_deed_of(row._mapping) for row in found.rows), found.next_place)


def _deed_of(row: Row) -> Deed:
    return Deed(as_utc(row["at"]), *(row[name] for name in Deed._fields[1:]))
