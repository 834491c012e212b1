"""The lines of the books: signs, fees, missing values, and cells that no spreadsheet executes."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import localcontext
from typing import Any

import pytest

from flask_paycheckout.books.export import COLUMNS, csv_cells, line_of
from flask_paycheckout.books.ledger import Line, LineKind, arrival_lines, payout_line
from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS
from flask_paycheckout.config.checks import PayoutFees

AT = datetime(2026, 1, 31, 23, 59, 59, 5, tzinfo=UTC)
ROW: dict[str, Any] = dict.fromkeys(PAYMENT_COLUMNS) | {
    "id": 7,
    "order_id": "o-1",
    "checkout_id": "chk-1",
    "account": "",
    "payment_completed_at": AT,
    "payment_paid_amount": "12.50",
    "payment_paid_currency": "USD",
    "payment_received_amount": "12.13",
    "payment_received_currency": "USD",
    "payment_fee_amount": "0.37",
    "payment_fee_currency": "USD",
    "payment_method": "014",
}
NAMES: dict[str, Any] = {"booked_at": AT, "order_id": "o-1", "checkout_id": "chk-1", "account": "north"}
NAMES |= {"reference": None, "disbursement_id": None}


def lines(**columns: Any) -> list[Line]:
    return [line_of(NAMES | values) for values in arrival_lines(LineKind.PAYMENT, ROW | columns)]


def sent(fees: PayoutFees = PayoutFees.ON_TOP, **columns: Any) -> Line:
    payout = {"amount": "80.00", "currency": "USD", "fee": None, "counts": None, "counts_currency": None} | columns
    return line_of(NAMES | payout_line(LineKind.PAYOUT, payout, fees))


LINES: dict[str, tuple[list[Line], list[str]]] = {
    "a fee in the currency of the payment": (lines(), ["payment USD 12.50 0.37 12.13 12.13"]),
    "no fee": (lines(payment_fee_amount=None, payment_fee_currency=None), ["payment USD 12.50 0 12.50 12.13"]),
    "a fee in another currency": (
        lines(payment_fee_currency="EUR"),
        ["payment USD 12.50 0 12.50 12.13", "fee EUR 0 0.37 -0.37 None"],
    ),
    "a fee whose currency is unknown": (lines(payment_fee_currency=None), ["payment USD 12.50 None None 12.13"]),
    "a fee whose amount is unknown": (
        lines(payment_fee_amount=None, payment_fee_percentage="2.9"),
        ["payment USD 12.50 None None 12.13"],
    ),
    "no amount": (
        lines(payment_paid_amount=None),
        ["payment None None None None 12.13", "fee USD 0 0.37 -0.37 None"],
    ),
    "a payout without a fee": ([sent()], ["payout USD -80.00 0 -80.00 None"]),
    "a fee on top of a payout": ([sent(fee="1.50")], ["payout USD -80.00 1.50 -81.50 None"]),
    "a fee included in a payout": (
        [sent(PayoutFees.INCLUDED, fee="1.50")],
        ["payout USD -80.00 1.50 -80.00 None"],
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_a_movement_with_its_fee(name: str) -> None:
    movements, expected = LINES[name]
    lines = [f"{line.kind} {line.currency} {line.gross} {line.fee} {line.net} {line.received}" for line in movements]
    assert lines == expected


def test_net_is_exact_however_many_digits_an_amount_has() -> None:
    with localcontext(prec=3):
        (line,) = lines(payment_paid_amount="9" * 200 + ".99")
    assert f"{line.net:f}" == "9" * 200 + ".62"


FORMULAS = [
    "x;=1",
    "x,=1",
    "x, =1",
    "=1+1",
    "@SUM(A1)",
    "  =1",
    "\n=1",
    "\uff1d1",
    "'=1",
    '="a,b"',
]


@pytest.mark.parametrize("text", FORMULAS)
def test_no_text_cell_is_a_formula(text: str) -> None:
    names: Any = dict.fromkeys(("order_id", "checkout_id", "account", "reference", "disbursement_id", "currency"), text)
    for line in (lines()[0]._replace(**names, method=text, received_currency=text), sent()._replace(**names)):
        cells = dict(zip(COLUMNS, csv_cells(line), strict=True))
        for name in ("order_id", "account", "currency"):
            # Spreadsheets split at commas in some countries, and at semicolons in others.
            for cell in re.split("[,;]", cells[name]):
                assert cell.lstrip()[0] not in "=@\uff1d", "an apostrophe marks a text"
        assert cells["gross"] in ("12.50", "-80.00"), "amounts stay numbers"
