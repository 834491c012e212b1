"""Strangers, outages and faulty receivers: nothing is lost, nothing is believed, nothing is done twice."""

from __future__ import annotations

import pytest

from flask_paycheckout.testing import Sandbox, Signals
from tests.journeys.conftest import Shopper
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database

READ = "GET /v1/deposit/{reference}"


@pytest.mark.parametrize("kind", ["error", "drop", "garbage"])
def test_service_down_at_start_gives_a_retry_page_and_retrying_works(
    kind: str, shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox, signals: Signals
) -> None:
    details = {"statusCode": 500} if kind == "error" else {}
    paycheckout_sandbox.fault("POST /v1/checkout", kind, times=50, **details)
    page = shopper.presses_pay()
    assert page.status_code == 503
    assert int(page.headers["Retry-After"]) > 0
    assert "Try again" in page.text
    assert shop.attempts("o-1") == []

    paycheckout_sandbox.control("DELETE", "faults")
    checkout_id = shopper.starts_to_pay()
    paycheckout_sandbox.pay(checkout_id)
    assert shopper.sees_status() == "paid"
    assert signals.names == ["checkout_created", "order_paid"]


@pytest.mark.parametrize("kind", ["error", "drop", "garbage"])
def test_an_outage_never_changes_a_state(
    kind: str, quiet_shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox, signals: Signals
) -> None:
    shop = quiet_shop
    checkout_id = shopper.starts_to_pay()
    paycheckout_sandbox.pay(checkout_id)
    details = {"statusCode": 404, "message": "no route"} if kind == "error" else {}
    paycheckout_sandbox.fault(READ, kind, times=1000, **details)
    for _ in range(5):
        paycheckout_sandbox.advance(minutes=20)
        assert shop.reconciles().failed == 1
    assert shop.attempts("o-1")[0].status == "created"

    paycheckout_sandbox.control("DELETE", "faults")
    paycheckout_sandbox.advance(minutes=20)
    shop.reconciles()
    assert shop.attempts("o-1")[0].status == "paid"
    assert signals.names == ["checkout_created", "order_paid"]
