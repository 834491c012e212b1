"""The matching of money, comparison by comparison; `money/` compares it with a second implementation."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flask_paycheckout.checkouts.ruling import compare
from flask_paycheckout.client import Deposit
from flask_paycheckout.client.records import GIVEN
from flask_paycheckout.totals import Pay, Receive, Total


def right(**fields: Any) -> Deposit:
    """A deposit that agrees with 12.50 USD on either side, except for `fields`."""
    agreeing: dict[str, Any] = {
        "deposit_id": "chk-1",
        "status": "completed",
        "input_currency": "USD",
        "input_amount": Decimal("12.5"),
        "output_currency": "USD",
        "output_amount": Decimal("12.500"),
    }
    return Deposit(**agreeing | fields)


PAY, RECEIVE = Pay("12.50", "USD"), Receive("12.50", "USD", pay_in="EUR")


@pytest.mark.parametrize(
    ("total", "deposit", "differs"),
    [
        (PAY, right(output_amount=GIVEN, output_currency=GIVEN), []),
        (RECEIVE, right(input_currency="EUR"), []),
        (PAY, right(deposit_id="chk-2"), ["depositId"]),
        (PAY, right(input_currency="usd"), ["inputCurrency"]),
        (PAY, right(input_amount=Decimal("12.49")), ["inputAmount"]),
        (PAY, right(input_amount=Decimal("12.500000000000000001")), ["inputAmount"]),
        (PAY, right(input_amount=12.5), ["inputAmount"]),
        (RECEIVE, right(output_amount=Decimal(12)), ["outputAmount"]),
        (
            PAY,
            right(deposit_id="x", input_currency=GIVEN, input_amount=GIVEN),
            ["depositId", "inputCurrency", "inputAmount"],
        ),
    ],
)
def test_each_comparison_names_what_differs(total: Total, deposit: Deposit, differs: list[str]) -> None:
    assert [fact.field for fact in compare("chk-1", total, deposit.to_dict()) if not fact.agrees] == differs
