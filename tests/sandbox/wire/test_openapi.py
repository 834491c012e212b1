"""The OpenAPI document: valid, complete, and what the code does rather than what somebody wrote beside it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask import Flask, Response
from openapi_spec_validator import validate

from flask_paycheckout.sandbox.wire.openapi import operations
from flask_paycheckout.sandbox.wire.operations import read_body
from tests.sandbox.actors import Merchant, Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.documented import Departures


@pytest.fixture
def described(tester: Tester) -> dict[str, Any]:
    document = tester.does("GET", "openapi.json")
    assert isinstance(document, dict)
    return document


def test_the_document_is_valid_openapi(described: dict[str, Any]) -> None:
    validate(described)
    assert described["openapi"].startswith("3.")


@pytest.mark.parametrize("unknowns", [{"http_status": "always_200"}, {"access_scheme": "either"}])
def test_it_is_valid_under_unknowns_that_change_it(
    make_sandbox: MakeSandbox, described: dict[str, Any], unknowns: dict[str, str]
) -> None:
    changed = Tester(make_sandbox(**unknowns)).does("GET", "openapi.json")
    validate(changed)
    assert changed["paths"] != described["paths"]


def test_it_is_behind_the_control_token(sandbox: Flask) -> None:
    assert sandbox.test_client().get("/_sandbox/openapi.json").status_code == 401


def test_every_route_of_the_service_is_in_it(sandbox: Flask) -> None:
    routes = {rule.endpoint for rule in sandbox.url_map.iter_rules() if rule.rule.startswith(("/v1/", "/v2/"))}
    undeclared = routes - {view for _, _, view, _ in operations(sandbox)}
    assert not undeclared, "decorate these views with operation(), and return Answer[...] of their record"


#: The operations of the interface, by the paths that its text gives them. Two answer at a second path as well.
INTERFACE = """
POST /v1/auth/register
POST /v1/auth/login
POST /v1/auth/verify-login
GET /v1/disbursement/fiat
GET /v1/disbursement/fiat/{}
POST /v1/disbursement/fiat
POST /v2/disbursement/fiat
GET /v1/disbursement/fiat/payment-method
GET /v1/disbursement/fiat/{}/report
PATCH /v1/disbursement/{}
POST /v1/disbursement/crypto
GET /v1/disbursement/crypto/estimate
POST /v1/checkout
GET /v1/deposit/{}
PATCH /v1/deposit/{}
GET /v1/recipient
GET /v1/recipient/{}
POST /v1/recipient
PATCH /v1/recipient/{}
DELETE /v1/recipient/{}
GET /v2/payment/quote
GET /v2/payments
GET /v2/payment/detail/{}
POST /v2/payment
GET /v1/reference/currencies
GET /v1/reference/cryptos
GET /v1/reference/banks
GET /v1/reference/payment-methods
"""
SECOND_PATHS = {"GET /v2/payment", "DELETE /v1/recipient"}


@pytest.mark.rule("The version begins the path: v2 of payments and of the newer fiat create, v1 of everything else.")
def test_it_has_the_28_operations_of_the_interface(described: dict[str, Any]) -> None:
    listed = {
        f"{method.upper()} {re.sub('{.*?}', '{}', path)}"
        for path, item in described["paths"].items()
        for method in item
    }
    assert len(listed - SECOND_PATHS) == 28
    assert listed == set(INTERFACE.strip().splitlines()) | SECOND_PATHS


@pytest.mark.rule("The reference lists are deprecated.")
@pytest.mark.rule("Everything about payments is deprecated.")
@pytest.mark.rule("The first version of creating fiat disbursements is deprecated; the second one takes its place.")
def test_what_the_interface_calls_deprecated_is_marked(described: dict[str, Any]) -> None:
    marked = {
        f"{method.upper()} {path}"
        for path, item in described["paths"].items()
        for method, operation in item.items()
        if operation["deprecated"]
    }
    others = {name for name in marked if "/v2/payment" not in name and "/v1/reference/" not in name}
    assert others == {"POST /v1/disbursement/fiat"}
    assert len(marked) == 10


@pytest.mark.rule("Times are ISO 8601 in UTC.")
def test_every_time_in_a_record_is_a_date_time(described: dict[str, Any]) -> None:
    times = {
        (name, field): schema
        for name, record in described["components"]["schemas"].items()
        for field, schema in record.get("properties", {}).items()
        if field.endswith(("At", "Date", "_date"))
    }
    assert times
    for where, schema in times.items():
        assert "date-time" in str(schema), where


def test_the_control_interface_is_not_in_it(described: dict[str, Any]) -> None:
    assert all(path.startswith(("/v1/", "/v2/")) for path in described["paths"])


def test_requests_are_described_by_the_class_that_reads_them(described: dict[str, Any]) -> None:
    sent = described["components"]["schemas"]["NewCheckout"]
    assert sent["required"] == ["inputCurrency"]
    assert sent["properties"]["inputAmount"]["anyOf"][0]["exclusiveMinimum"] == 0


def test_amounts_are_numbers_and_times_are_date_times(described: dict[str, Any]) -> None:
    deposit = described["components"]["schemas"]["DepositRecord"]["properties"]
    assert deposit["inputAmount"] == {"type": "number"}
    assert deposit["createdAt"] == {"type": "string", "format": "date-time"}


def test_a_view_cannot_read_what_it_did_not_declare(sandbox: Flask) -> None:
    with (
        sandbox.test_request_context("/v1/checkout", method="POST", json={}),
        pytest.raises(TypeError, match="declare"),
    ):
        read_body(Departures)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        pytest.param('{"statusCode": 200, "message": "Success", "data": {"id": "1", "url": 5}}', "url", id="type"),
        pytest.param('{"statusCode": 200, "message": "Success", "data": {"id": "1"}}', "url", id="missing"),
        pytest.param(
            '{"statusCode": 200, "message": "Success", "data": {"id": "", "url": "", "x": 1}}', "x", id="more"
        ),
        pytest.param('{"statusCode": 204, "message": "", "data": {"id": "1", "url": ""}}', "statusCode", id="code"),
        pytest.param('{"message": "Success", "data": {"id": "1", "url": ""}}', "statusCode", id="no-code"),
        pytest.param("[]", "object", id="no-envelope"),
    ],
)
def test_an_answer_off_the_document_is_noticed(sandbox: Flask, body: str, fault: str) -> None:
    found = Departures()
    with sandbox.test_request_context("/v1/checkout", method="POST"):
        found.check(sandbox, Response(body, content_type="application/json"))
    assert len(found.seen) == 1
    assert fault in found.seen[0]


def test_every_answer_of_the_tests_is_checked(departures: Departures, merchant: Merchant) -> None:
    merchant.makes_checkout()
    assert departures.checked == 1
