"""The limit of a payment's refunds.

The checkout's row holds the sum of the refunds that were neither cancelled nor failed. Each change of the sum locks the
row first, so that concurrent transactions never refund more than arrived.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
from sqlalchemy import Connection, RowMapping, Table, select, update

from flask_paycheckout.checkouts.checkout_model import ANOTHER_AMOUNT, CheckoutMixin
from flask_paycheckout.checkouts.states import OPEN, Status
from flask_paycheckout.checkouts.stored import change_excess
from flask_paycheckout.database.models import Models
from flask_paycheckout.errors import NothingToRefund, RefundTooLarge, UnknownCheckout
from flask_paycheckout.totals import EXACT, Amount, amount_of, whole_units

REFUNDED = "refunded"
"""The value of `payback` while refunds cover all that arrived."""


class RefundablePayment(msgspec.Struct, frozen=True):
    """A payment of which a part, or all, can be refunded."""

    checkout: CheckoutMixin
    arrived: Amount
    left: Amount
    """The part that refunds have not taken, as far as it can be paid in its currency."""


def refundable(checkout: CheckoutMixin, *, new: bool = True) -> RefundablePayment:
    """The part of a checkout's money that can be refunded.

    :param new: whether it is for a new refund. The amount that an earlier refund counts may change at any time, even
        after the payment was taken back.
    :raises NothingToRefund: no money arrived, or what arrived is not settled yet.
    """
    paid = _paid(checkout) or (None if new else checkout.taken_back)
    if paid is None or (new and (paid.amount <= 0 or checkout.status in OPEN)):
        taken_back = checkout.taken_back is not None
        raise NothingToRefund(checkout.checkout_id, checkout.status, taken_back=taken_back)
    return RefundablePayment(checkout, paid, _left(checkout, paid))


@dataclass(frozen=True, eq=False)
class RefundLimits:
    """Changes the sum of a payment's refunds inside the caller's transaction."""

    models: Models

    def lock(self, connection: Connection, checkout_id: str, *, new: bool = True) -> RefundablePayment:
        """Lock a checkout until the transaction ends; otherwise like `refundable`.

        :raises UnknownCheckout: no such checkout is stored.
        """
        c = self.models.checkouts.c
        if connection.dialect.name != "sqlite":
            # Lock all checkouts of the order, sorted by id, because the order's excess depends on each of them.
            order_id = select(c.order_id).where(c.checkout_id == checkout_id).scalar_subquery()
            connection.execute(select(c.id).where(c.order_id == order_id).order_by(c.id).with_for_update())
        row = locked(connection, self.models.checkouts, checkout_id)
        return refundable(self.models.of_row(self.models.Checkout, row), new=new)

    def take(
        self, connection: Connection, payment: RefundablePayment, amount: Decimal, *, beyond: bool = False
    ) -> None:
        """Add a refund to the sum of a payment's refunds.

        :param payment: as `lock` returned it in this transaction.
        :param amount: negative for a refund that was cancelled or has failed.
        :param beyond: whether the service has paid it already, so that the refunds may count more than the amount that
            arrived.
        :raises RefundTooLarge: the refunds would be more than the amount that arrived.
        """
        checkout, left = payment.checkout, payment.left
        if amount > left.amount and not beyond:
            raise RefundTooLarge(checkout.checkout_id, amount, left.amount, left.currency)
        refunded = EXACT.add(Decimal(checkout.refunded_amount or 0), amount)
        # With a new revision, a read in progress is applied to the values as this change leaves them.
        revision = self.models.checkouts.c.revision + 1
        values: dict[str, Any] = {"refunded_amount": f"{refunded:f}" if refunded else None, "revision": revision}
        covers_all = whole_units(EXACT.subtract(payment.arrived.amount, refunded), left.currency) <= 0
        if covers_all and checkout.payback != ANOTHER_AMOUNT:
            values["payback"] = REFUNDED
        elif checkout.payback == REFUNDED:
            values["payback"] = None
        connection.execute(update(self.models.checkouts).filter_by(id=checkout.id).values(values))
        # A payment that was taken back is no excess; if it arrives after all, its refunds are counted then.
        if (checkout.status == Status.PART or checkout.excess is not None) and checkout.taken_back is None:
            change_excess(connection, self.models.checkouts, checkout.order_id, amount)


def locked(connection: Connection, checkouts: Table, checkout_id: str) -> RowMapping:
    """Lock a checkout until the transaction ends, and read its row.

    :raises UnknownCheckout: no such checkout is stored.
    """
    # Lock by an update on every database: a transaction on SQLite that begins with a read cannot write any more once
    # another process has written.
    lock = update(checkouts).filter_by(checkout_id=checkout_id).values(revision=checkouts.c.revision)
    row = connection.execute(lock.returning(*checkouts.c)).mappings().one_or_none()
    if row is None:
        raise UnknownCheckout(checkout_id)
    return row


def left_of(checkout: CheckoutMixin) -> Amount | None:
    """The part of a payment that refunds have not taken and can pay; None if the paid amount is not known."""
    paid = _paid(checkout)
    return None if paid is None else _left(checkout, paid)


def _paid(checkout: CheckoutMixin) -> Amount | None:
    if checkout.payment_completed_at is None:
        return None
    return amount_of(checkout.payment_paid_amount, checkout.payment_paid_currency)


def _left(checkout: CheckoutMixin, paid: Amount) -> Amount:
    left = EXACT.subtract(paid.amount, Decimal(checkout.refunded_amount or 0))
    return Amount(max(whole_units(left, paid.currency), Decimal(0)), paid.currency)
