"""A paid order becomes one parcel, however often the request to the warehouse is repeated."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import requests

from example_shop.fulfilment import Parcel
from tests.example_shop.conftest import WAREHOUSE, Payments, Shopper, rows, stored

if TYPE_CHECKING:
    from collections.abc import Callable

    import responses
    from flask import Flask


DOOR = f"{WAREHOUSE}/parcels"


@pytest.fixture
def shop(make_shop: Callable[..., Flask]) -> Flask:
    return make_shop(WAREHOUSE_URL=WAREHOUSE)


def keys(warehouse: responses.RequestsMock) -> list[str | None]:
    return [call.request.headers.get("Idempotency-Key") for call in warehouse.calls]


def test_the_warehouse_is_told_once_what_to_pack(
    shop: Flask, shopper: Shopper, warehouse: responses.RequestsMock, payments: Payments
) -> None:
    warehouse.post(DOOR, json={"parcel": "P-0001"}, status=201)
    order_id = shopper.orders(first_snow=2, north_wind=1)
    payments.pays(order_id)
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
    for _ in range(3):
        payments.passes(30)
    assert (rows(shop, Parcel.number), len(warehouse.calls)) == (["P-0001"], 1)
    assert "P-0001" in shopper.sees(f"/orders/{order_id}")


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param({"status": 503}, id="turned away"),
        pytest.param({"body": requests.Timeout("too slow")}, id="too slow"),
        pytest.param({"body": "thank you", "status": 200}, id="not an answer"),
    ],
)
def test_a_warehouse_that_fails_once_is_told_again_with_the_same_key(
    shop: Flask, shopper: Shopper, warehouse: responses.RequestsMock, trouble: dict[str, Any], payments: Payments
) -> None:
    warehouse.post(DOOR, **trouble)
    warehouse.post(DOOR, json={"parcel": "P-0007"}, status=201)
    order_id = shopper.orders(first_snow=1)
    payments.pays(order_id)
    assert stored(shop, order_id).state == "paid"
    assert rows(shop, Parcel.number) == []

    payments.passes(0)
    first, second = keys(warehouse)
    assert first
    assert first == second
    assert rows(shop, Parcel.number) == ["P-0007"]
