"""The demo's warehouse: one parcel for each key, a hatch that can be shut, and no forms from other sites."""

from __future__ import annotations

from werkzeug.test import Client

from example_shop.warehouse import create_warehouse


def asks(warehouse: Client, key: str) -> tuple[int, object]:
    slip = {"order": "K7QM-2XHB-9TRE", "name": "Ada", "jars": []}
    answer = warehouse.post("/parcels", json=slip, headers={"Idempotency-Key": key})
    return answer.status_code, answer.json


def test_a_repeated_request_gets_the_same_parcel() -> None:
    warehouse = create_warehouse().test_client()
    first, second = {"parcel": "P-0001"}, {"parcel": "P-0002"}
    assert [asks(warehouse, key) for key in ("a", "b", "a")] == [(201, first), (201, second), (200, first)]
    assert "2 times" in warehouse.get("/").text


def test_only_the_warehouses_own_page_shuts_the_hatch() -> None:
    warehouse = create_warehouse().test_client()
    for site, status in (("cross-site", 403), ("same-origin", 302)):
        assert asks(warehouse, site)[0] == 201
        answer = warehouse.post("/hatch", data={"shut": "yes"}, headers={"Sec-Fetch-Site": site})
        assert answer.status_code == status
    assert asks(warehouse, "same-origin")[0] == 503
