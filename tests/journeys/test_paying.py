"""The normal course of an order: its payment is found by webhook, by the status page, or by reconcile alone."""

from __future__ import annotations

import pytest

from flask_paycheckout.testing import Sandbox, Signals
from tests.journeys.conftest import Shopper
from tests.scripted import Shop
from tests.views.pages import opens

pytestmark = pytest.mark.on_each_database


def test_paid_by_webhook(shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox, signals: Signals) -> None:
    checkout_id = shopper.starts_to_pay()
    paycheckout_sandbox.pay(checkout_id)

    (attempt,) = shop.attempts("o-1")
    assert (attempt.status, attempt.found_by, attempt.deposit_status) == ("paid", "webhook", "completed")
    assert signals.names == ["checkout_created", "order_paid"]
    assert shopper.sees_status() == "paid"


def test_paid_by_the_status_page(quiet_shop: Shop, paycheckout_sandbox: Sandbox, signals: Signals) -> None:
    paycheckout_sandbox.pay(Shopper(quiet_shop).starts_to_pay())

    page = opens(quiet_shop)

    assert page.status_code == 200
    assert 'data-status="paid"' in page.text
    assert signals.names == ["checkout_created", "order_paid"]
    assert quiet_shop.attempts("o-1")[0].found_by == "status page"


def test_paid_by_reconcile_alone(quiet_shop: Shop, paycheckout_sandbox: Sandbox, signals: Signals) -> None:
    checkout_id = Shopper(quiet_shop).starts_to_pay()
    paycheckout_sandbox.pay(checkout_id)

    report = quiet_shop.reconciles()

    assert (report.checked, report.changed, report.delivered, report.failed) == (1, 1, 1, 0)
    assert quiet_shop.attempts("o-1")[0].found_by == "reconcile"
    assert signals.names == ["checkout_created", "order_paid"]
    assert quiet_shop.reconciles().checked == 0


def test_pending_then_paid(shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox, signals: Signals) -> None:
    checkout_id = shopper.starts_to_pay()
    paycheckout_sandbox.pick(checkout_id)
    assert shopper.sees_status() == "pending"

    paycheckout_sandbox.advance(minutes=2)
    paycheckout_sandbox.pay(checkout_id)

    assert shopper.sees_status() == "paid"
    assert signals.names == ["checkout_created", "order_pending", "order_paid"]
