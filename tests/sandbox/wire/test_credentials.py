"""Which scheme guards which operation: the interface's Authentication section, held against what is declared."""

from __future__ import annotations

import re

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.auth.start_state import ACCESS_TOKEN
from flask_paycheckout.sandbox.wire.operations import Credentials, operation_of
from tests.sandbox.actors import Merchant, machine_seconds, signature
from tests.sandbox.conftest import MakeSandbox

OPEN, SIGNED, TOKEN = Credentials.NONE, Credentials.SIGNATURE, Credentials.ACCESS_TOKEN

SHOWN = {
    "POST /v1/auth/register": OPEN,
    "POST /v1/auth/login": OPEN,
    "POST /v1/auth/verify-login": OPEN,
    "GET /v1/disbursement/fiat": SIGNED,
    "GET /v1/disbursement/fiat/{}": SIGNED,
    "GET /v1/disbursement/fiat/{}/report": SIGNED,
    "GET /v1/disbursement/crypto/estimate": SIGNED,
    "POST /v1/disbursement/fiat": TOKEN,
    "POST /v2/disbursement/fiat": TOKEN,
    "POST /v1/disbursement/crypto": TOKEN,
    "GET /v1/disbursement/fiat/payment-method": TOKEN,
    "PATCH /v1/disbursement/{}": TOKEN,
    "POST /v1/checkout": SIGNED,
    "GET /v1/deposit/{}": SIGNED,
    "PATCH /v1/deposit/{}": SIGNED,
    "GET /v1/recipient": SIGNED,
    "GET /v1/recipient/{}": SIGNED,
    "POST /v1/recipient": SIGNED,
    "PATCH /v1/recipient/{}": SIGNED,
    "DELETE /v1/recipient/{}": SIGNED,
    "DELETE /v1/recipient": SIGNED,
    "GET /v2/payment/quote": SIGNED,
    "GET /v2/payments": SIGNED,
    "GET /v2/payment": SIGNED,
    "GET /v2/payment/detail/{}": SIGNED,
    "POST /v2/payment": SIGNED,
    "GET /v1/reference/currencies": OPEN,
    "GET /v1/reference/cryptos": OPEN,
    "GET /v1/reference/banks": OPEN,
    "GET /v1/reference/payment-methods": OPEN,
}


def served(app: Flask) -> dict[str, Credentials]:
    """Every operation of the service with the guard that it declares."""
    found = {}
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith(("/v1/", "/v2/")):
            declared = operation_of(app, rule.endpoint)
            assert declared is not None, f"{rule.rule} declares nothing"
            for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
                found[f"{method} {re.sub('<[^>]*>', '{}', rule.rule)}"] = declared.credentials
    return found


OPERATIONS = served(create_sandbox())
GUARDED = {operation for operation in OPERATIONS if SHOWN[operation] is not OPEN}


@pytest.mark.rule("The version begins the path: v2 of payments and of the newer fiat create, v1 of everything else.")
def test_each_operation_declares_the_scheme_that_the_interface_shows() -> None:
    # A quote without limits takes the client's id alone; that exception is tested where it is made.
    assert OPERATIONS | {"GET /v2/payment/quote": SIGNED} == SHOWN | {"GET /v2/payment/quote": SIGNED}


@pytest.mark.rule("The lists are read without credentials.")
@pytest.mark.rule("Registering and logging in carry no credentials.")
def test_only_open_operations_answer_without_credentials(sandbox: Flask) -> None:
    answering = {operation for operation in OPERATIONS if send(sandbox, operation) != 401}
    assert answering == {operation for operation in OPERATIONS if SHOWN[operation] is OPEN}


@pytest.mark.rule(
    "Creating disbursements, listing banks that can be paid and the sandbox's update take an access token."
)
@pytest.mark.rule(
    "Reads, proofs, estimates, checkouts, deposits, recipients and payments take the three signature headers."
)
@pytest.mark.parametrize("scheme", [SIGNED, TOKEN], ids=["signature", "token"])
def test_each_guarded_operation_takes_its_own_scheme_and_not_the_other(sandbox: Flask, scheme: Credentials) -> None:
    taking = {operation for operation in GUARDED if send(sandbox, operation, scheme) != 401}
    assert taking == {operation for operation in GUARDED if SHOWN[operation] is scheme}


@pytest.mark.rule("Which operation insists on which credentials is open; where either is taken, both work.")
def test_unknown_access_scheme_either(make_sandbox: MakeSandbox) -> None:
    app = make_sandbox(access_scheme="either")
    for operation in GUARDED:
        assert send(app, operation) == 401
        assert send(app, operation, SIGNED) != 401
        assert send(app, operation, TOKEN) != 401


def send(app: Flask, operation: str, credentials: Credentials = OPEN) -> int:
    """The HTTP status of a call with an empty object as its body."""
    method, _, path = operation.partition(" ")
    target, body, now = path.replace("{}", "nothing"), b"" if method == "GET" else b"{}", machine_seconds()
    headers = {
        OPEN: {},
        TOKEN: {"Authorization": f"Bearer {ACCESS_TOKEN}"},
        SIGNED: {
            "X-Client-ID": Merchant(app).client_id,
            "X-Timestamp": now,
            "X-Signature": signature(method, target, now, body),
        },
    }[credentials]
    return app.test_client().open(target, method=method, data=body, headers=headers).status_code
