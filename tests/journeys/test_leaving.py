"""Customers who leave: abandoned pages, late payments, and what the shop wants by then."""

from __future__ import annotations

import pytest

from flask_paycheckout import Pay
from flask_paycheckout.testing import Sandbox, Signals
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


def test_money_is_found_days_after_abandonment(
    quiet_shop: Shop, paycheckout_sandbox: Sandbox, signals: Signals
) -> None:
    checkout_id = Shopper(quiet_shop).starts_to_pay()
    paycheckout_sandbox.pick(checkout_id)
    quiet_shop.reconciles()
    paycheckout_sandbox.advance(minutes=25 * 60)
    quiet_shop.reconciles()
    assert quiet_shop.attempts("o-1")[0].status == "abandoned"
    paycheckout_sandbox.advance(minutes=3 * 24 * 60)
    quiet_shop.reconciles()
    paycheckout_sandbox.pay(checkout_id)
    paycheckout_sandbox.advance(minutes=24 * 60)
    quiet_shop.reconciles()
    assert quiet_shop.attempts("o-1")[0].status == "paid"
