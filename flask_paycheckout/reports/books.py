"""The lines of the books: one for each movement of money, and how CSV and JSON show them. Pure.

Amounts are exact. Money in is positive, money out negative, fees are positive, and the net amount is gross less fee.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Context, Decimal
from typing import Any, NamedTuple

from flask_paycheckout.rules.books import LineKind
from flask_paycheckout.rules.text import csv_text
from flask_paycheckout.store.payments import Payment, PaymentFee, payment_of

__all__ = ["COLUMNS", "EXACT", "Line", "booking_line", "csv_cells", "json_line", "payment_lines"]

EXACT = Context(prec=600)
"""More digits than any sum has; the caller's own decimal context could round."""

_NOTHING = Decimal(0)
_RETURNED = frozenset({LineKind.PAYOUT_RETURNED, LineKind.REFUND_RETURNED})


class Line(NamedTuple):
    """One line of an export. A value that the service did not report is None."""

    booked_at: datetime
    kind: LineKind
    order_id: str | None
    checkout_id: str | None
    reference: str | None
    """The payout's reference, as the shop gave it."""

    disbursement_id: str | None
    account: str
    """The merchant account's name; "" is the one of the settings."""

    currency: str | None
    """The currency of gross, fee and net: an ISO 4217 code, or a token id."""

    gross: Decimal | None
    fee: Decimal | None
    net: Decimal | None
    method: str | None
    """The payment method: the bank's code, else its name, else `crypto`."""

    received: Decimal | None
    """The amount that the shop receives of a payment."""

    received_currency: str | None


COLUMNS = Line._fields
"""The columns of an export, in this order."""


def payment_lines(row: Mapping[Any, Any]) -> Iterator[Line]:
    """The line of a payment, and one of its fee where that is in another currency.

    :param row: the checkout's ids, account and columns of the payment, which has arrived.
    """
    payment = payment_of(row)
    if payment is None:
        return
    paid, received = payment.paid, payment.received
    fee, other = _fee(payment)
    gross = paid.amount if paid else None
    subject = (row["order_id"], row["checkout_id"], None, None, row["account"])
    yield Line(
        *(payment.completed_at, LineKind.PAYMENT, *subject),
        *(paid.currency if paid else None, gross, fee, _less(gross, fee), payment.method),
        *((received.amount, received.currency) if received else (None, None)),
    )
    if other is not None:
        costs = (other.currency, _NOTHING, other.amount, _less(_NOTHING, other.amount))
        yield Line(payment.completed_at, LineKind.FEE, *subject, *costs, payment.method, None, None)


def _fee(payment: Payment) -> tuple[Decimal | None, PaymentFee | None]:
    """The fee in the currency of the payment, None when that is unknown; and the fee if it is in another currency."""
    fee = payment.fee
    if fee is None:
        return (None if payment.paid is None else _NOTHING), None
    if fee.amount is None or fee.currency is None:
        return None, None
    if payment.paid is not None and fee.currency == payment.paid.currency:
        return fee.amount, None
    return (None if payment.paid is None else _NOTHING), fee


def booking_line(row: Mapping[Any, Any], booked_at: datetime) -> Line:
    """The line of a booking.

    :param row: the booking, every column by its name.
    """
    kind = LineKind(row["kind"])
    amount = Decimal(row["amount"])
    gross = amount if kind in _RETURNED else amount.copy_negate()
    subject = (row["order_id"], row["checkout_id"], row["reference"], row["disbursement_id"], row["account"])
    return Line(booked_at, kind, *subject, row["currency"], gross, _NOTHING, gross, None, None, None)


def _less(gross: Decimal | None, fee: Decimal | None) -> Decimal | None:
    return None if gross is None or fee is None else EXACT.subtract(gross, fee)


def csv_cells(line: Line) -> list[str]:
    """The cells of a line. No text begins like a formula: such a text, and one with an apostrophe, gets an apostrophe.

    Control characters are escaped, so that no text of a stranger breaks a line or changes a terminal.
    """
    return [_cell(value) for value in line]


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return _moment(value)
    return csv_text(str(value))


def json_line(line: Line) -> str:
    """A line as one JSON object, with amounts as exact text and null for what the service did not report."""
    return json.dumps({name: _plain(value) for name, value in zip(COLUMNS, line, strict=True)}) + "\n"


def _plain(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, Decimal):
        return f"{value:f}"
    return _moment(value) if isinstance(value, datetime) else str(value)


def _moment(at: datetime) -> str:
    # Always with as many digits, so that lines can be sorted as text.
    return at.isoformat(timespec="microseconds")
