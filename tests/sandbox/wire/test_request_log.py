"""The request log with hostile callers, who try to break it, to fill the memory, or to reveal secrets."""

from __future__ import annotations

import re

from flask_paycheckout.sandbox.auth.start_state import ACCESS_TOKEN
from tests.sandbox.actors import Merchant, Tester, call
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.recipients.payees import bank, creates


def test_a_field_that_the_operation_does_not_have_is_refused_or_told(make_sandbox: MakeSandbox) -> None:
    lax = make_sandbox()
    merchant, tester = Merchant(lax), Tester(lax)
    misspelled = {"inputCurrency": "USD", "inputAmount": 5, "webhookurl": "x"}
    assert merchant.asks_checkout(**misspelled).code == creates(merchant, bank=bank(iban="x")).code == 200
    merchant.calls("GET", "/v1/recipient?Limit=5")
    names = [entry["unknownFields"] for entry in tester.requests()]
    assert names == ["Limit", "bank.iban", "webhookurl"]
    strict = Merchant(make_sandbox(unknown_fields="refused"))
    assert strict.asks_checkout(**misspelled).code == strict.gets("/v1/recipient?Limit=5").status_code == 400
    assert strict.makes_checkout()


def test_a_parameter_is_told_and_refused_also_by_operations_without_a_query(
    make_sandbox: MakeSandbox,
) -> None:
    sandbox = make_sandbox(unknown_fields="refused")
    merchant, tester = Merchant(sandbox), Tester(sandbox)
    described = tester.does("GET", "openapi.json")["paths"]
    reads = [re.sub(r"{\w+}", "x", path) for path, methods in described.items() if "get" in methods]
    for method, target in (("POST", "/v1/checkout?foo=1"), *(("GET", f"{path}?foo=1") for path in reads)):
        headers = merchant.signs(method, target) | {"Authorization": f"Bearer {ACCESS_TOKEN}"}
        assert call(sandbox, method, target, headers=headers).code == 400, target
    assert merchant.calls("GET", "/v1/recipient/x?foo=1", signed_by="nobody").code == 401
    assert {entry["unknownFields"] for entry in tester.requests()} == {"foo"}
