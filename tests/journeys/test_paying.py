"""The path of every order that goes well: found by webhook, by the status page, or by reconcile alone."""

from __future__ import annotations

from decimal import Decimal

import pytest

from flask_paycheckout import Pay, Receive
from flask_paycheckout.testing import Sandbox, Signals
from tests.journeys.conftest import Shop, ShopMaker, Shopper

pytestmark = pytest.mark.on_each_database


def test_paid_by_webhook(shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox, signals: Signals) -> None:
    checkout_id = shopper.starts_to_pay()
    paycheckout_sandbox.pay(checkout_id)

    (attempt,) = shop.attempts("o-1")
    assert (attempt.status, attempt.found_by, attempt.deposit_status) == ("paid", "webhook", "completed")
    assert signals.names == ["checkout_created", "order_paid"]
    assert shopper.sees_status() == "paid"


def test_paid_by_the_status_page(quiet_shop: Shop, paycheckout_sandbox: Sandbox, signals: Signals) -> None:
    shopper = Shopper(quiet_shop)
    checkout_id = shopper.starts_to_pay()
    paycheckout_sandbox.pay(checkout_id)

    page = shopper.opens_the_status_page()

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


def test_paid_by_settle(quiet_shop: Shop, paycheckout_sandbox: Sandbox, signals: Signals) -> None:
    checkout_id = Shopper(quiet_shop).starts_to_pay()
    paycheckout_sandbox.pay(checkout_id)
    with quiet_shop.app.app_context():
        first = quiet_shop.paycheckout.settle(checkout_id)
        again = quiet_shop.paycheckout.settle(checkout_id)
    assert (first.status, again.status) == ("paid", "paid")
    assert signals.names == ["checkout_created", "order_paid"]


def test_pending_then_paid(shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox, signals: Signals) -> None:
    checkout_id = shopper.starts_to_pay()
    paycheckout_sandbox.pick(checkout_id)
    assert shopper.sees_status() == "pending"

    paycheckout_sandbox.advance(minutes=2)
    paycheckout_sandbox.pay(checkout_id)

    assert shopper.sees_status() == "paid"
    assert signals.names == ["checkout_created", "order_pending", "order_paid"]


def test_the_customer_pays_through_the_hosted_page(shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox) -> None:
    """The URL is the service's own, used as it came."""
    response = shopper.presses_pay()
    page = paycheckout_sandbox.app.test_client().get(response.location)
    assert page.status_code == 200
    assert "12.5" in page.text


@pytest.mark.parametrize(
    "total",
    [
        pytest.param(Pay("9.99", "USD"), id="pay-usd"),
        pytest.param(Pay("1500", "JPY"), id="pay-jpy-no-decimals"),
        pytest.param(Receive("20.00", "USD", pay_in="USD"), id="receive-usd"),
        pytest.param(Receive("20.01", "EUR", pay_in="EUR"), id="receive-eur"),
    ],
)
def test_every_kind_of_total_is_paid_to_the_last_unit(
    total: Pay | Receive, shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox
) -> None:
    shop.prices("o-1", total)
    checkout_id = shopper.starts_to_pay()
    paycheckout_sandbox.pay(checkout_id)
    (attempt,) = shop.attempts("o-1")
    assert attempt.status == "paid", shop.explains("o-1")
    assert attempt.total == total
    assert Decimal(attempt.total_amount) == total.amount


def test_database_effects_of_a_receiver_are_committed_with_the_mark(
    make_shop: ShopMaker, paycheckout_sandbox: Sandbox
) -> None:
    """The receiver writes through db.session and commits nothing itself."""
    from flask_paycheckout import order_paid

    shop = make_shop()
    note = shop.db.Table("note", shop.db.metadata, shop.db.Column("text", shop.db.String(80)))
    with shop.app.app_context():
        shop.db.create_all()

    def write(app: object, *, order_id: str, event_id: str, **extra: object) -> None:
        shop.db.session.execute(note.insert().values(text=f"{order_id} {event_id}"))

    with order_paid.connected_to(write, sender=shop.app):
        checkout_id = Shopper(shop).starts_to_pay()
        paycheckout_sandbox.pay(checkout_id)

    (event,) = [event for event in shop.events("o-1") if event.name == "order_paid"]
    with shop.app.app_context():
        assert shop.db.session.execute(shop.db.select(note)).scalars().all() == [f"o-1 {event.event_id}"]
    assert event.delivered_at is not None
    assert event.attempts == 1
