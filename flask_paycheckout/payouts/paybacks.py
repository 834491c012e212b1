"""Money that paid no order: a person refunds it, or records that it is kept.

A rejected payment, and an accepted second payment of an order, stays listed until refunds cover all of it, or a person
records that it is kept. An excess over the total of an order with parts stays listed until refunds of any of the
order's payments cover it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import func, select, text, update

from flask_paycheckout.checkouts.checkout_model import ANOTHER_AMOUNT, KEPT, MONEY_TO_PAY_BACK, CheckoutMixin
from flask_paycheckout.checkouts.failed_reads import NO_PROBLEM
from flask_paycheckout.checkouts.states import Reason, Status
from flask_paycheckout.database.connections import begin_limited
from flask_paycheckout.database.deeds import record_deed, who_and_why
from flask_paycheckout.database.models import Models
from flask_paycheckout.database.state_table import Entry, appended, line
from flask_paycheckout.errors import TransitionRefused, UnknownCheckout
from flask_paycheckout.payouts.refund_limits import left_of, locked
from flask_paycheckout.text import is_order_id
from flask_paycheckout.totals import EXACT, Amount
from flask_paycheckout.wiring import Wiring


@dataclass(frozen=True)
class MoneyToPayBack:
    """A payment that paid no order, and was neither refunded nor recorded as kept."""

    checkout: CheckoutMixin
    """The checkout, accepted as a second payment of its order, or rejected; `moved_at` is the time of that decision."""

    paid: Amount | None
    """The amount that the customer paid; None when the service did not report it, or it is not stored."""

    left: Amount | None
    """The part of `paid`, or of an excess, that is not refunded yet; None when `paid` is."""


@dataclass(frozen=True, eq=False)
class Paybacks:
    """The payments of one app that paid no order."""

    wiring: Wiring

    def listed(self, limit: int) -> tuple[int, tuple[MoneyToPayBack, ...]]:
        """Payments that paid no order, and were neither refunded nor recorded as kept.

        :param limit: list at most this many, the oldest first.
        :returns: their number, and the list.
        """
        waiting = select(self.wiring.models.checkouts).where(text(MONEY_TO_PAY_BACK))
        counted = waiting.with_only_columns(func.count(), maintain_column_froms=True)
        oldest = waiting.order_by(self.wiring.models.checkouts.c.moved_at).limit(limit)
        with self.wiring.engine().connect() as connection:
            listed = [money_of(self.wiring.models, row) for row in connection.execute(oldest).mappings()]
            return connection.execute(counted).scalar_one(), tuple(listed)

    def keep(self, checkout_id: str, by: str, why: str) -> CheckoutMixin:
        """Record that money which paid no order is kept, with name and reason.

        :raises UnknownCheckout: no such checkout is stored.
        :raises TransitionRefused: the payment paid an order, is not decided yet, is kept already, or is refunded.
        :raises ValueError: `by` or `why` is empty or too long.
        """
        by, why = who_and_why(by, why)
        if not is_order_id(checkout_id):
            raise UnknownCheckout(checkout_id)
        now, models = self.wiring.clock(), self.wiring.models
        c = models.checkouts.c
        with begin_limited(self.wiring.engine()) as connection:
            row = locked(connection, models.checkouts, checkout_id)
            if refusal := _refusal_to_keep(row):
                raise TransitionRefused(checkout_id, row["status"], "a person keeps the money", refusal)
            # The service took this money back, so none is here to be kept.
            gone = row["payment_completed_at"] is None
            entry = line(now, Entry.PAYBACK, to=KEPT, by=by, why=why, gone=gone)
            history = appended(c.history, entry, always=True)
            values: dict[str, Any] = {"payback": KEPT, "history": history, "revision": c.revision + 1}
            if row["payback"] == ANOTHER_AMOUNT:
                values |= NO_PROBLEM
            statement = update(models.checkouts).where(c.id == row["id"]).values(values).returning(*c)
            row = connection.execute(statement).mappings().one()
            record_deed(connection, models.deeds, now, by, KEPT, checkout_id, why, row["order_id"])
        checkout: CheckoutMixin = models.of_row(models.Checkout, row)
        return checkout


def _refusal_to_keep(checkout: Mapping[Any, Any]) -> str | None:
    """The reason why the money of a checkout's row cannot be kept; None if it can."""
    if checkout["payback"] == ANOTHER_AMOUNT:
        return None
    if checkout["payback"] is not None:
        return "it is kept already" if checkout["payback"] == KEPT else "refunds cover it: cancel them first"
    pays_order, status = checkout["paid_order_id"] is not None, checkout["status"]
    if checkout["payment_completed_at"] is None:
        # For money that the service took back, a person records that nothing more is to be done.
        return f"it is {status}, and no money of it is here" if checkout["payment_paid_amount"] is None else None
    if checkout["reason"] == Reason.EXCESS or status == Status.PART:
        return None
    if status in (Status.PAID, Status.REJECTED) and not pays_order:
        return None
    of_others = f"it is {status}; only a rejected payment, an accepted second one, a part, and an excess is kept"
    return "it paid its order" if pays_order else of_others


def waits_for_payback(checkout: CheckoutMixin) -> bool:
    """Whether a loaded checkout is listed, like `MONEY_TO_PAY_BACK` in SQL."""
    unpaid = checkout.status in (Status.PAID, Status.REJECTED) and checkout.paid_order_id is None
    is_here = checkout.payment_completed_at is not None
    return checkout.payback is None and is_here and (unpaid or is_excess(checkout))


def is_excess(checkout: CheckoutMixin) -> bool:
    """Whether a checkout paid its order, and more arrived than the order costs."""
    return checkout.status == Status.PAID and checkout.reason == Reason.EXCESS


def refunds_to_make(
    checkout: CheckoutMixin, attempts: Iterable[CheckoutMixin]
) -> Sequence[tuple[CheckoutMixin, Amount]]:
    """The refunds that would give back the listed money of a checkout; empty if the paid amount is not known.

    An excess may be more than the order's newest payment, so it is taken from several payments, the newest first.

    :param attempts: the checkouts of its order, oldest first.
    """
    if not is_excess(checkout):
        left = left_of(checkout)
        return [(checkout, left)] if left is not None and left.amount > 0 else []
    refunds, excess = list[tuple[CheckoutMixin, Amount]](), Decimal(checkout.excess or 0)
    payments = [each for each in attempts if each.status == Status.PART or each.paid_order_id is not None]
    for each in (checkout, *(other for other in reversed(payments) if other.id != checkout.id)):
        left = left_of(each)
        taken = min(excess, left.amount) if left is not None else Decimal(0)
        if left is not None and taken > 0:
            refunds.append((each, Amount(taken, left.currency)))
            excess = EXACT.subtract(excess, taken)
    return refunds


def money_of(models: Models, row: Mapping[Any, Any]) -> MoneyToPayBack:
    """The money to pay back of a checkout's row."""
    checkout: CheckoutMixin = models.of_row(models.Checkout, row)
    left = left_of(checkout)
    if left is not None and checkout.reason == Reason.EXCESS:
        left = Amount(Decimal(checkout.excess or 0), left.currency)
    return MoneyToPayBack(checkout, None if checkout.payment is None else checkout.payment.paid, left)
