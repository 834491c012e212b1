"""The table of checkouts in the shop's database; a checkout is one attempt at paying an order.

Money is stored as exact text, and times are aware UTC. `current_order_id` and `paid_order_id` are unique, and NULL for
all but one checkout of an order, so that the database itself refuses a second current or a second paid one.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Boolean, Index, Integer, String, Text
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS, Payment, payment_of
from flask_paycheckout.checkouts.schedule import PAGE_VALID
from flask_paycheckout.database.mapping import MOMENT, ROW_ID, PaymentTable, partial_index
from flask_paycheckout.text import MAX_ID
from flask_paycheckout.totals import Amount, Pay, Receive, Total, amount_of
from flask_paycheckout.wiring.logs import about

MONEY_TO_PAY_BACK = (
    "CASE WHEN (status IN ('paid', 'rejected') AND paid_order_id IS NULL OR status = 'paid' AND reason = 'excess')"
    " AND payback IS NULL AND payment_completed_at IS NOT NULL THEN 1 ELSE 0 END = 1"
)
"""The SQL condition for money that paid no order and was neither refunded nor recorded as kept.

It is text, because a database uses a partial index only for exactly the same condition. It is a single term, because
SQLite would otherwise read all rows without a paid order by the unique column's index, which it expects to find one
row.
"""


KEPT = "kept"
"""The value of `payback` of money that a person keeps, or has dealt with."""

ANOTHER_AMOUNT = "another amount"
"""The value of `payback` of a payment that counts for its order, and of which another amount is reported since."""


class TotalMixin:
    """The columns of a total, exactly; see `total_columns`."""

    total_kind: Mapped[str] = mapped_column(String(8))
    """The kind of total: `pay` or `receive`."""

    total_amount: Mapped[str] = mapped_column(String(64))
    total_currency: Mapped[str] = mapped_column(String(72))
    total_other_currency: Mapped[str | None] = mapped_column(String(72))
    """The other side's currency: `receive_in` of a Pay, `pay_in` of a Receive."""

    total_parts: Mapped[bool] = mapped_column(Boolean)
    """Whether the total may be paid by several payments: `parts` of a Pay."""

    total_now: Mapped[str | None] = mapped_column(String(64))
    """`now` of a Pay: the amount that the shop wants the next checkout to ask for."""

    @property
    def total(self) -> Total:
        """The requested total; for a checkout, the total before the redirect to the payment page."""
        amount = Decimal(self.total_amount)
        if self.total_kind == "pay":
            other, parts = self.total_other_currency, bool(self.total_parts)
            return Pay(amount, self.total_currency, receive_in=other, parts=parts, now=self.total_now)
        return Receive(amount, self.total_currency, pay_in=str(self.total_other_currency))


class CheckoutMixin(TotalMixin, PaymentTable):
    """One attempt at paying an order. Subclass it together with `db.Model` to add columns of your own."""

    __tablename__ = "paycheckout_checkout"

    @declared_attr.directive
    def __table_args__(cls) -> tuple[Any, ...]:  # noqa: N805 - it is a class
        # The first index is for counts by state, held payments and the newest payments.
        arrived, reads = "payment_completed_at IS NOT NULL", "next_read_at IS NOT NULL"
        return (
            Index("ix_paycheckout_checkout_state", "status", "moved_at", "id"),
            # For figures, and for audits of checkouts without money.
            Index("ix_paycheckout_checkout_made", "created_at", "id"),
            # For due reads, of all merchant accounts or of one. These indexes contain only rows that wait for a read,
            # so a decided checkout is in neither.
            partial_index("ix_paycheckout_checkout_next_read_at", "next_read_at", where=reads),
            partial_index("ix_paycheckout_checkout_account", "account", "next_read_at", where=reads),
            # For the report and the owner's lists of one account.
            Index("ix_paycheckout_checkout_account_state", "account", "status", "moved_at", "id"),
            Index("ix_paycheckout_checkout_account_id", "account", "id"),
            # For an order's newest checkouts, however many it has.
            Index("ix_paycheckout_checkout_order", "order_id", "id"),
            # For the reminders that are due: only rows that have one.
            partial_index("ix_paycheckout_checkout_remind", "remind_at", "id", where="remind_at IS NOT NULL"),
            partial_index("ix_paycheckout_checkout_problem", "problem_since", where="problem_since IS NOT NULL"),
            partial_index("ix_paycheckout_checkout_payback", "account", "moved_at", where=MONEY_TO_PAY_BACK),
            # For audits, oldest first, of all accounts or of one.
            partial_index("ix_paycheckout_checkout_booked", "payment_completed_at", "id", where=arrived),
            partial_index(
                "ix_paycheckout_checkout_account_booked", "account", "payment_completed_at", "id", where=arrived
            ),
        )

    id: Mapped[int] = mapped_column(ROW_ID, primary_key=True)
    checkout_id: Mapped[str] = mapped_column(String(MAX_ID), unique=True)
    """The service's id; equals the depositId and the webhook's orderId."""

    order_id: Mapped[str] = mapped_column(String(MAX_ID))
    """The shop's own id."""

    account: Mapped[str] = mapped_column(String(MAX_ID))
    """The name of the merchant account that created it; empty for the account of the settings."""

    client_id: Mapped[str | None] = mapped_column(String(MAX_ID))
    """The client id that created it at the service; None when the account's own signer needs none."""

    current_order_id: Mapped[str | None] = mapped_column(String(MAX_ID), unique=True)
    """The order id while this is the order's newest checkout, otherwise NULL."""

    paid_order_id: Mapped[str | None] = mapped_column(String(MAX_ID), unique=True)
    """The order id if this checkout paid the order, otherwise NULL."""

    status: Mapped[str] = mapped_column(String(16))
    """The state: `created`, `pending`, `part`, `paid`, `held`, `rejected` or `abandoned`."""

    reason: Mapped[str | None] = mapped_column(String(32))
    """The reason why it is held or abandoned, or `excess`; otherwise None."""

    url: Mapped[str] = mapped_column(Text)
    """The URL of the payment page, as the service returned it."""

    due_amount: Mapped[str | None] = mapped_column(String(64))
    """The amount that this checkout requested, as exact text; NULL if it is the whole total."""

    created_at: Mapped[datetime] = mapped_column(MOMENT)
    """The time of creation; an aware UTC datetime, like every other time here."""

    moved_at: Mapped[datetime] = mapped_column(MOMENT)
    """The time when the state, or the deposit's status, last changed."""

    next_read_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time of reconcile's next read of the deposit; None when only a webhook causes another one.

    For a part whose order is not paid, the time when the shop is asked again for the order's total.
    """

    remind_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time of the order's next reminder, in the row of its first checkout; NULL when there is none."""

    last_read_at: Mapped[datetime | None] = mapped_column(MOMENT)
    webhook_read_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time of the last read that a webhook caused."""

    webhook_due_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time of the read that a webhook within the cool-down requested; NULL once the deposit was read."""

    deposit_status: Mapped[str | None] = mapped_column(String(64))
    """The deposit's status in its last read; None while no deposit was seen."""

    revision: Mapped[int] = mapped_column(Integer)
    """Raised by each move and each decision about its money; a move requires the revision that it was planned for."""

    reads: Mapped[int] = mapped_column(Integer)
    """The number of reads that the service answered, with a deposit or with `Deposit not found`."""

    not_found_since: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time of the first read that was answered with `Deposit not found`; NULL before."""

    failed_reads: Mapped[int] = mapped_column(Integer)
    """The number of consecutive failures to read the deposit, or to apply the result."""

    problem: Mapped[str | None] = mapped_column(Text)
    """The error of the last read, or of applying its result; None when both succeeded."""

    problem_since: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time of the first such error since the last success."""

    webhooks: Mapped[int] = mapped_column(Integer)
    """The number of webhooks about it."""

    found_by: Mapped[str | None] = mapped_column(String(16))
    """The cause of the read that found the payment: webhook, status page, reconcile or settle."""

    payment_paid_amount: Mapped[str | None] = mapped_column(String(255))
    """The first of the columns with the completed deposit's money: exact text, NULL if the deposit has no value."""

    payment_paid_currency: Mapped[str | None] = mapped_column(String(255))
    payment_received_amount: Mapped[str | None] = mapped_column(String(255))
    payment_received_currency: Mapped[str | None] = mapped_column(String(255))
    payment_fee_amount: Mapped[str | None] = mapped_column(String(255))
    payment_fee_percentage: Mapped[str | None] = mapped_column(String(255))
    payment_fee_currency: Mapped[str | None] = mapped_column(String(255))
    payment_method: Mapped[str | None] = mapped_column(String(255))
    """The bank's code, else its name, else `crypto`; known as soon as the customer has picked it."""

    payment_bank_name: Mapped[str | None] = mapped_column(String(255))
    payment_rate: Mapped[str | None] = mapped_column(String(255))
    payment_token: Mapped[str | None] = mapped_column(String(255))
    payment_token_amount: Mapped[str | None] = mapped_column(String(255))
    payment_completed_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time when the deposit was first read as completed; NULL until then, and once it is not completed any more."""

    payback: Mapped[str | None] = mapped_column(String(16))
    """`kept` if a person keeps an excess, or money that paid no order; None until that is recorded.

    `refunded` while refunds that are neither cancelled nor failed cover all that arrived; None again once one of them
    has failed or was cancelled. Or `ANOTHER_AMOUNT`.
    """

    refunded_amount: Mapped[str | None] = mapped_column(String(255))
    """The sum of its refunds that are neither cancelled nor failed: exact text, NULL while there is none."""

    excess: Mapped[str | None] = mapped_column(String(255))
    """The amount by which the parts of an order, less refunds, exceed its total; stored with the part that paid it.

    Exact text, negative if refunds left less than the total; NULL for all other checkouts.
    """

    history: Mapped[str] = mapped_column(Text)
    """The history, one JSON object per line; `explain` reads it."""

    pruned_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time when its earlier history was removed by `flask paycheckout prune`; NULL while it is whole."""

    @property
    def due(self) -> Total:
        """The amount that this checkout requested: the total, or a part of it."""
        if self.total_kind != "pay":
            return self.total
        return Pay(self.due_amount or self.total_amount, self.total_currency, receive_in=self.total_other_currency)

    @property
    def expires_at(self) -> datetime:
        """The time when the service's payment page ends; an aware UTC datetime."""
        return self.created_at + PAGE_VALID

    @property
    def payment(self) -> Payment | None:
        """The money that arrived, as the deposit reported it; None before, and once the service took it back."""
        return payment_of({name: getattr(self, name) for name in PAYMENT_COLUMNS})

    @property
    def came_otherwise(self) -> bool:
        """Whether it counts for its order, and another amount is reported since, which nobody has handled yet."""
        return self.payback == ANOTHER_AMOUNT

    @property
    def taken_back(self) -> Amount | None:
        """The amount that had arrived, and that the service no longer reports as paid; otherwise None."""
        if self.payment_completed_at is not None:
            return None
        return amount_of(self.payment_paid_amount, self.payment_paid_currency)

    def __repr__(self) -> str:
        # Without the URL, with which anybody could pay: reprs end up in logs.
        return f"<{type(self).__name__} {self.checkout_id!r} of order {self.order_id!r}: {self.status}>"


def total_columns(total: Total) -> dict[str, str | bool | None]:
    """The columns that hold this total exactly."""
    pays = isinstance(total, Pay)
    now = total.now if isinstance(total, Pay) else None
    return {
        "total_kind": "pay" if pays else "receive",
        "total_amount": f"{total.amount:f}",
        "total_currency": total.currency,
        "total_other_currency": total.receive_in if isinstance(total, Pay) else total.pay_in,
        "total_parts": isinstance(total, Pay) and total.parts,
        "total_now": None if now is None else f"{now:f}",
    }


def problem_columns(
    checkout: CheckoutMixin, problem: str | None, now: datetime, failures: int = 0
) -> dict[str, str | datetime | int | None]:
    """The columns for the problem of a checkout's last read; they clear an earlier one if `problem` is None.

    :param failures: the number of consecutive failures.
    """
    since = problem and (checkout.problem_since or now)
    return {"problem": problem, "problem_since": since, "failed_reads": failures}


def about_checkout(checkout: CheckoutMixin, *, heals: bool = False) -> dict[str, Any]:
    """The fields of a log record about a checkout."""
    return about(checkout.order_id, checkout.checkout_id, checkout.account, heals=heals)
