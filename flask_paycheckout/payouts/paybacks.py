"""The money of a payment that goes back: the limit of its refunds, and money that paid no order.

The sum of the refunds that were neither cancelled nor failed stands in the checkout's row. Each change of it locks the
row first, so that any number of transactions at the same time add up to what arrived at most. A rejected payment, and
an accepted second one of an order, stays listed until refunds cover all that arrived, or a person records that it was
paid back by hand, or is kept; so does what exceeds the total of an order with parts, until refunds of any of its
payments cover it, or a person records that it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
from sqlalchemy import Connection, RowMapping, Select, Table, func, select, text, update

from flask_paycheckout.checkouts.checkout_model import MONEY_TO_PAY_BACK, CheckoutMixin
from flask_paycheckout.checkouts.payments import EXACT, Amount
from flask_paycheckout.checkouts.states import OPEN, Reason, Status
from flask_paycheckout.database.connections import begin_limited
from flask_paycheckout.database.deeds import record_deed, who_and_why, yes_or_no
from flask_paycheckout.database.history import Entry, appended, line
from flask_paycheckout.database.models import Models
from flask_paycheckout.errors import NothingToRefund, PaybackRefused, RefundTooLarge, UnknownCheckout
from flask_paycheckout.parts import Parts
from flask_paycheckout.payouts.payout_states import ENDED, PayoutStatus

# The values of `payback`; it is REFUNDED while refunds cover all that arrived.
PAID_BACK, KEPT, REFUNDED = "paid_back", "kept", "refunded"


class RefundablePayment(msgspec.Struct, frozen=True):
    """A payment of which a part, or all, can be refunded."""

    checkout: CheckoutMixin
    arrived: Amount
    left: Amount
    """The part that refunds have not taken."""


def refundable(checkout: CheckoutMixin, *, new: bool = True) -> RefundablePayment:
    """How much of a checkout's money can be refunded.

    :param new: whether it is for a new refund; what an earlier one counts may change whatever was recorded since.
    :raises NothingToRefund: no money arrived, or what arrived is not settled yet.
    :raises PaybackRefused: a person has recorded that the money was paid back by hand.
    """
    checkout_id, status, payment = checkout.checkout_id, checkout.status, checkout.payment
    paid = None if payment is None else payment.paid
    if paid is None or (new and (paid.amount <= 0 or status in OPEN)):
        raise NothingToRefund(checkout_id, status)
    if new and checkout.payback == PAID_BACK:
        raise PaybackRefused(checkout_id, status, PAID_BACK, pays_order=False)
    return RefundablePayment(checkout, paid, Amount(_rest_of(checkout, paid.amount), paid.currency))


@dataclass(frozen=True, eq=False)
class RefundLimits:
    """Takes refunds from what arrived, inside the caller's transaction, and gives them back."""

    models: Models

    def lock(self, connection: Connection, checkout_id: str, *, new: bool = True) -> RefundablePayment:
        """Lock a checkout until the transaction ends; otherwise like `refundable`.

        :raises UnknownCheckout: no such checkout is stored.
        """
        c = self.models.checkouts.c
        if connection.dialect.name != "sqlite":
            # All checkouts of the order, in their order: what is left of the order depends on each of them.
            order_id = select(c.order_id).where(c.checkout_id == checkout_id).scalar_subquery()
            connection.execute(select(c.id).where(c.order_id == order_id).order_by(c.id).with_for_update())
        row = locked(connection, self.models.checkouts, checkout_id)
        return refundable(self.models.of_row(self.models.Checkout, row), new=new)

    def take(self, connection: Connection, payment: RefundablePayment, amount: Decimal) -> None:
        """Take a refund from what arrived.

        :param payment: as `lock` returned it in this transaction.
        :param amount: negative for what a refund that was cancelled, or has failed, gives back.
        :raises RefundTooLarge: refunds would be more than what arrived.
        """
        checkout, left = payment.checkout, payment.left.amount
        if amount > max(left, Decimal(0)):
            raise RefundTooLarge(checkout.checkout_id, amount, left, payment.left.currency)
        refunded = EXACT.add(Decimal(checkout.refunded_amount or 0), amount)
        values: dict[str, Any] = {"refunded_amount": f"{refunded:f}" if refunded else None}
        if left == amount:
            values["payback"] = REFUNDED
        elif checkout.payback in (REFUNDED, PAID_BACK):
            values["payback"] = None
        connection.execute(update(self.models.checkouts).filter_by(id=checkout.id).values(values))
        if checkout.status == Status.PART or checkout.paid_order_id is not None:
            self._change_excess(connection, checkout.order_id, amount)

    def _change_excess(self, connection: Connection, order_id: str, amount: Decimal) -> None:
        """Count a refund of one of its payments against what exceeds the total of an order with parts."""
        c = self.models.checkouts.c
        paid = c.paid_order_id == order_id, c.excess.is_not(None)
        row = connection.execute(select(c.excess, c.reason, c.payback).where(*paid)).one_or_none()
        if row is None:
            return
        excess = EXACT.subtract(Decimal(row.excess), amount)
        values: dict[str, Any] = {"excess": f"{excess:f}"}
        if excess > 0:
            values["reason"] = Reason.EXCESS
        if row.payback != KEPT and Reason.EXCESS in (row.reason, values.get("reason")):
            values["payback"] = None if excess > 0 else REFUNDED
        connection.execute(update(self.models.checkouts).where(*paid).values(values))


def locked(connection: Connection, checkouts: Table, checkout_id: str) -> RowMapping:
    """Lock a checkout until the transaction ends, and read its row.

    :raises UnknownCheckout: no such checkout is stored.
    """
    # An update also where the database has row locks: a read would begin a transaction on SQLite that could not write
    # any more once another process has written.
    lock = update(checkouts).filter_by(checkout_id=checkout_id).values(revision=checkouts.c.revision)
    row = connection.execute(lock.returning(*checkouts.c)).mappings().one_or_none()
    if row is None:
        raise UnknownCheckout(checkout_id)
    return row


def _rest_of(checkout: CheckoutMixin, arrived: Decimal) -> Decimal:
    """The part of a payment that was neither refunded nor paid back by hand."""
    by_hand = EXACT.subtract(arrived, Decimal(checkout.paid_back_amount or 0))
    return EXACT.subtract(by_hand, Decimal(checkout.refunded_amount or 0))


@dataclass(frozen=True)
class MoneyToPayBack:
    """A payment that paid no order, and was not yet recorded as paid back or kept."""

    checkout: CheckoutMixin
    """It was accepted as a second payment of its order, or rejected; moved at the time of that decision."""

    paid: Amount | None
    """The amount that the customer paid; None when the service did not report it, or it is not stored."""

    left: Amount | None
    """The part of `paid` that refunds have not taken, and of an excess what is left of it; None when `paid` is."""


@dataclass(frozen=True, eq=False)
class Paybacks:
    """Records that money which paid no order was paid back or is kept."""

    parts: Parts

    def listed(self, limit: int) -> tuple[int, tuple[MoneyToPayBack, ...]]:
        """Payments that paid no order, until a person says whether they were paid back or are kept.

        :param limit: list at most this many, the oldest first.
        :returns: how many there are, and the list.
        """
        waiting = select_to_pay_back(self.parts.models, None)
        counted = waiting.with_only_columns(func.count(), maintain_column_froms=True)
        oldest = waiting.order_by(self.parts.models.checkouts.c.moved_at).limit(limit)
        with self.parts.engine().connect() as connection:
            listed = [money_of(self.parts.models, row) for row in connection.execute(oldest).mappings()]
            return connection.execute(counted).scalar_one(), tuple(listed)

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
        now, models = self.parts.clock(), self.parts.models
        c, entry = models.checkouts.c, line(now, Entry.PAYBACK, to=to, by=by, why=why)
        with begin_limited(self.parts.engine()) as connection:
            row = locked(connection, models.checkouts, checkout_id)
            pays_order = row["paid_order_id"] is not None
            is_free = row["payback"] is None or (row["payback"] == KEPT and not kept)
            decided = row["status"] in (Status.PAID, Status.REJECTED) and not pays_order
            # The money of an order with parts: given back, also by hand, it counts as a refund.
            of_parts = kept and (row["reason"] == Reason.EXCESS or row["status"] == Status.PART)
            refund = None if kept else self._open_refund(connection, checkout_id)
            if refund is not None or not (is_free and (decided or of_parts)):
                raise PaybackRefused(checkout_id, row["status"], row["payback"], pays_order=pays_order, refund=refund)
            values: dict[str, Any] = {"payback": to, "history": appended(c.history, entry, always=True)}
            left = money_of(models, row).left
            if left is not None and not kept:
                by_hand = EXACT.add(Decimal(row["paid_back_amount"] or 0), left.amount)
                values["paid_back_amount"] = f"{by_hand:f}"
            marked = update(models.checkouts).where(c.id == row["id"]).values(values).returning(*c)
            row = connection.execute(marked).mappings().one()
            record_deed(connection, models.deeds, now, by, to, checkout_id, why, row["order_id"])
        checkout: CheckoutMixin = models.of_row(models.Checkout, row)
        return checkout

    def _open_refund(self, connection: Connection, checkout_id: str) -> str | None:
        """The reference of a refund that could still pay the money of a checkout back, whose row is locked."""
        c = self.parts.models.payouts.c
        # A refund in tokens is at its end once it was sent.
        is_sent_token = (c.status == PayoutStatus.SENT) & c.to_kind.is_not_distinct_from("wallet")
        still = select(c.reference).where(c.refund_of == checkout_id, c.status.not_in(ENDED), ~is_sent_token)
        return connection.execute(still.order_by(c.id).limit(1)).scalar_one_or_none()


def select_to_pay_back(models: Models, account: str | None) -> Select[Any]:
    """Select the rows of these payments, for `money_of`."""
    waiting = select(models.checkouts).where(text(MONEY_TO_PAY_BACK))
    return waiting if account is None else waiting.where(models.checkouts.c.account == account)


def money_of(models: Models, row: Mapping[Any, Any]) -> MoneyToPayBack:
    """The payment of a checkout's row."""
    checkout: CheckoutMixin = models.of_row(models.Checkout, row)
    paid = None if checkout.payment is None else checkout.payment.paid
    left = paid and _rest_of(checkout, paid.amount)
    if checkout.reason == Reason.EXCESS:
        left = Decimal(checkout.excess or 0)
    return MoneyToPayBack(checkout, paid, paid and Amount(left or Decimal(0), paid.currency))
