"""A paid order becomes one parcel, however often the request to the warehouse is repeated."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import requests
from sqlalchemy import select

from example_shop.database import db
from example_shop.fulfilment import Parcel
from tests.example_shop.conftest import WAREHOUSE, Shopper, stored

if TYPE_CHECKING:
    from collections.abc import Callable

    import responses
    from flask import Flask

    from flask_paycheckout.testing import Sandbox

DOOR = f"{WAREHOUSE}/parcels"


@pytest.fixture
def shop(make_shop: Callable[..., Flask]) -> Flask:
    return make_shop(WAREHOUSE_URL=WAREHOUSE)


@pytest.fixture
def pay(shopper: Shopper, paycheckout_sandbox: Sandbox) -> Callable[[str], None]:
    """Pays an order, and lets the webhook arrive."""

    def run(order_id: str) -> None:
        checkout_id = shopper.starts_to_pay(order_id)
        paycheckout_sandbox.pick(checkout_id)
        paycheckout_sandbox.pay(checkout_id)
        paycheckout_sandbox.deliver_to(shopper.browser)

    return run


def parcels(shop: Flask) -> list[str]:
    with shop.app_context():
        return list(db.session.scalars(select(Parcel.number)))


def keys(warehouse: responses.RequestsMock) -> list[str | None]:
    return [call.request.headers.get("Idempotency-Key") for call in warehouse.calls]


def test_the_warehouse_is_told_what_to_pack(
    shop: Flask, shopper: Shopper, warehouse: responses.RequestsMock, pay: Callable[[str], None]
) -> None:
    warehouse.post(DOOR, json={"parcel": "P-0001"}, status=201)
    order_id = shopper.orders(first_snow=2, north_wind=1)
    pay(order_id)
    body = warehouse.calls[0].request.body
    assert body is not None
    assert json.loads(body) == {
        "order": order_id,
        "name": "Ada Lovelace",
        "jars": [
            {"jar": "first-snow", "name": "First Snow", "quantity": 2},
            {"jar": "north-wind", "name": "North Wind", "quantity": 1},
        ],
    }
    assert stored(shop, order_id)["parcel"] == "P-0001"
    assert "P-0001" in shopper.sees(f"/orders/{order_id}")


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param({"status": 503}, id="turned away"),
        pytest.param({"body": requests.ConnectionError("no answer")}, id="nobody there"),
        pytest.param({"body": requests.Timeout("too slow")}, id="too slow"),
        pytest.param({"body": "thank you", "status": 200}, id="not an answer"),
    ],
)
def test_a_warehouse_that_fails_once_is_told_again_with_the_same_key(
    shop: Flask,
    shopper: Shopper,
    warehouse: responses.RequestsMock,
    pay: Callable[[str], None],
    reconcile: Callable[[], Any],
    trouble: dict[str, Any],
) -> None:
    warehouse.post(DOOR, **trouble)
    warehouse.post(DOOR, json={"parcel": "P-0007"}, status=201)
    order_id = shopper.orders(first_snow=1)
    pay(order_id)
    assert stored(shop, order_id)["state"] == "paid"
    assert parcels(shop) == []

    reconcile()
    first, second = keys(warehouse)
    assert first
    assert first == second
    assert parcels(shop) == ["P-0007"]
    assert stored(shop, order_id)["diary"].count("The order is paid.") == 1


def test_the_parcel_is_recorded_exactly_once(
    shop: Flask,
    shopper: Shopper,
    warehouse: responses.RequestsMock,
    pay: Callable[[str], None],
    reconcile: Callable[[], Any],
    paycheckout_sandbox: Sandbox,
) -> None:
    warehouse.post(DOOR, json={"parcel": "P-0001"}, status=201)
    order_id = shopper.orders(first_snow=1)
    pay(order_id)
    for _ in range(3):
        paycheckout_sandbox.advance(minutes=30)
        reconcile()
        shopper.sees(f"/orders/{order_id}")
    assert parcels(shop) == ["P-0001"]
    assert len(warehouse.calls) == 1


def test_a_warehouse_that_stays_shut_is_asked_ever_more_rarely_and_never_forgotten(
    shop: Flask,
    shopper: Shopper,
    warehouse: responses.RequestsMock,
    pay: Callable[[str], None],
    reconcile: Callable[[], Any],
    paycheckout_sandbox: Sandbox,
) -> None:
    shut = warehouse.post(DOOR, status=503)
    order_id = shopper.orders(first_snow=1)
    pay(order_id)
    for _ in range(5):
        paycheckout_sandbox.advance(minutes=90)
        reconcile()
    warehouse.remove(shut)
    warehouse.post(DOOR, json={"parcel": "P-0002"}, status=201)
    paycheckout_sandbox.advance(minutes=90)
    reconcile()
    assert parcels(shop) == ["P-0002"]
    assert len(set(keys(warehouse))) == 1


def test_a_shop_without_a_warehouse_takes_payments_all_the_same(
    make_shop: Callable[..., Flask], paycheckout_sandbox: Sandbox
) -> None:
    shop = make_shop(WAREHOUSE_URL=None)
    shopper = Shopper(shop)
    order_id = shopper.orders(first_snow=1)
    checkout_id = shopper.starts_to_pay(order_id)
    paycheckout_sandbox.pick(checkout_id)
    paycheckout_sandbox.pay(checkout_id)
    paycheckout_sandbox.deliver_to(shopper.browser)
    assert stored(shop, order_id)["state"] == "paid"
    assert parcels(shop) == []
