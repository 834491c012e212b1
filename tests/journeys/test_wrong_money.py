"""Money that is not what was asked: held for a person, never taken for the order's, never swallowed."""

from __future__ import annotations

import pytest

from flask_paycheckout import Pay
from flask_paycheckout.testing import Sandbox, Signals
from tests.journeys.conftest import Shopper
from tests.reports.test_explain import explains
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database


@pytest.mark.parametrize("paid", ["12.49", "100.00"])
def test_another_amount_is_held(
    paid: str, shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox, signals: Signals
) -> None:
    checkout_id = shopper.starts_to_pay()
    paycheckout_sandbox.pay(checkout_id, amount=paid)
    (attempt,) = shop.attempts("o-1")
    assert (attempt.status, attempt.reason) == ("held", "amount_mismatch")
    assert signals.names == ["checkout_created", "payment_held"]
    assert f"inputAmount: asked 12.50, found {paid.rstrip('0').rstrip('.')}" in str(explains(shop))


def test_a_second_payment_of_an_order_is_noticed_with_both_ids(
    shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox, signals: Signals
) -> None:
    first = shopper.starts_to_pay()
    shop.totals["o-1"] = Pay("13.00", "USD")
    second = shopper.starts_to_pay()
    shop.totals["o-1"] = Pay("12.50", "USD")
    paycheckout_sandbox.pay(first)
    shop.totals["o-1"] = Pay("13.00", "USD")
    paycheckout_sandbox.pay(second)
    assert [(a.status, a.reason) for a in shop.attempts("o-1")] == [("paid", None), ("held", "duplicate")]
    assert [(s.name, s.checkout_id) for s in signals[-2:]] == [("order_paid", first), ("payment_held", second)]
    assert shopper.sees_status() == "paid"
