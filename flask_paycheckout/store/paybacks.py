"""Money that paid no order: rejected payments, and second payments of an order that a person accepted.

The service has no call that pays a deposit back, so a person does, or decides to keep it. Until somebody has said
which, it stays listed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Context, Decimal

from sqlalchemy import Connection, Engine, func, select, text, update

from flask_paycheckout.clock import Clock, as_utc
from flask_paycheckout.errors import PaybackRefused, UnknownCheckout
from flask_paycheckout.rules.decisions import who_and_why
from flask_paycheckout.store.history import Entry, appended, line
from flask_paycheckout.store.models import MONEY_TO_PAY_BACK, Models
from flask_paycheckout.store.payments import PAYMENT_COLUMNS, Amount, payment_of

__all__ = [
    "KEPT",
    "PAID_BACK",
    "MoneyToPayBack",
    "Paybacks",
    "count_to_pay_back",
    "list_to_pay_back",
    "sums_of",
]

PAID_BACK = "paid_back"
KEPT = "kept"

# The caller's own decimal context may be too narrow for what is exact here.
_EXACT = Context(prec=600)


@dataclass(frozen=True)
class MoneyToPayBack:
    """Money that paid no order, of which nobody has said yet whether it was paid back or is kept.

    :ivar reason: why the payment was held.
    :ivar accepted: a person accepted it as a second payment of its order; False: a person rejected it.
    :ivar asked: the total that the customer was asked for.
    :ivar paid: what the customer paid; None where that was not said, or is not stored.
    :ivar since: when it was decided.
    """

    checkout_id: str
    order_id: str
    reason: str | None
    accepted: bool
    asked: str
    paid: Amount | None
    since: datetime


class Paybacks:
    """Records what became of money that paid no order."""

    def __init__(self, engine: Callable[[], Engine], models: Models, clock: Clock) -> None:
        self._engine = engine
        self._models = models
        self._clock = clock

    def mark(self, checkout_id: str, by: str, why: str, kept: bool) -> None:
        """Record that this money was paid back, or is kept, with who says so and why.

        Money that was kept may be paid back later; what was paid back stays so.

        :raises UnknownCheckout: no such checkout is stored.
        :raises PaybackRefused: this money paid an order, is not decided yet, or is marked so already.
        :raises ValueError: `by` or `why` is empty or too long.
        """
        by, why = who_and_why(by, why)
        to = KEPT if kept else PAID_BACK
        table = self._models.checkouts
        entry = line(self._clock(), Entry.PAYBACK, to=to, by=by, why=why)
        before = table.c.payback.is_(None) if kept else table.c.payback.is_distinct_from(PAID_BACK)
        decided = table.c.status.in_(["paid", "rejected"]) & table.c.paid_order_id.is_(None)
        marked = (
            update(table)
            .where(table.c.checkout_id == checkout_id, decided, before)
            .values(payback=to, history=appended(table.c.history, entry, always=True))
        )
        with self._engine().begin() as connection:
            if connection.execute(marked).rowcount == 0:
                self._refuse(connection, checkout_id, to)

    def _refuse(self, connection: Connection, checkout_id: str, to: str) -> None:
        c = self._models.checkouts.c
        columns = select(c.status, c.paid_order_id, c.payback).where(c.checkout_id == checkout_id)
        found = connection.execute(columns).one_or_none()
        if found is None:
            raise UnknownCheckout(checkout_id)
        raise PaybackRefused(checkout_id, found.status, found.payback, pays_order=found.paid_order_id is not None)


def count_to_pay_back(connection: Connection, models: Models) -> int:
    """How many payments wait until somebody says whether they were paid back."""
    counted = select(func.count()).select_from(models.checkouts).where(text(MONEY_TO_PAY_BACK))
    return connection.execute(counted).scalar_one()


def list_to_pay_back(connection: Connection, models: Models, limit: int) -> tuple[MoneyToPayBack, ...]:
    """Those that wait longest first, up to `limit` of them."""
    c = models.checkouts.c
    columns = [c.checkout_id, c.order_id, c.reason, c.status, c.moved_at, c.total_amount, c.total_currency]
    waiting = select(*columns, *(c[name] for name in PAYMENT_COLUMNS)).where(text(MONEY_TO_PAY_BACK))
    return tuple(
        MoneyToPayBack(
            row["checkout_id"],
            row["order_id"],
            row["reason"],
            row["status"] == "paid",
            f"{row['total_amount']} {row['total_currency']}",
            payment.paid if (payment := payment_of(row)) else None,
            as_utc(row["moved_at"]),
        )
        for row in connection.execute(waiting.order_by(c.moved_at).limit(limit)).mappings()
    )


def sums_of(listed: tuple[MoneyToPayBack, ...]) -> tuple[Amount, ...]:
    """How much these payments are in each currency, as far as it is known."""
    sums: dict[str, Decimal] = {}
    for money in listed:
        if money.paid is not None:
            before = sums.get(money.paid.currency, Decimal(0))
            sums[money.paid.currency] = _EXACT.add(before, money.paid.amount)
    return tuple(Amount(amount, currency) for currency, amount in sorted(sums.items()))
