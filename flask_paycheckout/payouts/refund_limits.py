"""The limit of a checkout's refunds: together never more than what arrived.

The sum of the refunds that were neither cancelled nor failed stands in the checkout's row. Each change of it locks the
row first, and is one statement that requires the sum that it starts from, so that any number of transactions at the
same time add up to what arrived at most.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import Connection, Table, select, update

from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS, Amount, payment_of
from flask_paycheckout.checkouts.states import OPEN
from flask_paycheckout.database.parameters import is_of
from flask_paycheckout.errors import NothingToRefund, PaybackRefused, RefundTooLarge, UnknownCheckout

if TYPE_CHECKING:
    from flask_paycheckout.models import Models

__all__ = ["REFUNDED", "RefundLimits", "Refundable", "rest_of"]

REFUNDED = "refunded"
"""The value of `payback` while refunds cover all that arrived."""

_PAID_BACK = "paid_back"
# More digits than any sum has; the caller's own decimal context could round.
_EXACT = Context(prec=600)


class Refundable(msgspec.Struct, frozen=True):
    """The money of a checkout, as far as it was not refunded yet."""

    arrived: Amount
    rest: Decimal
    """The part that refunds may still take, in the currency of `arrived`."""

    row: Any
    """The checkout's row, locked until the transaction ends."""


class RefundLimits:
    """Takes refunds from what arrived, inside the caller's transaction, and gives them back."""

    def __init__(self, models: Models) -> None:
        self.table: Table = models.checkouts
        c, mine = self.table.c, is_of(self.table, "checkout_id")
        order_id = select(c.order_id).where(mine).scalar_subquery()
        self._lock_order: Any = select(c.id).where(c.order_id == order_id).order_by(c.id).with_for_update()
        self._lock_row: Any = update(self.table).where(mine).values(revision=c.revision)
        self._select_row: Any = select(self.table).where(mine)

    def lock(self, connection: Connection, checkout_id: str) -> Refundable:
        """Lock a checkout until the transaction ends, and read how much of its money can be refunded.

        :raises UnknownCheckout: no such checkout is stored.
        :raises NothingToRefund: no money arrived, or what arrived is not settled yet.
        :raises PaybackRefused: a person has recorded that the money was paid back by hand.
        """
        if connection.dialect.name != "sqlite":
            # All checkouts of the order, in their order: a refund that rejects a held payment locks them as well.
            connection.execute(self._lock_order, {"of_checkout_id": checkout_id})
        refundable = self._locked(connection, checkout_id)
        status, payback = refundable.row["status"], refundable.row["payback"]
        if refundable.arrived.amount <= 0 or status in OPEN:
            raise NothingToRefund(checkout_id, status)
        if payback == _PAID_BACK:
            raise PaybackRefused(checkout_id, status, payback, pays_order=False)
        return refundable

    def take(self, connection: Connection, refundable: Refundable, amount: Decimal) -> None:
        """Take a refund from what arrived.

        :param refundable: as `lock` returned it in this transaction.
        :raises RefundTooLarge: refunds would be more than what arrived.
        """
        if amount > refundable.rest:
            raise RefundTooLarge(refundable.row["checkout_id"], amount, refundable.rest, refundable.arrived.currency)
        self._set(connection, refundable, _EXACT.subtract(refundable.rest, amount))

    def give_back(self, connection: Connection, checkout_id: str, amount: Decimal) -> None:
        """Take a refund out of the sum again, as it was cancelled or has failed."""
        refundable = self._locked(connection, checkout_id)
        self._set(connection, refundable, _EXACT.add(refundable.rest, amount))

    def _locked(self, connection: Connection, checkout_id: str) -> Refundable:
        # An update also where the database has row locks: a read would begin a transaction on SQLite that could not
        # write any more once another process has written.
        if connection.execute(self._lock_row, {"of_checkout_id": checkout_id}).rowcount == 0:
            raise UnknownCheckout(checkout_id)
        row = connection.execute(self._select_row, {"of_checkout_id": checkout_id}).mappings().one()
        payment = payment_of({name: row[name] for name in PAYMENT_COLUMNS})
        if payment is None or payment.paid is None:
            raise NothingToRefund(checkout_id, row["status"])
        return Refundable(payment.paid, rest_of(payment.paid.amount, row["refunded_amount"]), row)

    def _set(self, connection: Connection, refundable: Refundable, rest: Decimal) -> None:
        c, row = self.table.c, refundable.row
        refunded = _EXACT.subtract(refundable.arrived.amount, rest)
        before = c.refunded_amount.is_not_distinct_from(row["refunded_amount"])
        values: dict[str, Any] = {"refunded_amount": f"{refunded:f}" if refunded else None}
        if rest == 0:
            values["payback"] = REFUNDED
        elif row["payback"] == REFUNDED:
            values["payback"] = None
        changed = connection.execute(update(self.table).where(c.id == row["id"], before).values(values))
        if changed.rowcount != 1:
            # The row is locked, so only a database without row locks and with several writers comes here.
            raise RefundTooLarge(row["checkout_id"], refunded, rest, refundable.arrived.currency)


def rest_of(arrived: Decimal, refunded: str | None) -> Decimal:
    """The part of what arrived that was not refunded."""
    return _EXACT.subtract(arrived, Decimal(refunded or 0))
