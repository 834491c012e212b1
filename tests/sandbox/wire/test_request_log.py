"""The request log under callers who want to break it, fill the memory with it, or have it show what it hides."""

from __future__ import annotations

import json
import re

import pytest
from flask import Flask

from flask_paycheckout.sandbox.auth.start_state import ACCESS_TOKEN
from flask_paycheckout.sandbox.wire import request_log
from tests.sandbox.actors import Merchant, Tester, call
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.inspector.developer import Developer
from tests.sandbox.recipients.payees import bank, creates

SECRET = "hunter2-hunter2"
HIDDEN = b'{"pass\\u0077ord": "' + SECRET.encode() + b'", "a": %s}'
#: The most characters that one entry may hold: five texts and some numbers.
MOST = 25_000


def nested(depth: int) -> bytes:
    return HIDDEN % (b"[" * depth + b"]" * depth)


@pytest.mark.parametrize("depth", [1, 300, 600, 800, 940, 1900, 300_000])
def test_a_body_of_any_depth_is_refused_and_shows_no_secret(merchant: Merchant, tester: Tester, depth: int) -> None:
    assert merchant.asks_checkout_raw(nested(depth)).code == 400
    for broken in (HIDDEN % (b'"' + b"x" * 5000 + b'"'), (HIDDEN % b"1")[:-1]):
        merchant.asks_checkout_raw(broken)
    assert SECRET not in json.dumps(tester.requests())


def test_a_number_that_no_decimal_can_hold_is_refused_and_the_call_is_logged(
    merchant: Merchant, tester: Tester
) -> None:
    body = HIDDEN % b"1e99999999999999999999999"
    assert merchant.asks_checkout_raw(body).code == 400
    assert tester.refuses("POST", "clock", body) == (400, "The")
    assert [(entry["status"], SECRET in entry["requestBody"]) for entry in tester.requests()] == [(400, False)]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32-be"])
def test_a_body_in_another_encoding_is_refused_and_hidden(merchant: Merchant, tester: Tester, encoding: str) -> None:
    body = f'{{"inputCurrency": "USD", "inputAmount": 5, "password": "{SECRET}"}}'
    assert merchant.asks_checkout_raw(body.encode(encoding)).code == 400
    assert [entry["requestBody"] for entry in tester.requests()] == ["(no JSON, and it may hold secrets)"]


def test_an_entry_is_bounded_whatever_is_sent(merchant: Merchant, tester: Tester, sandbox: Flask) -> None:
    long = "y" * 60_000
    merchant.client_id = long
    merchant.calls("POST", f"/v1/checkout?{long}", long.encode(), timestamp=long, signed_by=long)
    (entry,) = tester.requests()
    assert len(json.dumps(entry)) < MOST
    assert len(Developer(sandbox).opens(f"/inspector/requests/{entry['id']}")) < 2 * MOST


def test_a_field_that_the_operation_does_not_have_is_told_and_refused_on_demand(
    merchant: Merchant, tester: Tester, make_sandbox: MakeSandbox
) -> None:
    misspelled = {"inputCurrency": "USD", "inputAmount": 5, "webhookurl": "x"}
    assert merchant.asks_checkout(**misspelled).code == creates(merchant, bank=bank(iban="x")).code == 200
    merchant.calls("GET", "/v1/recipient?Limit=5")
    told = [entry["unknownFields"] for entry in tester.requests()]
    assert told == ["Limit", "bank.iban", "webhookurl"]
    strict = Merchant(make_sandbox(unknown_fields="refused"))
    assert strict.asks_checkout(**misspelled).code == strict.gets("/v1/recipient?Limit=5").status_code == 400
    assert strict.makes_checkout()


def test_a_parameter_is_told_and_refused_also_by_operations_without_a_query(make_sandbox: MakeSandbox) -> None:
    app = make_sandbox(unknown_fields="refused")
    merchant, tester = Merchant(app), Tester(app)
    described = tester.does("GET", "openapi.json")["paths"]
    reads = [re.sub(r"{\w+}", "x", path) for path, methods in described.items() if "get" in methods]
    for method, target in (("POST", "/v1/checkout?foo=1"), *(("GET", f"{path}?foo=1") for path in reads)):
        headers = merchant.signs(method, target) | {"Authorization": f"Bearer {ACCESS_TOKEN}"}
        assert call(app, method, target, headers=headers).code == 400, target
    assert merchant.calls("GET", "/v1/recipient/x?foo=1", signed_by="nobody").code == 401
    assert {entry["unknownFields"] for entry in tester.requests()} == {"foo"}


def test_nothing_is_stored_of_a_call_whose_entry_cannot_be(
    sandbox: Flask, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> str:
        raise OSError("disk full")

    with monkeypatch.context() as broken:
        broken.setattr(request_log, "masked", fails)
        assert merchant.asks_checkout().code == 500
    assert "customer pays" not in Developer(sandbox).reads()
    merchant.makes_checkout()
    assert "customer pays" in Developer(sandbox).reads()


@pytest.mark.on_each_database
def test_no_database_stumbles_over_a_nul(sandbox: Flask, merchant: Merchant, tester: Tester) -> None:
    """PostgreSQL cannot store or look for it, and no HTTP header may hold it."""
    http = sandbox.test_client()
    for header in ("X-Client-ID", "X-Timestamp", "X-Signature", "Authorization"):
        said = {"X-Client-ID": "sandbox-client", header: "a\0b"}
        assert http.post("/v1/checkout", json={}, headers=said).status_code == 400
    assert http.open("/v1/checkout", method="P\0ST").status_code == 405
    checkout = merchant.makes_checkout()
    assert http.post(f"/checkout/{checkout}/method", data={"method": "a\0b"}).status_code == 303
    assert tester.refuses("GET", "mails?to=%00") == (400, "to")
