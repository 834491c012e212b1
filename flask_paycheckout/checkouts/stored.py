"""Queries of the checkout table; a checkout is one attempt at paying an order.

They use the extension's own connections, so they never commit the shop's changes in `db.session`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sqlalchemy import Connection, Engine, Table, and_, bindparam, exists, func, literal_column, or_, select

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS, Payment, payment_of
from flask_paycheckout.checkouts.states import LIVE, OPEN, Status, best_of
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.autocommit import autocommit
from flask_paycheckout.database.order_ids import is_order_id
from flask_paycheckout.database.parameters import is_of
from flask_paycheckout.errors import UnknownCheckout

if TYPE_CHECKING:
    from flask_paycheckout.models import Models


NEWEST = 3
"""The number of an order's newest checkouts whose deposits a visit of its page may read; reconcile reads the others."""

# The most orders in one query; every database accepts so many parameters.
_MOST_AT_ONCE = 500


class CheckoutSummary(NamedTuple):
    """The columns of a checkout that decide whether to read its deposit; cheaper to load than the whole row."""

    id: int
    checkout_id: str
    current_order_id: str | None
    status: str
    next_read_at: datetime | None
    last_read_at: datetime | None
    failed_reads: int
    reason: str | None
    account: str


class Checkouts:
    """The stored checkouts of one app's orders.

    :param engine: returns the engine of the checkout table, when first needed.
    """

    def __init__(self, engine: Callable[[], Engine], models: Models) -> None:
        self._engine = engine
        self._models = models
        self._table = models.checkouts

    def find(self, checkout_id: str) -> CheckoutMixin | None:
        """The checkout of this id, detached from any session."""
        if not is_order_id(checkout_id):
            return None
        return next(iter(self._loaded(self._select_by_id, of_checkout_id=checkout_id)), None)

    def require(self, checkout_id: str) -> CheckoutMixin:
        """The checkout of this id, detached from any session.

        :raises UnknownCheckout: no such checkout is stored.
        """
        found = self.find(checkout_id)
        if found is None:
            raise UnknownCheckout(checkout_id)
        return found

    def current(self, order_id: str) -> CheckoutMixin | None:
        """The order's current checkout, detached from any session."""
        return next(iter(self._loaded(self._select_current, of_current_order_id=order_id)), None)

    def of_order(self, order_id: str) -> Sequence[CheckoutMixin]:
        """Every checkout of an order, oldest first."""
        return self._loaded(self._select_of_order, of_order_id=order_id)

    def hinted(self, checkout_id: str) -> CheckoutMixin | None:
        """The checkout of this id if a webhook about it says anything new, detached from any session.

        None for a decided checkout that has had a webhook: a hint changes nothing any more.
        """
        return next(iter(self._loaded(self._select_hinted, of_checkout_id=checkout_id)), None)

    def newest(self, order_id: str) -> Sequence[CheckoutSummary]:
        """The order's newest checkouts, newest first: `NEWEST`, and one more when there are older ones."""
        return [_summary(row) for row in self._rows(self._select_newest, of_order_id=order_id)]

    def payments(self, order_id: str) -> list[Payment]:
        """The newest payments that arrived for an order, newest first; at most `NEWEST`."""
        with self._single.connect() as connection:
            rows = connection.execute(self._select_payments, {"of_order_id": order_id}).mappings()
            return [payment for row in rows if (payment := payment_of(row)) is not None]

    def rejected(self, order_id: str) -> dict[str, str | None]:
        """The ids of an order's rejected payments, with what was recorded of paying them back."""
        c = self._table.c
        rows = select(c.checkout_id, c.payback).where(c.order_id == order_id, c.status == Status.REJECTED.value)
        return dict(self._rows(rows))

    def counts(self, order_id: str) -> dict[str, int]:
        """The number of an order's checkouts in each status."""
        return dict(self._rows(self._count_by_status, of_order_id=order_id))

    def count_pages(self, order_id: str, statuses: Sequence[str], since: datetime) -> int:
        """The number of an order's checkouts in these states that were made after a time."""
        c = self._table.c
        made = select(func.count()).where(c.order_id == order_id, c.status.in_(statuses), c.created_at > since)
        return int(self._rows(made)[0][0])

    def order_statuses(self, order_ids: Sequence[str], connection: Connection | None = None) -> dict[str, str]:
        """The status of each of these orders, `unpaid` where nothing of it is stored.

        :param connection: the connection of the caller's transaction; None for one of its own.
        """
        found: dict[str, set[str]] = {order_id: set() for order_id in order_ids}
        wanted = list(found)
        for first in range(0, len(wanted), _MOST_AT_ONCE):
            some = wanted[first : first + _MOST_AT_ONCE]
            for order_id, status in self._rows(self._select_statuses, connection, of_order_ids=some):
                found[order_id].add(status)
        return {order_id: best_of(statuses) for order_id, statuses in found.items()}

    def has_paid(self, order_id: str, connection: Connection | None = None) -> bool:
        """Whether a checkout of this order paid it.

        :param connection: the connection of the caller's transaction; None for one of its own.
        """
        return bool(self._rows(self._exists_paid, connection, of_paid_order_id=order_id)[0][0])

    # Inside a transaction of the caller

    def find_in(self, connection: Connection, checkout_id: str) -> CheckoutMixin:
        """The checkout of this id as this transaction sees it, detached from any session."""
        found = connection.execute(self._select_by_id, {"of_checkout_id": checkout_id})
        return self._models.checkout_of_row(found.mappings().one())

    def lock_order(self, connection: Connection, order_id: str) -> bool:
        """Lock the checkouts of an order until the transaction ends; returns whether one of them paid the order.

        SQLite has no such locks: there the transaction must have written before, which locks everything.
        """
        return any(connection.execute(self._lock_of_order, {"of_order_id": order_id}).scalars())

    def has_live(self, connection: Connection, order_id: str) -> bool:
        """Whether a checkout of this order is created, pending, held or paid, so that the order is not abandoned."""
        return bool(connection.execute(self._exists_live, {"of_order_id": order_id}).scalar_one())

    def _rows(self, statement: Any, connection: Connection | None = None, **parameters: Any) -> Sequence[Any]:
        if connection is not None:
            return connection.execute(statement, parameters).all()
        with self._single.connect() as own:
            return own.execute(statement, parameters).all()

    def _loaded(self, statement: Any, **parameters: str) -> list[CheckoutMixin]:
        with self._single.connect() as connection:
            return [self._models.checkout_of_row(row) for row in connection.execute(statement, parameters).mappings()]

    @cached_property
    def _single(self) -> Engine:
        """The engine for single statements."""
        return autocommit(self._engine())

    # Statements

    @cached_property
    def _select_by_id(self) -> Any:
        return select(self._table).where(is_of(self._table, "checkout_id"))

    @cached_property
    def _select_current(self) -> Any:
        return select(self._table).where(is_of(self._table, "current_order_id"))

    @cached_property
    def _select_of_order(self) -> Any:
        return select(self._table).where(is_of(self._table, "order_id")).order_by(self._table.c.id)

    @cached_property
    def _select_hinted(self) -> Any:
        c = self._table.c
        # Literals in single comparisons: a repeated webhook costs this query alone, and each parameter takes time.
        is_open = [c.status == literal_column(f"'{status.value}'") for status in sorted(OPEN)]
        return self._select_by_id.where(or_(*is_open, c.webhooks == literal_column("0")))

    @cached_property
    def _select_newest(self) -> Any:
        rows = select(*self._short).where(is_of(self._table, "order_id"))
        return rows.order_by(self._table.c.id.desc()).limit(literal_column(str(NEWEST + 1)))

    @cached_property
    def _select_payments(self) -> Any:
        c = self._table.c
        rows = select(*(c[name] for name in PAYMENT_COLUMNS)).where(is_of(self._table, "order_id"))
        return rows.where(c.payment_completed_at.is_not(None)).order_by(c.id.desc()).limit(NEWEST)

    @cached_property
    def _count_by_status(self) -> Any:
        status = self._table.c.status
        return select(status, func.count()).where(is_of(self._table, "order_id")).group_by(status)

    @cached_property
    def _select_statuses(self) -> Any:
        c = self._table.c
        wanted = bindparam("of_order_ids", expanding=True, type_=c.order_id.type)
        return select(c.order_id, c.status).where(c.order_id.in_(wanted)).distinct()

    @cached_property
    def _exists_paid(self) -> Any:
        return select(exists().where(is_of(self._table, "paid_order_id")))

    @cached_property
    def _exists_live(self) -> Any:
        return select(exists().where(is_of(self._table, "order_id"), self._table.c.status.in_(LIVE)))

    @cached_property
    def _lock_of_order(self) -> Any:
        locked = select(self._table.c.paid_order_id).where(is_of(self._table, "order_id"))
        return locked.order_by(self._table.c.id).with_for_update()

    @cached_property
    def _short(self) -> list[Any]:
        return [self._table.c[name] for name in CheckoutSummary._fields]


def _summary(row: Any) -> CheckoutSummary:
    summary = CheckoutSummary(*row)
    if summary.next_read_at is None and summary.last_read_at is None:
        return summary
    return summary._replace(next_read_at=_utc(summary.next_read_at), last_read_at=_utc(summary.last_read_at))


def _utc(stored: datetime | None) -> datetime | None:
    return None if stored is None else as_utc(stored)


_ABANDONED, _PENDING = "order_abandoned", "order_pending"


class _Event(Protocol):
    """The fields of an event that decide whether it is superseded."""

    @property
    def name(self) -> str: ...

    @property
    def order_id(self) -> str: ...

    @property
    def checkout_id(self) -> str: ...


class Superseding:
    """Compares events with the present state of their orders.

    `order_abandoned` is superseded while the order is created, pending, held or paid again; `order_pending` once the
    order is paid or held, or its own checkout is decided. All other events stay true.
    """

    def __init__(self, table: Table, checkouts: Checkouts) -> None:
        c = table.c
        settled = c.status.in_((Status.PAID, Status.HELD))
        decided = c.status.in_((Status.PAID, Status.HELD, Status.REJECTED))
        overtaken = or_(and_(is_of(table, "order_id"), settled), and_(is_of(table, "checkout_id"), decided))
        self._checkouts = checkouts
        self._exists_overtaken = select(exists().where(overtaken))

    def may_happen_to(self, event: _Event) -> bool:
        """Whether events of this name can be superseded at all."""
        return event.name in (_ABANDONED, _PENDING)

    def has_happened_to(self, event: _Event, connection: Connection, *, lock: bool = False) -> bool:
        """Whether this event is no longer true.

        :param lock: lock the order's checkouts, so that the answer stays right until the transaction ends. SQLite has
            no row locks; there the transaction must have written before.
        """
        if not self.may_happen_to(event):
            return False
        if lock:
            # A separate statement, since only the next one sees checkouts that were stored while this one waited.
            self._checkouts.lock_order(connection, event.order_id)
        if event.name == _ABANDONED:
            return self._checkouts.has_live(connection, event.order_id)
        about = {"of_order_id": event.order_id, "of_checkout_id": event.checkout_id}
        return bool(connection.execute(self._exists_overtaken, about).scalar_one())
