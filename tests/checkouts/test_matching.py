"""The matching of money, comparison by comparison; `money/` compares it with a second one on thousands of answers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flask_paycheckout.checkouts.ruling import compare, order_disagreement
from flask_paycheckout.client import Deposit
from flask_paycheckout.totals import Pay, Receive, Total


def right(**fields: Any) -> Deposit:
    """A deposit that agrees with 12.50 USD on either side, but for `fields`."""
    agreeing: dict[str, Any] = {
        "deposit_id": "chk-1",
        "status": "completed",
        "input_currency": "USD",
        "input_amount": Decimal("12.5"),
        "output_currency": "USD",
        "output_amount": Decimal("12.500"),
    }
    return Deposit(**agreeing | fields)


@pytest.mark.parametrize(
    ("total", "deposit", "differs"),
    [
        pytest.param(Pay("12.50", "USD"), right(), [], id="pay agrees"),
        pytest.param(Pay("12.50", "USD"), right(output_amount=None, output_currency=None), [], id="pay: one side only"),
        pytest.param(Receive("12.50", "USD", pay_in="EUR"), right(), [], id="receive agrees"),
        pytest.param(
            Receive("12.50", "USD", pay_in="EUR"), right(input_currency="EUR"), [], id="receive: one side only"
        ),
        pytest.param(Pay("12.50", "USD"), right(deposit_id="chk-2"), ["depositId"], id="foreign deposit"),
        pytest.param(
            Pay("12.50", "USD"), right(input_currency="usd"), ["inputCurrency"], id="currency in another case"
        ),
        pytest.param(Pay("12.50", "USD"), right(input_amount=Decimal("12.51")), ["inputAmount"], id="one cent more"),
        pytest.param(Pay("12.50", "USD"), right(input_amount=Decimal("12.49")), ["inputAmount"], id="one cent less"),
        pytest.param(Pay("12.50", "USD"), right(input_amount=Decimal("-12.5")), ["inputAmount"], id="sign"),
        pytest.param(Pay("12.50", "USD"), right(input_amount=Decimal("NaN")), ["inputAmount"], id="not a number"),
        pytest.param(Pay("12.50", "USD"), right(input_amount=12.5), ["inputAmount"], id="a float is no amount"),
        pytest.param(Pay("12.50", "USD"), right(input_amount=None), ["inputAmount"], id="no amount"),
        pytest.param(
            Receive("12.50", "USD", pay_in="USD"), right(output_amount=Decimal(12)), ["outputAmount"], id="other side"
        ),
        pytest.param(
            Pay("12.50", "USD"),
            right(deposit_id="x", input_currency=None, input_amount=None),
            ["depositId", "inputCurrency", "inputAmount"],
            id="nothing agrees",
        ),
    ],
)
def test_each_comparison_names_what_differs(total: Total, deposit: Deposit, differs: list[str]) -> None:
    assert [fact.field for fact in compare("chk-1", total, deposit) if not fact.agrees] == differs


def test_a_comparison_shows_both_sides_and_bounds_what_a_stranger_wrote() -> None:
    facts = {fact.field: fact for fact in compare("chk-1", Pay("12.50", "USD"), right(input_currency="x" * 500))}
    assert (facts["inputAmount"].asked, facts["inputAmount"].seen) == ("12.50", "12.5")
    assert len(facts["inputCurrency"].seen) == 80
    assert compare("chk-1", Pay("1", "USD"), right(input_amount=None))[2].seen == "nothing"


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        pytest.param(Pay("12.50", "USD"), None, id="unchanged"),
        pytest.param(None, "order_not_payable", id="not payable"),
        pytest.param(Pay("12.51", "USD"), "order_changed", id="dearer"),
        pytest.param(Pay("12.50", "EUR"), "order_changed", id="other currency"),
        pytest.param(Pay("12.50", "USD", receive_in="usdc-polygon"), "order_changed", id="received in another"),
        pytest.param(Receive("12.50", "USD", pay_in="USD"), "order_changed", id="other side"),
    ],
)
def test_the_order_must_still_cost_the_same(now: Total | None, reason: str | None) -> None:
    assert order_disagreement(Pay("12.50", "USD"), now) == reason
