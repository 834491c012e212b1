"""The fault plan: every kind, matched by route and by path, for the planned number of times."""

from __future__ import annotations

import pytest
from flask import Flask

from flask_paycheckout.sandbox import ConnectionDropped, create_sandbox
from tests.sandbox.actors import CONTROL_TOKEN, Merchant, Tester

CREATE = "POST /v1/checkout"
READ = "GET /v1/deposit/{id}"


def test_error_answers_in_the_envelope_before_anything_is_done(merchant: Merchant, tester: Tester) -> None:
    tester.orders_fault(CREATE, "error", statusCode=503, message="Try later", retryAfter=7)
    refused = merchant.asks_checkout()
    assert refused.body == {"statusCode": 503, "error": "Service Unavailable", "message": "Try later"}
    assert refused.headers["Retry-After"] == "7"
    assert merchant.asks_checkout().code == 200


def test_an_error_may_have_a_code_that_no_standard_names(merchant: Merchant, tester: Tester) -> None:
    tester.orders_fault(CREATE, "error", statusCode=520)
    assert merchant.asks_checkout().code == 520


def answers_to_reads(merchant: Merchant, many: int) -> list[int]:
    return [merchant.reads_deposit("x").code for _ in range(many)]


def test_a_fault_strikes_as_often_as_ordered_the_oldest_first(merchant: Merchant, tester: Tester) -> None:
    tester.orders_fault(READ, "error", times=3)
    tester.orders_fault(READ, "error", statusCode=502)
    assert answers_to_reads(merchant, 6) == [500, 500, 500, 502, 404, 404]


def test_delay_waits_and_then_does_the_work() -> None:
    waited: list[float] = []
    app = create_sandbox(control_token=CONTROL_TOKEN, sleep=waited.append)
    Tester(app).orders_fault(CREATE, "delay", seconds=2.5)
    assert Merchant(app).makes_checkout()
    assert waited == [2.5]


def test_drop_does_nothing_and_gives_no_answer(merchant: Merchant, tester: Tester) -> None:
    tester.orders_fault(CREATE, "drop")
    with pytest.raises(ConnectionDropped):
        merchant.makes_checkout()
    assert [(entry["status"], entry["fault"]) for entry in tester.requests()] == [(None, "drop")]
    assert merchant.makes_checkout()


def test_garbage_is_not_the_envelope(merchant: Merchant, tester: Tester) -> None:
    tester.orders_fault(READ, "garbage", statusCode=502)
    response = merchant.gets("/v1/deposit/x")
    assert response.status_code == 502
    assert response.mimetype == "text/html"
    assert response.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none';"), (
        "nor may it send a form"
    )
    assert not response.is_json


def test_a_fault_with_a_share_strikes_that_share_and_leaves_the_rest_to_the_next(
    merchant: Merchant, tester: Tester
) -> None:
    tester.orders_fault(READ, "error", statusCode=501, times=1000, share=0.25)
    tester.orders_fault(READ, "error", statusCode=502, times=1000, share=0.5)
    seen = answers_to_reads(merchant, 120)
    # Four standard deviations in both directions.
    assert 11 < seen.count(501) < 49
    assert 24 < seen.count(502) < 66
    assert seen.count(404) == 120 - seen.count(501) - seen.count(502)
    assert [fault["times"] for fault in tester.does("GET", "faults")] == [
        1000 - seen.count(code) for code in (501, 502)
    ]


def test_a_fault_can_be_meant_for_one_path_or_the_hosted_page(
    sandbox: Flask, merchant: Merchant, tester: Tester
) -> None:
    tester.orders_fault("GET /v1/deposit/abc", "error")
    tester.orders_fault("GET /checkout/{id}", "garbage")
    assert (merchant.reads_deposit("other").code, merchant.forces_status("abc").code) == (404, 400)
    assert merchant.reads_deposit("abc").code == 500
    assert b"not the envelope" in sandbox.test_client().get("/checkout/x").data
