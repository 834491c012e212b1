"""The demo's warehouse: one parcel for each key, and a hatch that can be shut."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from example_shop.warehouse import create_warehouse

SLIP = {"order": "K7QM-2XHB-9TRE", "name": "Ada", "jars": [{"jar": "first-snow", "name": "First Snow", "quantity": 2}]}


@pytest.fixture
def caller() -> FlaskClient:
    return create_warehouse().test_client()


def tell(caller: FlaskClient, key: str) -> tuple[int, object]:
    answer = caller.post("/parcels", json=SLIP, headers={"Idempotency-Key": key} if key else {})
    return answer.status_code, answer.get_json()


def test_the_same_key_is_the_same_parcel(caller: FlaskClient) -> None:
    assert tell(caller, "a") == (201, {"parcel": "P-0001"})
    assert tell(caller, "b") == (201, {"parcel": "P-0002"})
    assert tell(caller, "a") == (200, {"parcel": "P-0001"})
    page = caller.get("/").text
    assert "2 × First Snow" in page
    assert "2 times" in page


def test_a_key_is_asked_for(caller: FlaskClient) -> None:
    assert tell(caller, "")[0] == 400


def test_nobody_comes_through_a_shut_hatch(caller: FlaskClient) -> None:
    caller.post("/hatch", data={"shut": "yes"})
    assert tell(caller, "a")[0] == 503
    assert "Turned away so far: 1" in caller.get("/").text
    caller.post("/hatch", data={"shut": "no"})
    assert tell(caller, "a") == (201, {"parcel": "P-0001"})
