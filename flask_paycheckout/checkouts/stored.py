"""The table of checkouts: its queries, and the planned reads of deposits, their times, claims and results.

A checkout is one attempt at paying an order. Each change is one conditional statement, so that among any number of
processes exactly one makes each read. Moves between states are in `checkouts.moves`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    and_,
    bindparam,
    case,
    func,
    literal,
    or_,
    select,
    update,
)

from flask_paycheckout.checkouts.checkout_model import ANOTHER_AMOUNT, KEPT, CheckoutMixin
from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS, Payment, payment_of
from flask_paycheckout.checkouts.ruling import OrderPayments
from flask_paycheckout.checkouts.schedule import HOURLY
from flask_paycheckout.checkouts.states import COUNTED, FINAL, OPEN, UNFINISHED, Reason, Status, best_of
from flask_paycheckout.database.connections import begin_limited, lost_races_ignored
from flask_paycheckout.database.state_table import Book, Entry, StateTable, appended, is_of, line
from flask_paycheckout.errors import UnknownCheckout
from flask_paycheckout.totals import EXACT, amount_of, whole_units

NEWEST = 3
"""The number of an order's newest checkouts whose deposits a visit of its page may read; reconcile reads the others."""

MOST_PAYMENTS = 100
"""A limit above the payments of any order, because anybody with the order's link can cause the query."""


class Arrival(NamedTuple):
    """A payment that arrived, with the id and the status of its checkout."""

    checkout_id: str
    status: str
    payment: Payment


# The maximum number of orders in one query; every database accepts so many parameters.
_MOST_AT_ONCE = 500
# The maximum number of orders with parts that one query returns.
_PAGE = 100


@dataclass(frozen=True, eq=False)
class Checkouts(StateTable[CheckoutMixin]):
    """The stored checkouts of one app's orders."""

    claim: timedelta
    """The time for which a process has a claimed read to itself."""

    book: Book

    mapped = "Checkout"
    key = "checkout_id"
    unknown = UnknownCheckout
    unmoved = ("id", "status", "revision")

    def planned(self, columns: frozenset[str]) -> dict[str, Any]:
        """The new values of these columns; a read that a newer webhook has planned is kept.

        The deposit may have been read before the change that a webhook beyond `of_webhooks` announced. `webhooks` is
        the number of webhooks to add. The columns of a payment keep what was stored first, because the books of a
        closed month must not change; only their time is taken away, when the service does not report the deposit as
        completed any more.
        """
        c, values = self.table.c, super().planned(columns)
        for name in values.keys() & {*PAYMENT_COLUMNS} if "payment_paid_amount" in values else ():
            values[name] = case((c.payment_completed_at.is_(None), values[name]), else_=c[name])
        hinted = c.webhooks != bindparam("of_webhooks", type_=c.webhooks.type)
        if "moved_at" in values:
            # For the second move of one read, the row was loaded after a webhook that came during the read.
            hinted |= c.webhook_due_at > values["moved_at"]
        if "next_read_at" in values:
            claimed: ColumnElement[Any] = c.next_read_at
            if "status" in values:
                # After a decision, only a webhook causes a read; a claim by another process causes none.
                claimed = case((values["status"].in_([*OPEN, Status.PART]), c.next_read_at))
            planned, requested = values["next_read_at"], func.coalesce(c.webhook_due_at, claimed)
            sooner = or_(planned.is_(None), requested < planned)
            values["next_read_at"] = case((hinted & sooner, requested), else_=planned)
        if "webhooks" in values:
            # Count the webhook that caused the read; newer webhooks keep the times that they have set.
            values["webhooks"] = c.webhooks + values["webhooks"]
            later = c.webhook_read_at > values["webhook_read_at"]
            values["webhook_read_at"] = case((later, c.webhook_read_at), else_=values["webhook_read_at"])
        if "webhook_due_at" in values:
            values["webhook_due_at"] = case((hinted, c.webhook_due_at), else_=values["webhook_due_at"])
        return values

    def current(self, order_id: str, connection: Connection | None = None) -> CheckoutMixin | None:
        """The order's current checkout, detached from any session.

        :param connection: the connection of the caller's transaction; None for one of its own.
        """
        return next(iter(self.of("current_order_id", order_id, connection)), None)

    def newest(self, order_id: str) -> Sequence[CheckoutMixin]:
        """The order's newest checkouts, newest first: `NEWEST`, and one more when there are older ones."""
        return self.loaded(self._select_newest, of_order_id=order_id)

    def arrivals(self, order_id: str) -> tuple[list[Arrival], list[bool]]:
        """The newest payments of an order, and for each payment that was taken back, whether it had paid the order.

        Newest first; at most `MOST_PAYMENTS` together.
        """
        c = self.table.c
        arrived = c.payment_completed_at.is_not(None)
        query = select(c.checkout_id, c.status, c.paid_order_id, *(c[name] for name in PAYMENT_COLUMNS))
        conditions = c.order_id == order_id, arrived | (c.payment_paid_amount.is_not(None) & c.status.not_in(OPEN))
        rows = self.rows(query.where(*conditions).order_by(c.id.desc()).limit(MOST_PAYMENTS))
        paid = ((row, payment_of(row._mapping)) for row in rows)
        arrivals = [Arrival(row.checkout_id, row.status, payment) for row, payment in paid if payment is not None]
        return arrivals, [row.paid_order_id is not None for row in rows if row.payment_completed_at is None]

    def decided(self, order_id: str) -> Sequence[Any]:
        """The payments of an order that were accepted or rejected: the columns about their refunds."""
        c = self.table.c
        columns = c.checkout_id, c.status, c.paid_order_id, c.payback, c.refunded_amount
        conditions = c.order_id == order_id, c.status.in_(COUNTED | FINAL), c.payment_completed_at.is_not(None)
        return self.rows(select(*columns, *(c[name] for name in PAYMENT_COLUMNS)).where(*conditions))

    def counts(self, order_id: str, connection: Connection | None = None) -> dict[str, int]:
        """The number of an order's checkouts in each status.

        :param connection: the connection of the caller's transaction; None for one of its own.
        """
        return dict(self.rows(self._count_by_status, connection, of_order_id=order_id))

    def count_pages(self, order_id: str, since: datetime) -> int:
        """The number of an order's unfinished checkouts that were made after a time."""
        c = self.table.c
        query = select(func.count()).where(c.order_id == order_id, c.status.in_(UNFINISHED), c.created_at > since)
        return int(self.rows(query)[0][0])

    def order_statuses(self, order_ids: Sequence[str], connection: Connection | None = None) -> dict[str, str]:
        """The status of each of these orders; `unpaid` if no checkout of it is stored.

        :param connection: the connection of the caller's transaction; None for one of its own.
        """
        c, statuses_of = self.table.c, {order_id: set[str]() for order_id in order_ids}
        distinct_ids = list(statuses_of)
        for first in range(0, len(distinct_ids), _MOST_AT_ONCE):
            condition = c.order_id.in_(distinct_ids[first : first + _MOST_AT_ONCE])
            for order_id, status in self.rows(select(c.order_id, c.status).where(condition).distinct(), connection):
                statuses_of[order_id].add(status)
        return {order_id: best_of(statuses) for order_id, statuses in statuses_of.items()}

    def order_status(self, order_id: str, connection: Connection | None = None) -> str:
        """The status of one order; otherwise like `order_statuses`."""
        return best_of(self.counts(order_id, connection))

    def order_payments(
        self, order_id: str, connection: Connection | None = None, *, lock: bool = False
    ) -> OrderPayments:
        """The payments that count for an order, less their refunds; all in the currency of its parts, if it has any.

        :param connection: the connection of the caller's transaction; None for one of its own.
        :param lock: lock the order's checkouts until that transaction ends; see `lock_order`.
        """
        return _payments_of(self.rows(self._select_order_payments[lock], connection, of_order_id=order_id))

    def payments_in(self, connection: Connection, order_id: str) -> Callable[[], OrderPayments]:
        """A function that returns an order's payments, to be called in this transaction after the shop was asked.

        The payments cannot change until the transaction ends. On SQLite they are read at once, by the statement that
        takes the one write lock before the shop reads its order; a server locks the checkouts after the shop's order.
        """
        if connection.dialect.name != "sqlite":
            return lambda: self.order_payments(order_id, connection, lock=True)
        payments = _payments_of(self.rows(self._lock_order_payments, connection, of_order_id=order_id))
        return lambda: payments

    def part_orders(self, due_by: datetime) -> Iterator[str]:
        """The unpaid orders with parts whose total is to be asked for again, read page by page."""
        c = self.table.c
        due = select(c.order_id).where(c.next_read_at <= due_by, c.status == Status.PART.value)
        page = due.distinct().order_by(c.order_id).limit(_PAGE)
        rows = self.rows(page)
        while rows:
            yield from chain.from_iterable(rows)
            rows = self.rows(page.where(c.order_id > rows[-1].order_id))

    def look_at_parts(
        self, connection: Connection, order_id: str, at: datetime | None, **failure: str | datetime | int | None
    ) -> None:
        """Set the time when the shop is asked again for the total of an order with parts; None once it is paid.

        :param failure: the columns for the problem that kept its parts from paying it; without them the problem is
            cleared.
        """
        c = self.table.c
        # A part that was taken back is not checked again, and keeps its problem, for the alarm about it.
        is_part = c.status == Status.PART.value, c.payment_completed_at.is_not(None)
        parts = update(self.table).where(c.order_id == order_id, *is_part)
        no_failure = {"problem": None, "problem_since": None, "failed_reads": 0}
        connection.execute(parts.values(next_read_at=at))
        # An alarm shows the problem of a part whose amount changed, until a person has handled it.
        connection.execute(parts.where(c.payback.is_distinct_from(ANOTHER_AMOUNT)).values(no_failure | failure))

    # Planned reads

    def note(self, checkout: CheckoutMixin, entry: str | None, **values: Any) -> CheckoutMixin | None:
        """Store the result of a read that does not change the state.

        :param entry: a line for the history, or None.
        :param values: the columns that it sets.
        :returns: the checkout as stored now; None when its state or money has changed meanwhile, and nothing was
            written.
        """
        before, after = checkout.payment_completed_at, values.get("payment_completed_at", checkout.payment_completed_at)
        moves_money = (before is None) is not (after is None)
        if moves_money:
            # An earlier read or move must not be stored as if this change had not been seen.
            values["revision"] = checkout.revision + 1
        loaded = self.models.row_of(checkout)
        with lost_races_ignored(), begin_limited(self.engine()) as connection:
            row = self.change(connection, loaded, values, entry)
            if row is None:
                return None
            if moves_money:
                self.book(connection, loaded, row, values["last_read_at"])
            return self.made(row)
        return None

    def bring_forward(self, now: datetime) -> None:
        """Make reads due that a host whose clock is ahead by hours has planned, claimed or prevented.

        Such reads are planned for later than any read of their state, or their abandoned checkouts were read in the
        future.
        """
        c = self.table.c
        planned = and_(c.status.in_([Status.CREATED, Status.PENDING]), c.next_read_at > now + self.claim + HOURLY)
        abandoned = and_(c.status == Status.ABANDONED, c.moved_at > now, c.last_read_at > now)
        misplanned = select(c.id).where(or_(planned, abandoned))
        # Query first, because SQLite has one writer.
        if self.rows(misplanned.limit(1)):
            self.claimed(misplanned, {"next_read_at": now})

    def count_due(self, now: datetime) -> int:
        """Count the reads that are due."""
        ((due,),) = self.rows(select(func.count()).where(*self._is_due(now)))
        return int(due)

    def due_accounts(self, due_by: datetime) -> list[str]:
        """The names of the merchant accounts with reads that were due at this time."""
        c = self.table.c
        accounts = select(c.account).where(*self._is_due(due_by)).distinct()
        return sorted(chain.from_iterable(self.rows(accounts)))

    def claim_due(
        self,
        due_by: datetime,
        now: datetime,
        limit: int,
        *,
        account: str,
        failing: bool = False,
        newest_first: bool = False,
    ) -> Sequence[CheckoutMixin]:
        """Claim due reads, and return their checkouts, oldest first.

        If the claimant dies, its claim expires after `claim`.

        :param due_by: claim reads that were due at this time.
        :param account: claim only reads of this merchant account.
        :param failing: claim only reads of checkouts whose last read failed; otherwise only the other reads.
        :param newest_first: claim the reads that became due last, instead of the longest overdue ones.
        """
        c = self.table.c
        failed = c.failed_reads > 0 if failing else c.failed_reads == 0
        due = select(c.id).where(*self._is_due(due_by), failed, c.account == account)
        due = due.order_by(c.next_read_at.desc() if newest_first else c.next_read_at).limit(limit)
        return self._claim_reads(due, now)

    def claim_page_read(self, seen: CheckoutMixin, now: datetime) -> CheckoutMixin | None:
        """Claim the read of a checkout for a status page.

        :returns: the checkout as it is now; None when it was read or claimed since `seen` was loaded, or another
            transaction has locked it, because no page waits for that.
        """
        c = self.table.c
        unread = (c[name].is_not_distinct_from(getattr(seen, name)) for name in ("next_read_at", "last_read_at"))
        mine = c.id == seen.id, c.status == seen.status, *unread
        return next(iter(self._claim_reads(select(c.id).where(*mine), now)), None)

    def note_webhook(
        self, checkout: CheckoutMixin, now: datetime, cooldown: timedelta, *, read_at: datetime | None = None
    ) -> CheckoutMixin | None:
        """Store a webhook, and make the read due.

        Within the cool-down the read becomes due at its end, so that no webhook is lost and reads stay limited. The
        read of a decided checkout is due while `webhook_due_at` says so.

        :param read_at: when the last read for a webhook began, if that may not be stored yet.
        :returns: the checkout as it is now if this webhook may cause a read at once, else None.
        """
        at_once, later = self._noting
        parameters = {"of_id": checkout.id, "now": now, "entry": line(now, Entry.WEBHOOK)}
        with begin_limited(self.engine()) as connection:
            if read_at is None or not now - cooldown < read_at <= now:
                cooled = parameters | {"cooled_at": now - cooldown}
                row = connection.execute(at_once, cooled).mappings().one_or_none()
                if row is not None:
                    return self.made(row)
                read_at = now
            connection.execute(later, parameters | {"due": read_at + cooldown})
        return None

    @cached_property
    def _noting(self) -> tuple[Any, Any]:
        """The statements for a webhook whose read may begin at once, and for a webhook whose read becomes due later.

        The conditions are on the row as it is now: a move since it was loaded must not lose the webhook.
        """
        c, moment = self.table.c, self.table.c.next_read_at.type
        now, due = bindparam("now", type_=moment), bindparam("due", type_=moment)
        history = appended(c.history, bindparam("entry", type_=c.history.type), always=False)
        counting = update(self.table).where(is_of(self.table, "id")).values(webhooks=c.webhooks + 1)
        free = or_(c.webhook_read_at.is_(None), c.webhook_read_at <= bindparam("cooled_at", type_=moment))
        hint = case((c.status.in_(OPEN), None), else_=now)
        at_once = counting.where(free).values(
            history=history, next_read_at=now, webhook_read_at=now, webhook_due_at=hint
        )
        later = counting.values(
            # Record the first webhook only, which shows that webhooks arrive.
            history=case((c.webhooks == 0, history), else_=c.history),
            next_read_at=case((c.next_read_at <= due, c.next_read_at), else_=due),
            # A time in the past belongs to an earlier webhook, whose deposit has been read since then.
            webhook_due_at=case((c.webhook_due_at > now, c.webhook_due_at), else_=due),
        )
        return at_once.returning(*c), later

    def _is_due(self, due_by: datetime) -> tuple[ColumnElement[bool], ...]:
        c = self.table.c
        # For a part, `next_read_at` is the time to ask for the order's total, unless a webhook came; see
        # `PartPayments`.
        return c.next_read_at <= due_by, or_(c.status.in_(OPEN), c.webhook_due_at <= due_by)

    def _claim_reads(self, ids: Any, now: datetime) -> list[CheckoutMixin]:
        """Claim reads, and return their checkouts; the cool-down of a webhook begins with the read that it caused."""
        c = self.table.c
        hinted = c.webhook_due_at.is_not(None), literal(now, c.webhook_read_at.type)
        read_at, until = case(hinted, else_=c.webhook_read_at), now + self.claim
        due_at = case((c.status.in_(OPEN), None), else_=literal(until, c.webhook_due_at.type))
        return self.claimed(ids, {"next_read_at": until, "webhook_read_at": read_at, "webhook_due_at": due_at})

    # Inside a transaction of the caller

    def lock_order(self, connection: Connection, order_id: str) -> bool:
        """Lock the checkouts of an order until the transaction ends; returns whether one of them paid the order.

        SQLite has no such locks: there the transaction must have written before, which locks everything.
        """
        return self.order_payments(order_id, connection, lock=True).is_paid

    # Statements

    @cached_property
    def _select_newest(self) -> Any:
        rows = select(self.table).where(is_of(self.table, "order_id"))
        return rows.order_by(self.table.c.id.desc()).limit(NEWEST + 1)

    @cached_property
    def _select_order_payments(self) -> dict[bool, Any]:
        """The statements by whether they lock. The locking one selects all rows, because each may become a part."""
        c = self.table.c
        columns = c.id, c.checkout_id, c.status, c.paid_order_id, c.refunded_amount, c.payment_completed_at
        paid = c.payment_paid_amount, c.payment_paid_currency
        rows = select(*columns, *paid).where(is_of(self.table, "order_id")).order_by(c.id)
        return {False: rows.where(c.status.in_(COUNTED)), True: rows.with_for_update()}

    @cached_property
    def _lock_order_payments(self) -> Any:
        """An update that changes nothing, which takes the write lock even if it finds no payment."""
        c, select_payments = self.table.c, self._select_order_payments[False]
        changing = update(self.table).where(is_of(self.table, "order_id"), c.status.in_(COUNTED))
        # It keeps the shop's own columns, too, that SQLAlchemy would set at each update.
        same = {column: column for column in self.table.c if column.key == "revision" or column.onupdate is not None}
        return changing.values(same).returning(*select_payments.selected_columns)

    @cached_property
    def _count_by_status(self) -> Any:
        status = self.table.c.status
        return select(status, func.count()).where(is_of(self.table, "order_id")).group_by(status)


def _payments_of(rows: Sequence[Any]) -> OrderPayments:
    """The payments in rows of an order's checkouts."""
    rows = sorted(rows, key=lambda row: row.id)
    here = [row for row in rows if row.payment_completed_at is not None]
    parts = [row for row in here if row.status == Status.PART]
    is_paid = any(row.paid_order_id is not None for row in rows)
    paid, currency = Decimal(0), None
    counted = parts + [row for row in here if row.paid_order_id is not None]
    sums = [
        # The service may have paid refunds twice.
        (max(EXACT.subtract(arrived.amount, Decimal(row.refunded_amount or 0)), Decimal(0)), arrived.currency)
        for row in counted
        if (arrived := amount_of(row.payment_paid_amount, row.payment_paid_currency))
    ]
    # The first part that has money left decides the currency. A part that was refunded completely decides it only if
    # the order is paid and no other part does.
    for kept, paid_in in sorted(sums, key=lambda each: not whole_units(*each)):
        if (whole_units(kept, paid_in) or is_paid) and currency in (None, paid_in):
            paid, currency = EXACT.add(paid, kept), paid_in
    newest = max(parts, key=lambda row: (row.payment_completed_at, row.id), default=None)
    return OrderPayments(paid, currency, newest and newest.checkout_id, bool(counted), is_paid)


def change_excess(connection: Connection, checkouts: Table, order_id: str, gone: Decimal) -> None:
    """Subtract money that left an order with parts from its excess; negative for money that came back."""
    c = checkouts.c
    paid = c.paid_order_id == order_id, c.excess.is_not(None)
    columns = c.excess, c.reason, c.payback, c.payment_completed_at
    row = connection.execute(select(*columns).where(*paid)).one_or_none()
    if row is None:
        return
    excess = EXACT.subtract(Decimal(row.excess), gone)
    values: dict[str, Any] = {"excess": f"{excess:f}", "revision": c.revision + 1}
    if excess > 0:
        values["reason"] = Reason.EXCESS
    has_own_alarm = row.payment_completed_at is None or row.payback in (KEPT, ANOTHER_AMOUNT)
    if not has_own_alarm and Reason.EXCESS in (row.reason, values.get("reason")):
        values["payback"] = None if excess > 0 else "refunded"
    connection.execute(update(checkouts).where(*paid).values(values))
