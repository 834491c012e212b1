"""The evidence in one read of a deposit, and what it says about a checkout. Pure."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

import msgspec

from flask_paycheckout.rules.matching import Comparison, compare
from flask_paycheckout.rules.schedule import PAGE_GONE, Schedule
from flask_paycheckout.rules.states import Evidence, Reason, Status
from flask_paycheckout.totals import Total

if TYPE_CHECKING:
    from flask_paycheckout.client import Deposit

__all__ = ["COMPLETED", "Ruling", "rule_on"]

COMPLETED = "completed"
"""The status of a deposit whose money arrived."""


class Ruling(msgspec.Struct, frozen=True):
    """The evidence that a read provides, with the comparisons behind it."""

    evidence: Evidence | None
    reason: Reason | None = None
    compared: tuple[Comparison, ...] = ()
    error: str | None = None
    """The error of the shop's `order_total`, if it raised."""


class _Checkout(Protocol):
    """The facts of a stored checkout on which a ruling depends."""

    checkout_id: str
    status: str
    deposit_status: str | None
    payment_method: str | None
    created_at: datetime
    moved_at: datetime
    not_found_reads: int

    @property
    def total(self) -> Total: ...


def rule_on(
    checkout: _Checkout,
    deposit: Deposit | None,
    method: str | None,
    now: datetime,
    schedule: Schedule,
    closed_statuses: Collection[str],
) -> Ruling:
    """The evidence in this read, before the shop is asked about a payment that agrees.

    :param deposit: the read; None when the service says that there is no such deposit.
    :param method: the payment method in this read, or else in an earlier one.
    :param closed_statuses: deposit statuses that end a deposit without a payment, in lower case.
    """
    if deposit is None:
        return Ruling(_evidence_of_absence(checkout, now, schedule))
    if deposit.status == COMPLETED:
        compared = compare(checkout.checkout_id, checkout.total, deposit)
        if all(comparison.agrees for comparison in compared):
            return Ruling(Evidence.DEPOSIT_AGREES, None, compared)
        return Ruling(Evidence.DEPOSIT_DISAGREES, Reason.AMOUNT_MISMATCH, compared)
    if deposit.status.lower() in closed_statuses:
        return Ruling(Evidence.DEPOSIT_CLOSED)
    if checkout.status == Status.PENDING and _is_stalled(checkout, deposit.status, method, now, schedule):
        return Ruling(Evidence.DEPOSIT_STALLED)
    if checkout.status == Status.ABANDONED and deposit.status == checkout.deposit_status:
        # Abandoned with just this status; only another one reopens the checkout.
        return Ruling(None)
    return Ruling(Evidence.DEPOSIT_OPEN)


def _evidence_of_absence(checkout: _Checkout, now: datetime, schedule: Schedule) -> Evidence | None:
    if checkout.status == Status.PENDING and _is_stalled(
        checkout, checkout.deposit_status, checkout.payment_method, now, schedule
    ):
        return Evidence.DEPOSIT_STALLED
    page_gone = now > checkout.created_at + PAGE_GONE
    return Evidence.NEVER_PICKED if page_gone and checkout.not_found_reads >= 1 else None


def _is_stalled(
    checkout: _Checkout, deposit_status: str | None, method: str | None, now: datetime, schedule: Schedule
) -> bool:
    waited = now - checkout.moved_at
    return deposit_status == checkout.deposit_status and waited >= schedule.patience(method)
