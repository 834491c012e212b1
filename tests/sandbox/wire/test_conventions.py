"""Conventions of all operations: envelopes, identifiers, histories and the base URL."""

from __future__ import annotations

import re

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.wire.openapi import document
from tests.sandbox.actors import Merchant, Tester, exact
from tests.sandbox.disbursements.payers import Payer
from tests.sandbox.payments.customers import details, makes

DOCUMENT = document(create_sandbox())
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
}
#: Takes nothing that could be wrong.
NEVER_REFUSED = {"GET /v1/reference/currencies"}


@pytest.mark.rule("An error says statusCode, error and message and nothing else.")
@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - NEVER_REFUSED))
def test_every_refusal_has_the_error_envelope(sandbox: Flask, name: str) -> None:
    method, _, path = name.partition(" ")
    target = f"{re.sub('{.*?}', 'x', path)}?limit=0&useSmartContract=x&isForDeposit=x"
    refused = sandbox.test_client().open(target, method=method, data=b"[]")
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
    found = {
        (name, field): kind
        for name, schema in DOCUMENT["components"]["schemas"].items()
        for field, kind in schema.get("properties", {}).items()
        if field in {"id", "_id"} or field.endswith("Id")
    }
    # A chain's number, and the user's organization, which has an id of its own.
    others = {("CryptoRecord", "chainId"), ("UserRecord", "organizationId")}
    assert len(found) > 30
    for where, kind in found.items():
        assert ("string" in str(kind)) is (where not in others), where


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
