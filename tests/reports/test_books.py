"""The lines of the books: signs, fees, values that are missing, and cells that no spreadsheet runs."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from typing import Any

import pytest

from flask_paycheckout.reports.books import COLUMNS, Line, booking_line, csv_cells, json_line, payment_lines
from flask_paycheckout.rules.books import LineKind, booked_as
from flask_paycheckout.rules.payout_states import PAYOUT_TRANSITIONS, PayoutKind, PayoutStatus
from flask_paycheckout.store.payments import PAYMENT_COLUMNS

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
BOOKING = {
    "id": 1,
    "kind": "payout",
    "reference": "p-1",
    "service_reference": "s-1",
    "disbursement_id": "d-1",
    "account": "north",
    "order_id": None,
    "checkout_id": None,
    "amount": "80.00",
    "currency": "USD",
}


def lines(**columns: Any) -> list[Line]:
    return list(payment_lines(ROW | columns))


def money(line: Line) -> tuple[str | None, ...]:
    """Currency, gross, fee and net as text."""
    return line.currency, *(None if one is None else f"{one:f}" for one in (line.gross, line.fee, line.net))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        pytest.param({}, [("USD", "12.50", "0.37", "12.13")], id="a fee in the currency of the payment"),
        pytest.param(
            {"payment_fee_amount": None, "payment_fee_currency": None}, [("USD", "12.50", "0", "12.50")], id="no fee"
        ),
        pytest.param(
            {"payment_fee_currency": "EUR"},
            [("USD", "12.50", "0", "12.50"), ("EUR", "0", "0.37", "-0.37")],
            id="a fee in another currency",
        ),
        pytest.param(
            {"payment_fee_currency": None}, [("USD", "12.50", None, None)], id="a fee whose currency is unknown"
        ),
        pytest.param(
            {"payment_fee_amount": None, "payment_fee_percentage": "2.9"},
            [("USD", "12.50", None, None)],
            id="a fee whose amount is unknown",
        ),
        pytest.param(
            {"payment_paid_amount": None}, [(None, None, None, None), ("USD", "0", "0.37", "-0.37")], id="no amount"
        ),
        pytest.param(
            {"payment_paid_currency": "usdc-polygon", "payment_paid_amount": "12.500000000000000001"},
            [("usdc-polygon", "12.500000000000000001", "0", "12.500000000000000001"), ("USD", "0", "0.37", "-0.37")],
            id="a token",
        ),
    ],
)
def test_a_payment_with_its_fee(columns: dict[str, Any], expected: list[tuple[str | None, ...]]) -> None:
    found = lines(**columns)
    assert [money(line) for line in found] == expected
    assert [line.kind for line in found] == [LineKind.PAYMENT, LineKind.FEE][: len(found)]
    assert [line.received for line in found] == [Decimal("12.13"), None][: len(found)], "received once"
    assert {(line.booked_at, line.order_id, line.checkout_id) for line in found} == {(AT, "o-1", "chk-1")}


def test_net_is_exact_however_many_digits_an_amount_has() -> None:
    with localcontext(prec=3):
        (line,) = lines(payment_paid_amount="9" * 200 + ".99")
    assert f"{line.net:f}" == "9" * 200 + ".62"


def test_each_kind_of_booking_has_its_sign() -> None:
    found = {kind: booking_line(BOOKING | {"kind": kind}, AT) for kind in LineKind if "p" in kind and kind != "payment"}
    assert {kind: money(line) for kind, line in found.items()} == {
        "payout": ("USD", "-80.00", "0", "-80.00"),
        "payout_returned": ("USD", "80.00", "0", "80.00"),
    }
    assert money(booking_line(BOOKING | {"kind": "refund"}, AT)) == ("USD", "-80.00", "0", "-80.00")
    assert money(booking_line(BOOKING | {"kind": "refund_returned"}, AT)) == ("USD", "80.00", "0", "80.00")


def test_a_move_is_booked_where_money_leaves_or_comes_back() -> None:
    booked = {
        (before.value, after.value): kind.value
        for (before, _), after in PAYOUT_TRANSITIONS.items()
        if (kind := booked_as(PayoutKind.REFUND, before, after))
    }
    assert booked == {
        ("sending", "sent"): "refund",
        ("unknown", "sent"): "refund",
        ("sent", "failed"): "refund_returned",
    }
    assert booked_as(PayoutKind.PAYOUT, PayoutStatus.SENDING, PayoutStatus.FAILED) is None


FORMULAS = [
    "x;=1",
    "x; -1",
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "  =1",
    "\t=1",
    "\n=1",
    "\uff1d1",
    "\u22121",
    "'=1",
    '="a,b"',
]


@pytest.mark.parametrize("text", FORMULAS)
def test_no_text_cell_is_a_formula(text: str) -> None:
    texts = dict.fromkeys(("order_id", "checkout_id", "account", "payment_method", "payment_paid_currency"), text)
    payment, *_ = lines(**texts, payment_received_currency=text)
    names = dict.fromkeys(("reference", "disbursement_id", "order_id", "account", "currency"), text)
    for line in (payment, booking_line(BOOKING | names, AT)):
        written = io.StringIO(newline="")
        csv.writer(written).writerow(csv_cells(line))
        (cells,) = csv.reader(io.StringIO(written.getvalue(), newline=""))
        found = dict(zip(COLUMNS, cells, strict=True))
        for name in ("order_id", "account", "currency"):
            # Some spreadsheets split at semicolons.
            cell = found[name].rpartition(";")[2]
            assert cell[0] in "'\\", "an apostrophe marks a text, and a control character is escaped"
        assert found["gross"] in ("12.50", "-80.00"), "amounts stay numbers"


def test_a_line_as_json_keeps_texts_as_they_are_and_tells_what_is_unknown() -> None:
    (line,) = lines(order_id="=1\n", payment_fee_currency=None)
    assert json.loads(json_line(line)) == {
        "booked_at": "2026-01-31T23:59:59.000005+00:00",
        "kind": "payment",
        "order_id": "=1\n",
        "checkout_id": "chk-1",
        "reference": None,
        "disbursement_id": None,
        "account": "",
        "currency": "USD",
        "gross": "12.50",
        "fee": None,
        "net": None,
        "method": "014",
        "received": "12.13",
        "received_currency": "USD",
    }
