"""Strangers, outages and faulty receivers: nothing is lost, nothing is believed, nothing is done twice."""

from __future__ import annotations

from typing import Any

import pytest

from flask_paycheckout import order_paid
from flask_paycheckout.testing import Sandbox, Signals
from tests.journeys.conftest import Shop, ShopMaker, Shopper

pytestmark = pytest.mark.on_each_database

READ = "GET /v1/deposit/{reference}"


def _forge(shop: Shop, body: Any) -> int:
    return shop.client.post("/paycheckout/webhook", json=body).status_code


def test_a_forged_webhook_changes_nothing(
    shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox, signals: Signals
) -> None:
    checkout_id = shopper.starts_to_pay()
    assert _forge(shop, {"orderId": checkout_id, "status": "completed", "inputAmount": 12.5}) == 200
    assert shop.attempts("o-1")[0].status == "created"
    assert signals.names == ["checkout_created"]


def test_an_unknown_id_gets_the_same_answer_and_costs_no_read(
    shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox
) -> None:
    checkout_id = shopper.starts_to_pay()
    known = shop.client.post("/paycheckout/webhook", json={"orderId": checkout_id})
    before = len(paycheckout_sandbox.control("GET", "requests"))
    unknown = shop.client.post("/paycheckout/webhook", json={"orderId": "nobody-knows-this"})
    assert len(paycheckout_sandbox.control("GET", "requests")) == before
    assert (unknown.status_code, unknown.data) == (known.status_code, known.data) == (200, known.data)


def test_webhooks_cause_one_read_per_cool_down_and_none_once_final(
    shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox
) -> None:
    checkout_id = shopper.starts_to_pay()

    def reads() -> int:
        return sum(
            entry["target"].startswith("/v1/deposit/") for entry in paycheckout_sandbox.control("GET", "requests")
        )

    for _ in range(20):
        _forge(shop, {"orderId": checkout_id})
    assert reads() == 1
    paycheckout_sandbox.advance(minutes=0, seconds=6)
    for _ in range(20):
        _forge(shop, {"orderId": checkout_id})
    assert reads() == 2
    paycheckout_sandbox.advance(minutes=0, seconds=6)
    paycheckout_sandbox.pay(checkout_id)
    assert reads() == 3
    for _ in range(20):
        paycheckout_sandbox.advance(minutes=0, seconds=6)
        _forge(shop, {"orderId": checkout_id})
    assert reads() == 3


def test_a_webhook_inside_the_cool_down_is_not_forgotten(
    shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox
) -> None:
    checkout_id = shopper.starts_to_pay()
    _forge(shop, {"orderId": checkout_id})
    paycheckout_sandbox.pay(checkout_id)
    assert shop.attempts("o-1")[0].status == "created"
    paycheckout_sandbox.advance(minutes=0, seconds=6)
    shop.reconciles()
    assert shop.attempts("o-1")[0].status == "paid"


def test_a_webhook_that_overtakes_the_create_answer_is_survived(
    shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox
) -> None:
    paycheckout_sandbox.fault("webhook", "before_response")
    shopper.starts_to_pay()
    shop.reconciles()
    assert shopper.sees_status() == "paid"


@pytest.mark.parametrize("kind", ["error", "drop", "garbage"])
def test_service_down_at_start_gives_a_retry_page_and_retrying_works(
    kind: str, make_shop: ShopMaker, paycheckout_sandbox: Sandbox, signals: Signals
) -> None:
    shop = make_shop(PAYCHECKOUT_TIMEOUT=5)
    shopper = Shopper(shop)
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


def test_a_lost_create_answer_is_repeated_because_nobody_holds_its_url(
    shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox
) -> None:
    paycheckout_sandbox.fault("POST /v1/checkout", "lose_response")
    checkout_id = shopper.starts_to_pay()
    assert [attempt.checkout_id for attempt in shop.attempts("o-1")] == [checkout_id]


@pytest.mark.parametrize("kind", ["error", "drop", "garbage"])
def test_an_outage_never_changes_a_state(
    kind: str, make_shop: ShopMaker, paycheckout_sandbox: Sandbox, signals: Signals
) -> None:
    shop = make_shop(webhooks=False, PAYCHECKOUT_TIMEOUT=5)
    checkout_id = Shopper(shop).starts_to_pay()
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


def test_a_receiver_that_raises_is_run_again_and_only_it(
    shop: Shop, shopper: Shopper, paycheckout_sandbox: Sandbox
) -> None:
    told: list[str] = []
    failures = iter([True, True])

    def steady(app: object, *, event_id: str, **extra: object) -> None:
        told.append(f"steady {event_id}")

    def shaky(app: object, *, event_id: str, **extra: object) -> None:
        told.append(f"shaky {event_id}")
        if next(failures, False):
            raise RuntimeError("the warehouse is closed")

    with order_paid.connected_to(shaky, sender=shop.app), order_paid.connected_to(steady, sender=shop.app):
        paycheckout_sandbox.pay(shopper.starts_to_pay())
        assert shop.attempts("o-1")[0].status == "paid"
        assert shop.reconciles().failed == 1
        assert shop.reconciles().failed == 0
        paycheckout_sandbox.advance(minutes=1)
        assert shop.reconciles().delivered == 1
        paycheckout_sandbox.advance(minutes=90)
        assert shop.reconciles().delivered == 0

    (event,) = [event for event in shop.events("o-1") if event.name == "order_paid"]
    assert sorted(told) == [f"shaky {event.event_id}"] * 3 + [f"steady {event.event_id}"]


def test_two_apps_in_one_process_keep_to_themselves(
    make_shop: ShopMaker, paycheckout_sandbox: Sandbox, signals: Signals
) -> None:
    north, south = make_shop("north", webhooks=False), make_shop("south", webhooks=False)
    told: list[str] = []

    def in_the_north(app: Any, **extra: Any) -> None:
        told.append(app.name)

    with order_paid.connected_to(in_the_north, sender=north.app):
        first, second = Shopper(north).starts_to_pay(), Shopper(south).starts_to_pay()
        paycheckout_sandbox.pay(second)
        south.reconciles()
        assert (told, Shopper(north).sees_status(), Shopper(south).sees_status()) == ([], "created", "paid")
        paycheckout_sandbox.pay(first)
        paycheckout_sandbox.advance(minutes=1)
        north.reconciles()
    assert told == ["north"]
    assert Shopper(north).sees_status() == "paid"
