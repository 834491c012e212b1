"""Comparison of a checkout's row with its deposit. Pure and exact: no float, no rounding, no tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from flask_paycheckout.books.audit.findings import Facts, Finding, Kind, Verdict
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS, payment_columns
from flask_paycheckout.checkouts.ruling import COMPLETED, compare, status_of
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.client import Deposit
from flask_paycheckout.text import moment_text
from flask_paycheckout.totals import Receive, Total

__all__ = ["judge_deposit", "same_value"]

# `payment_method` names the bank already, and the time is when the shop read the deposit.
_NOT_COMPARED = frozenset({"payment_bank_name", "payment_completed_at"})

_MONEY_COLUMNS = tuple(name for name in PAYMENT_COLUMNS if name not in _NOT_COMPARED)
_PAID_COLUMNS = ("payment_paid_amount", "payment_paid_currency")

_SETTLED = frozenset({Status.PAID, Status.HELD, Status.REJECTED})
_METHOD = "method"
_GONE = (
    "Check that PAYCHECKOUT_BASE_URL and the keys are those with which it was made; if they are, ask the service what"
    " became of it."
)
# Of columns of which the time is not compared.
_NO_TIME = datetime.min.replace(tzinfo=UTC)


def judge_deposit(row: CheckoutMixin, deposit: Deposit | None, now: datetime) -> Finding:
    """Compare a checkout with its deposit.

    Where no money arrived on either side they agree, whatever the states: the service's own states before a payment
    come and go.

    :param deposit: None when the service itself says that it does not exist.
    :param now: only to say whether a read is due.
    """
    here, there = _here(row), None if deposit is None else _there(deposit)
    times = [row.moved_at, *([deposit.updated_at] if deposit is not None and deposit.updated_at is not None else [])]
    agreed = Finding(
        Verdict.AGREED,
        Kind.DEPOSIT,
        row.account,
        row.order_id,
        row.checkout_id,
        here=here,
        there=there,
        row=row.id,
        changed_at=max(times),
    )
    settled = row.status in _SETTLED
    had_money = settled or row.payment_completed_at is not None
    if deposit is None or there is None:
        known = had_money or row.status == Status.PENDING
        return agreed.says(Verdict.MISSING_THERE, (), _GONE) if known else agreed
    arrived = status_of(deposit) == COMPLETED
    if not arrived and not had_money:
        return agreed
    differing = [] if arrived and settled else ["status"]
    differing += [name for name in _compared(arrived=arrived, settled=settled) if not _agrees(name, here, there)]
    if arrived and row.status == Status.PAID and row.reason is None and not _as_asked(row, deposit):
        total = _total(row)
        here, there = {**here, "asked": str(total)}, {**there, "asked": _asked_side(total, deposit)}
        differing.append("asked")
    if not differing:
        return agreed
    remedy = _remedy(row, arrived=arrived, settled=settled, now=now)
    return replace(agreed, here=here, there=there).says(Verdict.DIFFERS, differing, remedy)


def same_value(one: str | None, other: str | None) -> bool:
    """Whether two texts are equal, or are the same number."""
    if one == other:
        return True
    try:
        return one is not None and other is not None and Decimal(one) == Decimal(other)
    except InvalidOperation:
        return False


def _compared(*, arrived: bool, settled: bool) -> tuple[str, ...]:
    """The values to compare beside the status."""
    if not arrived:
        return ()
    return tuple(name.removeprefix("payment_") for name in (_MONEY_COLUMNS if settled else _PAID_COLUMNS))


def _agrees(name: str, here: Facts, there: Facts) -> bool:
    if name == _METHOD and there[name] is None:
        # It may be known from an earlier read.
        return True
    return same_value(here[name], there[name])


def _as_asked(row: CheckoutMixin, deposit: Deposit) -> bool:
    total = _total(row)
    return total is not None and all(compared.agrees for compared in compare(row.checkout_id, total, deposit))


def _total(row: CheckoutMixin) -> Total | None:
    """The total that was asked for; None when another program wrote something else."""
    try:
        return row.total
    except (ValueError, TypeError, InvalidOperation):
        return None


def _asked_side(total: Total | None, deposit: Deposit) -> str:
    if isinstance(total, Receive):
        return f"{deposit.output_amount} {deposit.output_currency} after the fee, paid in {deposit.input_currency}"
    return f"{deposit.input_amount} {deposit.input_currency}"


def _here(row: CheckoutMixin) -> dict[str, str | None]:
    said: dict[str, str | None] = {"status": row.status, "reason": row.reason, "deposit_status": row.deposit_status}
    # The method is stored before any money arrives.
    money = {name: None if row.payment_completed_at is None else getattr(row, name) for name in _MONEY_COLUMNS}
    return said | {name.removeprefix("payment_"): value for name, value in money.items()}


def _there(deposit: Deposit) -> dict[str, str | None]:
    columns: Mapping[str, Any] = payment_columns(deposit, _NO_TIME)
    said: dict[str, str | None] = {"status": deposit.status}
    return said | {name.removeprefix("payment_"): columns[name] for name in _MONEY_COLUMNS}


def _remedy(row: CheckoutMixin, *, arrived: bool, settled: bool, now: datetime) -> str:
    if arrived and not settled:
        return f"Money arrived that pays nothing here yet. {_how_it_is_read(row, now)}"
    if not arrived:
        return (
            "The service does not say that this was paid. Ship and pay back nothing for it before the service has"
            " answered why."
        )
    return (
        "Ask the service which values are right. What is stored never changes by itself, and neither does the export:"
        " correct your books by hand."
    )


def _how_it_is_read(row: CheckoutMixin, now: datetime) -> str:
    if row.problem is not None:
        return f"It could not be stored: {row.problem}. To see more: flask paycheckout show {row.order_id}"
    if row.next_read_at is None:
        return f"Reconcile does not read it any more; in flask shell, call paycheckout.settle({row.checkout_id!r})."
    when = "now" if row.next_read_at <= now else f"from {moment_text(row.next_read_at)} on"
    return f"It is read by flask paycheckout reconcile, {when}."
