"""The OpenAPI document, and the conventions of all operations that it tells of."""

from __future__ import annotations

import re

import pytest
from flask import Flask, Response
from openapi_spec_validator import validate

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.wire.openapi import document
from tests.sandbox.actors import Merchant, Tester, exact
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import Payer
from tests.sandbox.documented import Departures
from tests.sandbox.payments.customers import details, makes

DOCUMENT = document(create_sandbox())
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
}
FIELDS = {
    (name, field): kind
    for name, schema in DOCUMENT["components"]["schemas"].items()
    for field, kind in schema.get("properties", {}).items()
}
#: Takes nothing that could be wrong.
NEVER_REFUSED = {"GET /v1/reference/currencies"}


@pytest.mark.rule("An error says statusCode, error and message and nothing else.")
@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - NEVER_REFUSED))
def test_every_refusal_has_the_error_envelope(sandbox: Flask, name: str) -> None:
    method, _, path = name.partition(" ")
    target = f"{re.sub('{.*?}', 'x', path)}?limit=0&useSmartContract=x&isForDeposit=x"
    refused = sandbox.test_client().open(target, method=method, data=b"[]", content_type="application/json")
    body = exact(refused.data)
    assert refused.content_type == "application/json"
    assert set(body) == {"statusCode", "error", "message"}
    assert body["statusCode"] == refused.status_code in {400, 401}


@pytest.mark.parametrize(("target", "code"), [("/v1/nothing", 404), ("/v1/checkout", 405), ("/v3/checkout", 404)])
def test_what_is_no_operation_is_refused_likewise(sandbox: Flask, target: str, code: int) -> None:
    answer = sandbox.test_client().get(target)
    assert answer.status_code == code
    if not target.startswith("/v3/"):
        assert exact(answer.data)["statusCode"] == code


@pytest.mark.rule("Paths are appended to one base address, which may have a path of its own.")
def test_every_operation_is_below_the_base_address() -> None:
    described = document(create_sandbox(base_url="https://pay.example.com/"))
    assert described["servers"] == [{"url": "https://pay.example.com"}]
    assert all(path.startswith(("/v1/", "/v2/")) for path in described["paths"])


@pytest.mark.rule("Identifiers are texts.")
def test_every_identifier_is_a_text() -> None:
    found = {where: kind for where, kind in FIELDS.items() if where[1] in {"id", "_id"} or where[1].endswith("Id")}
    # A chain's number, and the user's organization, which has an id of its own.
    others = {("CryptoRecord", "chainId"), ("UserRecord", "organizationId")}
    assert len(found) > 30
    assert {where for where, kind in found.items() if "string" not in str(kind)} == others


@pytest.mark.rule("Times are ISO 8601 in UTC.")
def test_every_time_in_a_record_is_a_date_time() -> None:
    times = {where: kind for where, kind in FIELDS.items() if where[1].endswith(("At", "Date", "_date"))}
    assert len(times) > 10
    assert [where for where, kind in times.items() if "date-time" not in str(kind)] == []


@pytest.mark.rule("An entry of a history is pending or completed, unless a test moved it elsewhere.")
def test_histories_say_pending_and_completed(sandbox: Flask, merchant: Merchant, tester: Tester) -> None:
    payer, checkout, payment = Payer(sandbox), merchant.makes_checkout(), makes(merchant)
    paid_out = payer.pays_one()
    payer.forces(paid_out)
    tester.pays(checkout)
    tester.advances(hours=1)
    for record in (merchant.reads_deposit(checkout).data, payer.sees(paid_out), details(merchant, payment).data):
        assert record["status"] == "completed"
        assert {entry["status"] for entry in record["activityHistory"]} == {"pending", "completed"}


@pytest.mark.parametrize("unknowns", [{"http_status": "always_200"}, {"access_scheme": "either"}])
def test_the_document_is_valid_also_under_unknowns_that_change_it(
    make_sandbox: MakeSandbox, tester: Tester, unknowns: dict[str, str]
) -> None:
    described, changed = (each.does("GET", "openapi.json") for each in (tester, Tester(make_sandbox(**unknowns))))
    validate(described)
    validate(changed)
    assert changed["paths"] != described["paths"]


@pytest.mark.rule("The reference lists are deprecated.")
@pytest.mark.rule("Everything about payments is deprecated.")
@pytest.mark.rule("The first version of creating fiat disbursements is deprecated; the second one takes its place.")
def test_what_the_interface_calls_deprecated_is_marked() -> None:
    marked = {name for name, operation in OPERATIONS.items() if operation["deprecated"]}
    whole = {name for name in OPERATIONS if "/v2/payment" in name or "/v1/reference/" in name}
    assert marked == whole | {"POST /v1/disbursement/fiat"}
    assert len(marked) == 10


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
    before = departures.checked
    merchant.makes_checkout()
    assert departures.checked == before + 1
