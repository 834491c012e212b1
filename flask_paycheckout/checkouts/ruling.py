"""The evidence in one read of a deposit: its comparison with what the customer was asked for. Pure and exact.

Of an order that is paid in parts, also what is left of it, and whether a payment is a part of that.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from flask_paycheckout.checkouts.payments import (
    EXACT,
    Amount,
    arrived_of,
    payment_columns,
    payment_method,
    payment_of,
)
from flask_paycheckout.checkouts.schedule import BETWEEN_MISSES, PAGE_GONE, Schedule
from flask_paycheckout.checkouts.states import Evidence, FoundBy, Reason, Status
from flask_paycheckout.database.history import Entry, line
from flask_paycheckout.totals import Pay, Total, positive_amount

if TYPE_CHECKING:
    from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
    from flask_paycheckout.client import Deposit


_SHOWN = 80


class Comparison(msgspec.Struct, frozen=True):
    """One field of the deposit, compared with the value that was stored before the redirect."""

    field: str
    asked: str
    seen: str
    agrees: bool


def compare(checkout_id: str, due: Total, deposit: Deposit) -> tuple[Comparison, ...]:
    """Compare the deposit's id, and currency and amount of the side that was asked for.

    `Pay` fixes the customer's side (`inputAmount`), `Receive` the shop's (`outputAmount`). An amount that the
    service did not send as a JSON number arrives as None, and never agrees.
    """
    if isinstance(due, Pay):
        side, currency, amount = "input", deposit.input_currency, deposit.input_amount
    else:
        side, currency, amount = "output", deposit.output_currency, deposit.output_amount
    return (
        _same("depositId", checkout_id, deposit.deposit_id),
        _same(f"{side}Currency", due.currency, currency),
        Comparison(
            f"{side}Amount",
            f"{due.amount:f}",
            _shown(amount),
            isinstance(amount, Decimal) and amount == due.amount,
        ),
    )


def _same(field: str, asked: str, seen: str | None) -> Comparison:
    return Comparison(field, asked, _shown(seen), seen == asked)


def _shown(value: object) -> str:
    return "nothing" if value is None else str(value)[:_SHOWN]


COMPLETED = "completed"
"""The status of a deposit whose money arrived."""

_PENDING = "pending"


def status_of(deposit: Deposit) -> str:
    """A deposit's status in lower case, since statuses are compared without regard to case."""
    return deposit.status.lower()


class Ruling(msgspec.Struct, frozen=True):
    """The evidence that a read provides, with the comparisons behind it."""

    evidence: Evidence | None
    reason: Reason | None = None
    compared: tuple[Comparison, ...] = ()
    error: str | None = None
    """The error of the shop's `order_total`, if it raised."""

    rest: Rest | None = None
    """The sums that are paid and left with this payment; None unless the order is paid in parts."""


class Rest(msgspec.Struct, frozen=True):
    """How much of an order is paid, and how much is left."""

    paid: Decimal
    """The sum that its customers paid, less refunds that were not cancelled and did not fail."""

    left: Decimal
    """The part of its newest total that is not paid; 0 once the order is paid."""

    currency: str


class Balance(msgspec.Struct, frozen=True):
    """The payments that count for an order, less their refunds."""

    paid: Decimal
    currency: str | None
    """None while there is no payment, or the service did not report its currency."""

    newest_part: str | None
    """The checkout id of the part that came last; None without a part."""

    has_payment: bool
    is_paid: bool
    """Whether a payment has paid the order."""

    def excess(self, total: Total | None, amount: Decimal = Decimal(0)) -> Decimal | None:
        """By how much a further payment would exceed what is left of this total; negative where it does not.

        None where the payments cannot be set off against it: it fixes the shop's side, or has another currency.
        """
        if not isinstance(total, Pay) or self.currency not in (None, total.currency):
            return None
        return EXACT.subtract(EXACT.add(self.paid, amount), total.amount)

    def due(self, total: Total) -> Total | None:
        """The total that the next checkout asks for; None where nothing is left, or that cannot be reckoned."""
        excess = self.excess(total)
        if excess is None or excess >= 0 or not isinstance(total, Pay):
            return None
        left = EXACT.minus(excess)
        return Pay(min(total.now or left, left), total.currency, receive_in=total.receive_in)

    def rest(self, total: Pay, amount: Decimal = Decimal(0)) -> Rest:
        """The sums that are paid and left of this total, with a further payment of this amount."""
        paid = EXACT.add(self.paid, amount)
        return Rest(paid, max(EXACT.subtract(total.amount, paid), Decimal(0)), total.currency)


def is_exact(amount: Amount | None) -> bool:
    """Whether an amount that arrived can be a part: positive, and with no more decimals than its currency has."""
    try:
        return amount is not None and positive_amount(amount.amount, amount.currency) > 0
    except (ValueError, TypeError):
        return False


def rule_on_part(arrived: Amount | None, total: Total, balance: Balance, compared: tuple[Comparison, ...]) -> Ruling:
    """Rule on a payment of an order that is paid in parts: it may be less than what is left, and never more.

    :param total: what the order costs now.
    :param compared: the comparisons so far.
    """
    excess = balance.excess(total, Decimal(0) if arrived is None else arrived.amount)
    if excess is None or not isinstance(total, Pay) or (arrived is not None and arrived.currency != total.currency):
        return Ruling(Evidence.DEPOSIT_DISAGREES, Reason.ORDER_CHANGED, compared)
    left, fits = balance.rest(total).left, excess <= 0 and is_exact(arrived)
    compared += (Comparison("left to pay", f"{left:f}", _shown(arrived and arrived.amount), fits),)
    if arrived is None or not fits:
        return Ruling(Evidence.DEPOSIT_DISAGREES, Reason.AMOUNT_MISMATCH, compared)
    evidence = Evidence.DEPOSIT_AGREES if excess == 0 else Evidence.DEPOSIT_IS_PART
    return Ruling(evidence, None, compared, rest=balance.rest(total, arrived.amount))


class ReadCause(msgspec.Struct):
    """The cause of a read of a deposit."""

    via: FoundBy
    at: datetime
    """A time before the service was asked: the answer proves nothing about what came later."""

    webhook_at: datetime | None = None
    """The time at which the webhook came that caused it, until that is stored with the result; else None."""

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that the webhook sets in the row of its checkout, as `Checkouts.planned` takes them."""
        if self.webhook_at is None:
            return {}
        return {"webhooks": 1, "webhook_read_at": self.webhook_at, "webhook_due_at": None}

    def prepend_to(self, entry: str) -> str:
        """An entry for the history, preceded by that of the webhook."""
        return entry if self.webhook_at is None else line(self.webhook_at, Entry.WEBHOOK) + entry


class Reading(msgspec.Struct):
    """A read of a checkout's deposit, while it is applied to the checkout as it was loaded."""

    checkout: CheckoutMixin
    deposit: Deposit | None
    """The deposit; None when the service says that there is none."""

    cause: ReadCause
    now: datetime
    """The time at which it is applied: its changes and plans count from then on, and its evidence from `cause.at`."""

    schedule: Schedule
    closed_statuses: Collection[str]
    """Deposit statuses that end a deposit without a payment, in lower case."""

    columns: dict[str, Any] = msgspec.field(default_factory=dict)
    """The columns that the read sets, whether it moves the checkout or not."""

    @property
    def status(self) -> str | None:
        """The deposit's status in lower case; None without a deposit."""
        return None if self.deposit is None else status_of(self.deposit)

    @property
    def is_stalled(self) -> bool:
        """Whether the checkout has been pending, without news, for longer than its payment method may take."""
        checkout = self.checkout
        if checkout.status != Status.PENDING or self.status not in (None, checkout.deposit_status):
            return False
        return self.cause.at - checkout.moved_at >= self.schedule.patience(self.method)

    @property
    def method(self) -> str | None:
        """The payment method in this read, or else in an earlier one."""
        return (payment_method(self.deposit) if self.deposit is not None else None) or self.checkout.payment_method

    @property
    def arrived(self) -> Amount | None:
        """The amount on the side that was asked for; None where it is unknown, or another one than was read first."""
        assert self.deposit is not None  # noqa: S101 - without a deposit no money arrived
        arrived = arrived_of(payment_of(payment_columns(self.deposit, self.now)), self.checkout.total_kind)
        return arrived if self.read_first in (None, arrived) else None

    @property
    def read_first(self) -> Amount | None:
        """The amount that an earlier read has stored, and the books keep; None before."""
        return arrived_of(self.checkout.payment, self.checkout.total_kind)

    @property
    def problem(self) -> str | None:
        """A warning about this read for people, although it is applied."""
        checkout, status = self.checkout, self.status
        if checkout.payment_paid_amount is not None and status != COMPLETED:
            paid = f"{checkout.payment_paid_amount} {checkout.payment_paid_currency}"
            is_now = "is not found" if status is None else f"has the status {status[:64]!r}"
            return (
                f"the deposit was completed ({paid} paid) before it was applied, and {is_now} now: ask the service why"
            )
        if status is None:
            late = checkout.webhooks > 0 and self.cause.at > checkout.created_at + PAGE_GONE
            return "a webhook announced a payment that the service does not find" if late else None
        if status not in (COMPLETED, _PENDING, *self.closed_statuses):
            return (
                f"the service reports the deposit status {status[:64]!r}, which no rule knows: it counts as not"
                " completed. If it ends a payment, add it to PAYCHECKOUT_CLOSED_DEPOSIT_STATUSES"
            )
        return None

    def entry(self, what: Entry, **facts: object) -> str:
        """The line for the history, after that of the webhook."""
        shown = "not found" if self.deposit is None else self.deposit.status[:64]
        return self.cause.prepend_to(line(self.now, what, via=self.cause.via, deposit=shown, **facts))


def rule_on(reading: Reading) -> Ruling:
    """The evidence in this read, before the shop is asked about a payment that agrees."""
    checkout, deposit = reading.checkout, reading.deposit
    if deposit is None:
        return Ruling(_evidence_of_absence(reading))
    if reading.status == COMPLETED:
        compared = compare(checkout.checkout_id, checkout.due, deposit)
        if reading.read_first is not None:
            first, again = str(reading.read_first), _shown(reading.arrived)
            compared += (Comparison("read first", first, again, reading.arrived is not None),)
        if all(comparison.agrees for comparison in compared):
            return Ruling(Evidence.DEPOSIT_AGREES, None, compared)
        return Ruling(Evidence.DEPOSIT_DISAGREES, Reason.AMOUNT_MISMATCH, compared)
    return Ruling(_evidence_without_money(reading))


def _evidence_without_money(reading: Reading) -> Evidence | None:
    if reading.status in reading.closed_statuses:
        return Evidence.DEPOSIT_CLOSED
    if reading.is_stalled:
        return Evidence.DEPOSIT_STALLED
    # An abandoned checkout is only reopened by another status than the one with which it was abandoned.
    checkout = reading.checkout
    same = checkout.status == Status.ABANDONED and reading.status == checkout.deposit_status
    return None if same else Evidence.DEPOSIT_OPEN


def _evidence_of_absence(reading: Reading) -> Evidence | None:
    if reading.is_stalled:
        return Evidence.DEPOSIT_STALLED
    page_gone = reading.cause.at > reading.checkout.created_at + PAGE_GONE
    since = reading.checkout.not_found_since
    again = since is not None and reading.cause.at >= since + BETWEEN_MISSES
    return Evidence.NEVER_PICKED if page_gone and again else None
