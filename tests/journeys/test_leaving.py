"""Customers who leave: late payments on replaced and abandoned pages, and what the shop wants by then."""

from __future__ import annotations

import pytest

from flask_paycheckout import Pay
from flask_paycheckout.testing import Sandbox
from tests.journeys.conftest import Shopper
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database


def test_a_payment_on_an_old_attempt_after_its_abandonment_pays_the_open_order(
    quiet_shop: Shop, paycheckout_sandbox: Sandbox
) -> None:
    """The page of a replaced attempt stays payable; its money is found though nobody hears a webhook."""
    shopper = Shopper(quiet_shop)
    first = shopper.starts_to_pay()
    paycheckout_sandbox.pick(first)
    quiet_shop.totals["o-1"] = Pay("20.00", "USD")
    second = shopper.starts_to_pay()
    assert second != first
    quiet_shop.totals["o-1"] = Pay("12.50", "USD")
    paycheckout_sandbox.pay(first)
    for minutes in (20, 1):
        paycheckout_sandbox.advance(minutes=minutes)
        quiet_shop.reconciles()
    assert [attempt.status for attempt in quiet_shop.attempts("o-1")] == ["paid", "abandoned"]
