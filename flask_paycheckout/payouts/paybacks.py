"""Money that paid no order: rejected payments, and accepted second payments of an order.

A person refunds it, pays it back by hand, or decides to keep it. The payment stays listed until refunds cover all that
arrived, or one of the others is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, NoReturn

from sqlalchemy import ColumnElement, Connection, Engine, Select, func, select, text, update

from flask_paycheckout.checkouts.checkout_model import MONEY_TO_PAY_BACK, CheckoutMixin
from flask_paycheckout.checkouts.decisions import who_and_why, yes_or_no
from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS, Amount, payment_of
from flask_paycheckout.clock import Clock, as_utc
from flask_paycheckout.database.history import Entry, appended, line
from flask_paycheckout.database.lock_limit import begin_limited
from flask_paycheckout.errors import PaybackRefused, UnknownCheckout
from flask_paycheckout.payouts.payout_states import RELEASING, PayoutStatus
from flask_paycheckout.payouts.refund_limits import rest_of

if TYPE_CHECKING:
    from flask_paycheckout.models import Models

__all__ = [
    "KEPT",
    "PAID_BACK",
    "MoneyToPayBack",
    "Paybacks",
    "count_to_pay_back",
    "list_to_pay_back",
    "money_of",
    "select_to_pay_back",
    "sums_of",
]

PAID_BACK = "paid_back"
KEPT = "kept"

# More digits than any sum has; the caller's own decimal context could round.
_EXACT = Context(prec=600)


@dataclass(frozen=True)
class MoneyToPayBack:
    """A payment that paid no order, and was not yet recorded as paid back or kept."""

    checkout_id: str
    order_id: str
    account: str
    """The merchant account's name; "" is the one of the settings."""

    reason: str | None
    """The reason why the payment was held."""

    accepted: bool
    """Whether it was accepted as a second payment of its order; otherwise it was rejected."""

    asked: str
    """The total that the customer was asked for."""

    paid: Amount | None
    """The amount that the customer paid; None when the service did not report it, or it is not stored."""

    since: datetime
    """The time of the decision."""

    left: Amount | None
    """The part of `paid` that refunds have not taken; None when `paid` is."""


class Paybacks:
    """Records that money which paid no order was paid back or is kept."""

    def __init__(self, engine: Callable[[], Engine], models: Models, clock: Clock) -> None:
        self._engine = engine
        self._models = models
        self._clock = clock

    def mark(self, checkout_id: str, by: str, why: str, kept: bool) -> CheckoutMixin:
        """Record that this money was paid back, or is kept, with name and reason.

        Kept money may be recorded as paid back later, but not the other way round.

        :raises UnknownCheckout: no such checkout is stored.
        :raises PaybackRefused: this payment paid an order, is not decided yet, is recorded already, or is refunded; or
            it was paid back, and a refund of it is open.
        :raises ValueError: `by` or `why` is empty or too long.
        """
        by, why = who_and_why(by, why)
        to = KEPT if yes_or_no("kept", kept) else PAID_BACK
        table = self._models.checkouts
        entry = line(self._clock(), Entry.PAYBACK, to=to, by=by, why=why)
        before = table.c.payback.is_(None) if kept else table.c.payback.is_(None) | (table.c.payback == KEPT)
        decided = table.c.status.in_(["paid", "rejected"]) & table.c.paid_order_id.is_(None)
        marked = (
            update(table)
            .where(table.c.checkout_id == checkout_id, decided, before)
            .values(payback=to, history=appended(table.c.history, entry, always=True))
            .returning(*table.c)
        )
        with begin_limited(self._engine()) as connection:
            if not kept:
                self._require_no_open_refund(connection, checkout_id)
            row = connection.execute(marked).mappings().one_or_none()
            if row is None:
                self._refuse(connection, checkout_id, to)
        return self._models.checkout_of_row(row)

    def _require_no_open_refund(self, connection: Connection, checkout_id: str) -> None:
        """Lock the checkout, as a new refund does, and refuse while a refund could still pay its money back."""
        checkouts, c = self._models.checkouts, self._models.payouts.c
        mine = checkouts.c.checkout_id == checkout_id
        connection.execute(update(checkouts).where(mine).values(revision=checkouts.c.revision))
        ended = *(status.value for status in RELEASING), PayoutStatus.COMPLETED.value
        # A refund in tokens is at its end once it was sent.
        is_sent_token = (c.status == PayoutStatus.SENT.value) & c.to_kind.is_not_distinct_from("wallet")
        still = select(c.reference).where(c.refund_of == checkout_id, c.status.not_in(ended), ~is_sent_token)
        if (refund := connection.execute(still.order_by(c.id).limit(1)).scalar_one_or_none()) is not None:
            found = connection.execute(select(checkouts.c.status, checkouts.c.payback).where(mine)).one()
            raise PaybackRefused(checkout_id, found.status, found.payback, pays_order=False, refund=refund)

    def _refuse(self, connection: Connection, checkout_id: str, to: str) -> NoReturn:
        c = self._models.checkouts.c
        columns = select(c.status, c.paid_order_id, c.payback).where(c.checkout_id == checkout_id)
        found = connection.execute(columns).one_or_none()
        if found is None:
            raise UnknownCheckout(checkout_id)
        raise PaybackRefused(checkout_id, found.status, found.payback, pays_order=found.paid_order_id is not None)


def count_to_pay_back(connection: Connection, models: Models, account: str | None = None) -> int:
    """Count the payments that wait to be recorded as paid back or kept, of one account or of all."""
    counted = select(func.count()).select_from(models.checkouts).where(*_waiting(models, account))
    return connection.execute(counted).scalar_one()


def list_to_pay_back(
    connection: Connection, models: Models, limit: int, account: str | None = None
) -> tuple[MoneyToPayBack, ...]:
    """List up to `limit` payments that wait to be recorded as paid back or kept, the longest waiting first.

    :param account: only of this merchant account; None: of all.
    """
    oldest = select_to_pay_back(models, account).order_by(models.checkouts.c.moved_at).limit(limit)
    return tuple(map(money_of, connection.execute(oldest)))


def select_to_pay_back(models: Models, account: str | None) -> Select[Any]:
    """Select the rows of these payments, for `money_of`."""
    c = models.checkouts.c
    columns = [c.checkout_id, c.order_id, c.account, c.reason, c.status, c.moved_at, c.total_amount, c.total_currency]
    payment = (c[name] for name in PAYMENT_COLUMNS)
    return select(*columns, c.refunded_amount, *payment).where(*_waiting(models, account))


def money_of(row: Any) -> MoneyToPayBack:
    """The payment of a selected row."""
    payment = payment_of(row._mapping)
    paid = payment.paid if payment else None
    return MoneyToPayBack(
        *(row.checkout_id, row.order_id, row.account, row.reason, row.status == "paid"),
        *(f"{row.total_amount} {row.total_currency}", paid, as_utc(row.moved_at)),
        paid and Amount(rest_of(paid.amount, row.refunded_amount), paid.currency),
    )


def _waiting(models: Models, account: str | None) -> list[ColumnElement[bool]]:
    of_account = [] if account is None else [models.checkouts.c.account == account]
    return [text(MONEY_TO_PAY_BACK), *of_account]  # type: ignore[list-item]


def sums_of(listed: tuple[MoneyToPayBack, ...]) -> tuple[Amount, ...]:
    """The sums of what is left of these payments in each currency, without unknown amounts."""
    sums: dict[str, Decimal] = {}
    for money in listed:
        if money.left is not None:
            before = sums.get(money.left.currency, Decimal(0))
            sums[money.left.currency] = _EXACT.add(before, money.left.amount)
    return tuple(Amount(amount, currency) for currency, amount in sorted(sums.items()))
