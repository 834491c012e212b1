"""The lists of orders with their attempts, and of payouts, in pages, from the stored rows alone.

Pages are addressed by the position of the last row (keyset pagination), not by an offset: every page costs the same,
and orders that are added meanwhile shift none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Engine, Select, exists, select, union_all
from sqlalchemy.orm import Session, load_only

from flask_paycheckout.books.explain import total_text
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS, Amount
from flask_paycheckout.checkouts.states import BEST_FIRST, Status
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.order_ids import is_order_id
from flask_paycheckout.payouts.payout_states import WIPING, PayoutKind, PayoutStatus

if TYPE_CHECKING:
    from flask_paycheckout.models import Models

OrderStatuses = Callable[[Sequence[str]], dict[str, str]]
Days = tuple[datetime | None, datetime | None]
"""A time from the first moment that is included to the first that is not any more; None without a bound."""

ALL_DAYS: Days = (None, None)

_PAGE = 25
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Microseconds since the epoch and a row's id, with no more digits than databases and `datetime` accept.
_PLACE = re.compile(r"(?:([0-9]{1,17})-)?([0-9]{1,18})")


@dataclass(frozen=True)
class ListedAttempt:
    """One attempt at paying an order, with the few columns that a list shows."""

    checkout_id: str
    account: str
    """The merchant account's name; "" is the one of the settings."""

    status: str
    reason: str | None
    total: str
    arrived: Amount | None
    """The money that arrived, on the side that was asked for: what was paid, or what the shop receives."""

    created_at: datetime
    moved_at: datetime


@dataclass(frozen=True)
class ListedOrder:
    """One order with its attempts, newest first."""

    order_id: str
    status: str
    attempts: tuple[ListedAttempt, ...]


@dataclass(frozen=True)
class OrderPage:
    """One page of orders; `next_place` is the position of the next page, None on the last."""

    orders: tuple[ListedOrder, ...]
    next_place: str | None


def page_of_orders(
    engine: Engine,
    models: Models,
    order_statuses: OrderStatuses,
    status: Status | None = None,
    place: str | None = None,
    limit: int = _PAGE,
    account: str | None = None,
    days: Days = ALL_DAYS,
) -> OrderPage:
    """One page of orders, newest first; with a status or days, by the time of the last change of status.

    :param order_statuses: gives the status of each order by its id.
    :param status: only orders with this status; for `held` and `rejected`, every order with such an attempt.
    :param place: `next_place` of the page before; None, or an invalid one, gives the first page.
    :param limit: the most orders on the page.
    :param account: only orders whose newest attempt, or attempt with this status, is of this merchant account.
    :param days: only orders of which that attempt last changed its status in this time.
    """
    with Session(engine) as session:
        found = session.execute(rows_of_page(models, status, place, limit, account, days)).all()
        order_ids = [row.order_id for row in found[:limit]]
        attempts = _attempts(session, models, order_ids)
    statuses = order_statuses(order_ids)
    orders = tuple(ListedOrder(order_id, statuses[order_id], tuple(attempts[order_id])) for order_id in order_ids)
    return OrderPage(orders, _next_place(found, limit, "moved_at" if _by_move(status, days) else None))


def find_order_id(engine: Engine, models: Models, search: str) -> str | None:
    """Find an order by its own id or by the id of one of its checkouts; None when neither is stored."""
    c = models.checkouts.c
    if not is_order_id(search):
        return None  # PostgreSQL refuses such text, and none is ever stored.
    with engine.connect() as connection:
        for column in (c.order_id, c.checkout_id):
            order_id: str | None = connection.scalar(select(c.order_id).where(column == search).limit(1))
            if order_id is not None:
                return order_id
    return None


def rows_of_page(
    models: Models,
    status: Status | None,
    place: str | None,
    limit: int,
    account: str | None = None,
    days: Days = ALL_DAYS,
) -> Select[Any]:
    """Select one row for each order of a page, and one more when there is a next page."""
    c = models.checkouts.c
    columns = select(c.id, c.order_id, c.moved_at)
    if account is not None:
        columns = columns.where(c.account == account)
    if not _by_move(status, days):
        return _newest_first(columns.where(c.current_order_id.is_not(None)), None, place, limit)
    if status is None:
        # Every state by its name, since the index begins with it.
        latest = columns.where(c.status.in_([each.value for each in Status]), c.current_order_id.is_not(None))
    else:
        latest = columns.where(c.status == status.value, ~_is_outranked(models, status))
    return _newest_first(latest.where(*_within(c.moved_at, days)), "moved_at", place, limit)


def _newest_first(rows: Select[Any], time: str | None, place: str | None, limit: int) -> Select[Any]:
    """One page of rows, in the order of a time or of their ids.

    :param time: the name of the column of the time; None for the order of ids.
    :param limit: the most rows of a page; one more is selected when there is a next page.
    """
    rows, c, after = rows.limit(limit + 1), rows.selected_columns, _read_place(place, by_time=time is not None)
    if time is None:
        newest = rows.order_by(c.id.desc())
        return newest if after is None else newest.where(c.id < after[1])
    newest = rows.order_by(c[time].desc(), c.id.desc())
    if after is None:
        return newest
    # Two searches of the index, since SQLite would walk along all rows of the same time for a comparison of both.
    at, row_id = after
    same = newest.where(c[time] == at, c.id < row_id).subquery()
    older = newest.where(c[time] < at).subquery()
    found = union_all(select(same), select(older)).subquery()
    return select(found).order_by(found.c[time].desc(), found.c.id.desc()).limit(limit + 1)


def _within(time: ColumnElement[Any], days: Days) -> list[ColumnElement[bool]]:
    since, until = days
    return [*([] if since is None else [time >= since]), *([] if until is None else [time < until])]


def _is_outranked(models: Models, status: Status) -> ColumnElement[bool]:
    """Whether another attempt of the order has a status of higher precedence, or the same status and is newer."""
    this, other = models.checkouts.c, models.checkouts.alias()
    newer = (other.c.status == status.value) & (other.c.id > this.id)
    better = other.c.status.in_([each.value for each in _better_than(status)])
    return exists().where(other.c.order_id == this.order_id, newer | better if _better_than(status) else newer)


def _better_than(status: Status) -> Sequence[Status]:
    """The statuses that take precedence: an order is listed under a status only when no attempt has one of these."""
    if status in (Status.HELD, Status.REJECTED):
        # Somebody else's money: listed even when another attempt paid the order.
        return ()
    return BEST_FIRST[: BEST_FIRST.index(status)]


def _by_move(status: Status | None, days: Days) -> bool:
    """Whether a page is ordered by the last change of status, and not by the order's beginning."""
    return status is not None or days != ALL_DAYS


def _next_place(rows: Sequence[Any], limit: int, time: str | None) -> str | None:
    """The position of the page after these rows, one more than the page has; None on the last page."""
    if len(rows) <= limit:
        return None
    last = rows[limit - 1]
    at = "" if time is None else f"{(as_utc(getattr(last, time)) - _EPOCH) // timedelta(microseconds=1)}-"
    return f"{at}{last.id}"


def _read_place(place: str | None, *, by_time: bool) -> tuple[datetime, int] | None:
    """Parse a position that `_next_place` wrote; None for any other text."""
    match = _PLACE.fullmatch(place or "")
    if match is None or (match[1] is None) is by_time:
        return None
    return _EPOCH + timedelta(microseconds=int(match[1] or 0)), int(match[2])


def _attempts(session: Session, models: Models, order_ids: Sequence[str]) -> dict[str, list[ListedAttempt]]:
    """The attempts of each of these orders, newest first."""
    model = models.Checkout
    # Leave out the URL, with which anybody could pay, and the long history.
    shown = load_only(
        *(getattr(model, name) for name in ("order_id", "checkout_id", "account", "status")),
        *(getattr(model, name) for name in ("reason", "created_at", "moved_at")),
        *(getattr(model, f"total_{part}") for part in ("kind", "amount", "currency", "other_currency")),
        *(getattr(model, name) for name in PAYMENT_COLUMNS),
        raiseload=True,
    )
    of_page = select(model).options(shown).where(model.order_id.in_(order_ids)).order_by(model.id.desc())
    attempts: dict[str, list[ListedAttempt]] = {}
    for attempt in session.scalars(of_page):
        attempts.setdefault(attempt.order_id, []).append(_listed(attempt))
    return attempts


def _listed(attempt: CheckoutMixin) -> ListedAttempt:
    payment, arrived = attempt.payment, None
    if payment is not None:
        arrived = payment.received if attempt.total_kind == "receive" else payment.paid
    same = ("checkout_id", "account", "status", "reason", "created_at", "moved_at")
    values = {name: getattr(attempt, name) for name in same}
    return ListedAttempt(**values, total=total_text(attempt), arrived=arrived)


# Payouts


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


def page_of_payouts(
    connection: Connection,
    models: Models,
    status: PayoutStatus | None = None,
    kind: PayoutKind | None = None,
    place: str | None = None,
    limit: int = _PAGE,
    account: str | None = None,
    days: Days = ALL_DAYS,
) -> PayoutPage:
    """A page of payouts, newest first.

    :param place: `next_place` of the page before; None, or an invalid one, gives the first page.
    :param account: only those of this merchant account; None: of all.
    :param days: only those that were made in this time, its end excluded.
    """
    c, time = models.payouts.c, None if days == ALL_DAYS else "created_at"
    equal = {"account": account, "status": status, "kind": kind}
    wanted = [c[name] == value for name, value in equal.items() if value is not None]
    columns = select(*(c[part.name] for part in fields(ListedPayout))).where(*wanted, *_within(c.created_at, days))
    rows = connection.execute(_newest_first(columns, time, place, limit)).all()
    moments = [{name: as_utc(getattr(row, name)) for name in ("created_at", "moved_at")} for row in rows[:limit]]
    listed = (ListedPayout(**{**row._mapping, **times}) for row, times in zip(rows, moments, strict=False))
    return PayoutPage(tuple(listed), _next_place(rows, limit, time))


def has_payouts(connection: Connection, models: Models) -> bool:
    """Whether any payout or refund is stored."""
    return connection.execute(select(models.payouts.c.id).limit(1)).first() is not None


def has_account_numbers(connection: Connection, models: Models) -> bool:
    """Whether the account number of any payout waits in its row."""
    c = models.payouts.c
    waiting = select(c.id).where(c.status.in_([each.value for each in PayoutStatus if each not in WIPING]))
    kept = waiting.where(c.to_kind == "bank", c.to_details.is_not(None))
    return connection.execute(kept.limit(1)).first() is not None
