"""Every answer below `/v1` and `/v2` has the envelope, for any request from any origin."""

from __future__ import annotations

import pytest
from flask import Flask

from flask_paycheckout.sandbox.world.context import world
from tests.sandbox.actors import CLIENT_ID, Merchant, Tester, exact
from tests.sandbox.conftest import MakeSandbox

FROM_ELSEWHERE = {"Origin": "https://shop.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
QUOTE = "/v2/payment/quote?amount=100&inputCurrency=usdc-polygon&outputCurrency=USD"


@pytest.mark.parametrize(
    ("method", "target", "headers", "code"),
    [
        pytest.param("POST", "/v1//checkout", {}, 404, id="doubled-slash"),
        pytest.param("GET", "/%2Fv1/deposit/x", {}, 401, id="doubled-first-slash"),
        pytest.param("GET", "/v1/recipient/a%2Fb", {}, 404, id="encoded-slash"),
        pytest.param("POST", "/v1/checkout", {"Host": "a b"}, 400, id="no-host"),
        pytest.param("GET", "/v1/reference/banks", FROM_ELSEWHERE, 403, id="foreign-page"),
        pytest.param("OPTIONS", "/v1/checkout", {}, 405, id="options"),
    ],
)
def test_the_envelope_of_a_refusal_is_everywhere(
    sandbox: Flask, method: str, target: str, headers: dict[str, str], code: int
) -> None:
    answer = sandbox.test_client().open(target, method=method, headers=headers)
    assert (answer.status_code, answer.content_type) == (code, "application/json")
    body = exact(answer.data)
    assert set(body) == {"statusCode", "error", "message"}
    assert body["statusCode"] == code


def test_a_method_that_is_not_there_is_answered_with_those_that_are(make_sandbox: MakeSandbox) -> None:
    answer = make_sandbox(recipient_delete="query").test_client().delete("/v1/recipient/x")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD, PATCH")


@pytest.mark.parametrize(
    ("unknowns", "target", "method", "code"),
    [
        ({"payments_path": "payment"}, "/v2/payments", "GET", 404),
        ({"payments_path": "payments"}, "/v2/payments", "GET", 200),
        ({"recipient_delete": "path"}, "/v1/recipient?id=5a6d00000000000000000101", "DELETE", 405),
        ({"recipient_delete": "query"}, "/v1/recipient?id=5a6d00000000000000000101", "DELETE", 200),
    ],
)
def test_only_one_form_of_a_path_is_served(
    make_sandbox: MakeSandbox, unknowns: dict[str, str], target: str, method: str, code: int
) -> None:
    app = make_sandbox(**unknowns)
    assert Merchant(app).calls(method, target).code == code
    path = target.partition("?")[0].replace("/5a6d00000000000000000101", "/{id}")
    described = Tester(app).does("GET", "openapi.json")["paths"].get(path, {})
    assert (method.lower() in described) == (code == 200)


def test_a_body_of_another_type_is_refused(make_sandbox: MakeSandbox) -> None:
    body = b'{"inputCurrency": "USD", "inputAmount": 5}'
    for unknowns, code in (({}, 415), ({"content_type_error": "400"}, 400)):
        merchant = Merchant(make_sandbox(**unknowns))
        for kind in ("text/plain", "application/x-www-form-urlencoded", "", "application/json; charset=utf-8"):
            headers = merchant.signs("POST", "/v1/checkout", body)
            answer = merchant.app.test_client().post("/v1/checkout", data=body, headers=headers, content_type=kind)
            expected = 200 if "json" in kind else code
            assert (answer.status_code, exact(answer.data)["statusCode"]) == (expected, expected)


def test_a_page_of_another_origin_quotes_with_the_client_id_alone(sandbox: Flask, tester: Tester) -> None:
    asks = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "x-client-id"}
    allowed = sandbox.test_client().options(QUOTE, headers=FROM_ELSEWHERE | asks)
    assert (allowed.status_code, exact(allowed.data)["statusCode"]) == (200, 200)
    assert "X-Client-ID" in allowed.headers["Access-Control-Allow-Headers"]
    quote = sandbox.test_client().get(f"{QUOTE}&withLimit=true", headers=FROM_ELSEWHERE | {"X-Client-ID": CLIENT_ID})
    refused = sandbox.test_client().get(QUOTE, headers=FROM_ELSEWHERE | {"X-Client-ID": CLIENT_ID})
    assert (quote.status_code, refused.status_code) == (200, 401)
    for answer in (allowed, quote, refused):
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
    # Refused requests that any page may send do not push others out of the log.
    assert [logged["status"] for logged in tester.requests()] == [200]


@pytest.mark.on_each_database
def test_unknown_rate_limit(make_sandbox: MakeSandbox) -> None:
    app = make_sandbox(rate_limit="300")
    merchant, tester = Merchant(app), Tester(app)
    # Advance to the beginning of a minute of the virtual clock.
    tester.advances(seconds=60 - float(tester.does("GET", "clock")["now"][17:19]))
    assert merchant.reads_deposit("none").code == 404
    for caller in world(app).calls:
        world(app).calls[caller] = 299
    assert [merchant.reads_deposit("none").code for _ in range(3)] == [404, 429, 429]
    refused = merchant.reads_deposit("none")
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert Merchant(app, client_id="somebody").reads_deposit("none").code == 401
    tester.advances(minutes=1)
    assert merchant.reads_deposit("none").code == 404
