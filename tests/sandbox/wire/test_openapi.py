"""The OpenAPI document: valid, complete, and what the code does rather than what somebody wrote beside it."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask, Response
from openapi_spec_validator import validate

from tests.sandbox.actors import Merchant, Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.documented import Departures


@pytest.fixture
def described(tester: Tester) -> Any:
    return tester.does("GET", "openapi.json")


@pytest.mark.parametrize("unknowns", [{"http_status": "always_200"}, {"access_scheme": "either"}])
def test_it_is_valid_under_unknowns_that_change_it(
    make_sandbox: MakeSandbox, described: dict[str, Any], unknowns: dict[str, str]
) -> None:
    validate(described)
    changed = Tester(make_sandbox(**unknowns)).does("GET", "openapi.json")
    validate(changed)
    assert changed["paths"] != described["paths"]


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


@pytest.mark.parametrize(
    ("data", "fault"), [('{"id": "1", "url": 5}', "url"), ('{"id": "", "url": "", "x": 1}', "x")], ids=["type", "more"]
)
def test_an_answer_off_the_document_is_noticed(sandbox: Flask, data: str, fault: str) -> None:
    found = Departures()
    with sandbox.test_request_context("/v1/checkout", method="POST"):
        body = f'{{"statusCode": 200, "message": "Success", "data": {data}}}'
        found.check(sandbox, Response(body, content_type="application/json"))
    assert [fault in sentence for sentence in found.seen] == [True]


def test_every_answer_of_the_tests_is_checked(departures: Departures, merchant: Merchant) -> None:
    merchant.makes_checkout()
    assert departures.checked == 1
