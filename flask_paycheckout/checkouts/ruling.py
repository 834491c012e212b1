"""The evidence in one read of a deposit: its exact comparison with the amount that the customer was asked for.

For an order that is paid in parts, this includes the balance, and whether a payment is a part of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from flask_paycheckout.checkouts.checkout_model import KEPT, CheckoutMixin, problem_columns
from flask_paycheckout.checkouts.payments import arrived_of, payment_columns
from flask_paycheckout.checkouts.schedule import BETWEEN_MISSES, PAGE_GONE, Schedule
from flask_paycheckout.checkouts.states import OPEN, Evidence, FoundBy, Reason, Status
from flask_paycheckout.database.state_table import Entry, line
from flask_paycheckout.totals import EXACT, Amount, Pay, Total, amount_of, whole_units

if TYPE_CHECKING:
    from flask_paycheckout.client import Deposit


_SHOWN = 80


class Comparison(msgspec.Struct, frozen=True):
    """One field of the deposit, compared with the value that was stored before the redirect."""

    field: str
    asked: str
    seen: str
    agrees: bool


def compare(checkout_id: str, due: Total, sent: Mapping[str, Any]) -> tuple[Comparison, ...]:
    """Compare the deposit's id, and the currency and amount of the side that the total fixes.

    `Pay` fixes the customer's side (`inputAmount`), `Receive` the shop's (`outputAmount`). An amount that the
    service did not send as a JSON number arrives as None, and never agrees.

    :param sent: the deposit as plain data.
    """
    side = "input" if isinstance(due, Pay) else "output"
    currency, amount = sent[f"{side}_currency"], sent[f"{side}_amount"]
    return (
        _same("depositId", checkout_id, sent["deposit_id"]),
        _same(f"{side}Currency", due.currency, currency),
        Comparison(
            f"{side}Amount",
            f"{due.amount:f}",
            _shown(amount),
            type(amount) is Decimal and amount == due.amount,
        ),
    )


def _same(field: str, expected: str, seen: str | None) -> Comparison:
    return Comparison(field, expected, _shown(seen), seen == expected)


def _shown(value: object) -> str:
    digits = f"{value:f}" if isinstance(value, Decimal) else str(value)
    return "nothing" if value is None else digits[:_SHOWN]


COMPLETED = "completed"
"""The status of a deposit whose money arrived."""

_PENDING = "pending"


def status_of(deposit: Deposit) -> str:
    """A deposit's status in lower case, because statuses are compared without regard to case."""
    return deposit.status.lower()


class Ruling(msgspec.Struct, frozen=True):
    """The evidence that a read provides, with the comparisons behind it."""

    evidence: Evidence | None
    reason: Reason | None = None
    compared: tuple[Comparison, ...] = ()
    error: str | None = None
    """The error of the shop's `order_total`, if it raised."""

    balance: Balance | None = None
    """The sums that are paid and left with this payment; None unless the order is paid in parts."""


class Balance(msgspec.Struct, frozen=True):
    """The sums of an order that are paid and left."""

    paid: Decimal
    """The sum that its customers paid, less refunds that were not cancelled and did not fail."""

    left: Decimal
    """The part of its newest total that is not paid; 0 once the order is paid."""

    currency: str


class Free(msgspec.Struct, frozen=True):
    """The total of an order that costs nothing, which `Pay` cannot hold."""

    currency: str
    amount: Decimal = Decimal(0)

    def __str__(self) -> str:
        return f"{self.amount:f} {self.currency}"


class OrderPayments(msgspec.Struct, frozen=True):
    """The payments that count for an order, less their refunds."""

    paid: Decimal
    currency: str | None
    """None while no payment is left after refunds, or the service did not report its currency."""

    newest_part: str | None
    """The checkout id of the part that came last; None without a part."""

    has_payment: bool
    is_paid: bool
    """Whether a payment has paid the order."""

    def excess(self, total: Total | Free | None, amount: Decimal = Decimal(0)) -> Decimal | None:
        """The amount by which a further payment would exceed the balance of this total; negative if it would not.

        An amount below the currency's smallest unit counts as nothing, because nobody can pay it or give it back.

        None if the total has another currency or fixes what the shop receives.
        """
        if not isinstance(total, (Pay, Free)) or self.currency not in (None, total.currency):
            return None
        return whole_units(EXACT.subtract(EXACT.add(self.paid, amount), total.amount), total.currency)

    def due(self, total: Total) -> Total | None:
        """The total that the next checkout asks for; None if nothing is left, or if it cannot be computed."""
        excess = self.excess(total)
        if excess is None or excess >= 0 or not isinstance(total, Pay):
            return None
        left = EXACT.minus(excess)
        return Pay(min(total.now or left, left), total.currency, receive_in=total.receive_in)

    def balance(self, total: Pay | Free, amount: Decimal = Decimal(0)) -> Balance:
        """The sums that are paid and left of this total, with a further payment of this amount."""
        paid = EXACT.add(self.paid, amount)
        left = whole_units(EXACT.subtract(total.amount, paid), total.currency)
        return Balance(paid, max(left, Decimal(0)), total.currency)


def _is_exact(amount: Amount | None) -> bool:
    """Whether an amount counts as a part without a person's decision: positive, and in whole units of its currency."""
    return amount is not None and 0 < amount.amount == whole_units(amount.amount, amount.currency)


def rule_on_part(
    paid: Amount | None, total: Total, payments: OrderPayments, compared: tuple[Comparison, ...]
) -> Ruling:
    """Rule on a payment of an order that is paid in parts: it may be less than the balance, but not more.

    :param paid: the amount that the customer paid.
    :param total: the order's present total.
    :param compared: the comparisons so far.
    """
    excess = payments.excess(total, Decimal(0) if paid is None else paid.amount)
    if excess is None or not isinstance(total, Pay) or (paid is not None and paid.currency != total.currency):
        return Ruling(Evidence.DEPOSIT_DISAGREES, Reason.ORDER_CHANGED, compared)
    left, fits = payments.balance(total).left, excess <= 0 and _is_exact(paid)
    compared += (Comparison("left to pay", f"{left:f}", _shown(paid and paid.amount), fits),)
    if paid is None or not fits:
        return Ruling(Evidence.DEPOSIT_DISAGREES, Reason.AMOUNT_MISMATCH, compared)
    evidence = Evidence.DEPOSIT_AGREES if excess == 0 else Evidence.DEPOSIT_IS_PART
    return Ruling(evidence, None, compared, balance=payments.balance(total, paid.amount))


class ReadCause(msgspec.Struct):
    """The cause of a read of a deposit."""

    via: FoundBy
    at: datetime
    """A time before the service was asked: the answer proves nothing about later events."""

    webhook_at: datetime | None = None
    """The time of the webhook that caused it, until that is stored with the result; otherwise None."""

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that the webhook sets in the row of its checkout, as `Checkouts.planned` takes them."""
        if self.webhook_at is None:
            return {}
        return {"webhooks": 1, "webhook_read_at": self.webhook_at, "webhook_due_at": None}

    @property
    def entry(self) -> str:
        """The line of the webhook for the history, before the one about its read; empty without a webhook."""
        return "" if self.webhook_at is None else line(self.webhook_at, Entry.WEBHOOK)


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

    counts: bool = False
    """Whether its payment is decided, and has paid its order, or is a part."""

    columns: dict[str, Any] = {}
    """The columns that the read sets, whether it moves the checkout or not."""

    sent: dict[str, Any] = {}
    """The deposit as plain data; empty without a deposit."""

    reported: str = "not found"
    """The deposit's status as the service wrote it."""

    status: str | None = None
    """The deposit's status in lower case, as long as its column; None without a deposit."""

    money: dict[str, Any] = {}
    """The columns for the money of a completed deposit; empty without a deposit."""

    method: str | None = None
    """The payment method that this read names; otherwise the method of an earlier read."""

    read_first: Amount | None = None
    """The amount that an earlier read has stored, and the books keep; None before."""

    def __post_init__(self) -> None:
        if self.deposit is not None:
            self.sent = self.deposit.to_dict()
            self.money, self.reported = payment_columns(self.sent, self.now), self.sent["status"]
            self.status = self.reported.lower()[:64]
        self.method = self.money.get("payment_method") or self.checkout.payment_method
        if self.checkout.payment_completed_at is not None:
            self.read_first = arrived_of(self.checkout.payment, self.checkout.total_kind)

    @property
    def is_stalled(self) -> bool:
        """Whether the checkout has been pending, without news, for longer than its payment method may take."""
        checkout = self.checkout
        if checkout.status != Status.PENDING or self.status not in (None, checkout.deposit_status):
            return False
        return self.cause.at - checkout.moved_at >= self.schedule.patience(self.method)

    @property
    def arrived(self) -> Amount | None:
        """The amount that arrived on the side that the total fixes."""
        return self._amount("received" if self.checkout.total_kind == "receive" else "paid")

    @property
    def paid(self) -> Amount | None:
        """The amount that the customer paid; None if another amount was read first, which the books keep."""
        return self._amount("paid") if self.read_first is None or self.read_first == self.arrived else None

    def _amount(self, side: str) -> Amount | None:
        return amount_of(self.money[f"payment_{side}_amount"], self.money[f"payment_{side}_currency"])

    @property
    def is_in_doubt(self) -> bool:
        """Whether a decided payment is not found for the first time, which may be a passing error."""
        if self.deposit is not None or self.checkout.status in OPEN or self.checkout.payment_completed_at is None:
            return False
        since = self.checkout.not_found_since
        return since is None or self.cause.at < since + BETWEEN_MISSES

    @property
    def look_back(self) -> Evidence | None:
        """The evidence about money that had arrived for a decided checkout; None if nothing has changed."""
        was_here, is_here = self.checkout.payment_completed_at is not None, self.status == COMPLETED
        if self._is_changed:
            return Evidence.DEPOSIT_CHANGED
        if was_here is is_here or self.is_in_doubt:
            return None
        return Evidence.DEPOSIT_RESTORED if is_here else Evidence.DEPOSIT_REVERSED

    @property
    def _is_changed(self) -> bool:
        """Whether the service reports another amount for money that is held or paid no order."""
        is_here = self.checkout.payment_completed_at is not None and self.checkout.status not in OPEN
        return is_here and self.status == COMPLETED and not self.counts and self._is_another_amount

    @property
    def _is_another_amount(self) -> bool:
        """Whether a completed deposit has another amount than the stored one; a record may leave out its amount."""
        checkout, arrived = self.checkout, self._amount("paid")
        stored = amount_of(checkout.payment_paid_amount, checkout.payment_paid_currency)
        return None not in (stored, arrived) and stored != arrived

    @property
    def comes_otherwise(self) -> bool:
        """Whether the service reports another amount than the stored one for a payment that counts for its order.

        False once a person keeps the money. After the payment was taken back, an earlier decision does not matter.
        """
        if not self.counts or self.status != COMPLETED:
            return False
        if self.checkout.taken_back is not None:
            return self.checkout.taken_back != self._amount("paid")
        return self.checkout.payback != KEPT and self._is_another_amount

    @property
    def problem(self) -> str | None:
        """A warning about this read for people, although it is applied."""
        checkout, status = self.checkout, self.status
        if self.is_in_doubt:
            return checkout.problem
        if status == COMPLETED and (checkout.came_otherwise or self.comes_otherwise):
            return "the service reports another amount than the one that had arrived: ask it why"
        if checkout.payment_paid_amount is not None and status != COMPLETED:
            paid = f"{checkout.payment_paid_amount} {checkout.payment_paid_currency}"
            is_now = "is not found" if status is None else f"has the status {status!r}"
            return f"the deposit was completed ({paid} paid), and {is_now} now: ask the service why"
        if status is None:
            late = checkout.webhooks > 0 and self.cause.at > checkout.created_at + PAGE_GONE
            return "a webhook announced a payment that the service does not find" if late else None
        if status not in (COMPLETED, _PENDING, *self.closed_statuses):
            return (
                f"the service reports the deposit status {status!r}, which no rule knows: it counts as not"
                " completed. If it ends a payment, add it to PAYCHECKOUT_CLOSED_DEPOSIT_STATUSES"
            )
        return None

    def columns_of_read(self) -> dict[str, Any]:
        """The columns that this read and its webhook set."""
        checkout, now = self.checkout, self.now
        columns: dict[str, Any] = {"reads": checkout.reads + 1, "last_read_at": now}
        is_gone = self._is_changed or (self.status != COMPLETED and not self.is_in_doubt)
        if checkout.payment_completed_at is not None and is_gone:
            # The service changed its answer, so the books take the money back. The amounts stay for reports.
            columns["payment_completed_at"] = None
        columns["not_found_since"] = None if self.deposit is not None else checkout.not_found_since or self.cause.at
        if self.status is not None:
            columns["deposit_status"] = self.status
            if self.status == COMPLETED and not self._is_changed:
                # Store the money even if the move fails, because it must always be visible that it has arrived.
                columns |= self.money | {"payment_completed_at": checkout.payment_completed_at or now}
            columns["payment_method"] = self.method
        return columns | self.cause.columns | problem_columns(checkout, self.problem, now)

    def entry(self, what: Entry, **facts: object) -> str:
        """The line for the history, after the webhook's line."""
        return self.cause.entry + line(self.now, what, via=self.cause.via, deposit=self.reported[:64], **facts)


def rule_on(reading: Reading) -> Ruling:
    """The evidence in this read, before the shop is asked about a payment that agrees."""
    checkout, deposit = reading.checkout, reading.deposit
    if deposit is None:
        return Ruling(_evidence_of_absence(reading))
    if reading.status == COMPLETED:
        compared = compare(checkout.checkout_id, checkout.due, reading.sent)
        if reading.read_first is not None:
            again = reading.arrived
            agrees = again == reading.read_first
            compared += (Comparison("read first", str(reading.read_first), _shown(again), agrees),)
        if all(map(attrgetter("agrees"), compared)):
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
