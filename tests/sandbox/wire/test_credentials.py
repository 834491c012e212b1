"""The credentials of each operation; `tests/interface` compares their declarations with the interface."""

from __future__ import annotations

import re

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.wire.operations import Credentials, operation_of
from tests.sandbox.actors import Merchant
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import ACCESS_TOKEN

OPEN, SIGNED, TOKEN = Credentials.NONE, Credentials.SIGNATURE, Credentials.ACCESS_TOKEN


def served(app: Flask) -> dict[str, Credentials]:
    """Every operation of the service with its declared credentials."""
    credentials = {}
    for rule in app.url_map.iter_rules():
        if rule.rule.startswith(("/v1/", "/v2/")):
            declared = operation_of(app, rule.endpoint)
            assert declared is not None, f"{rule.rule} declares nothing"
            for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
                credentials[f"{method} {re.sub('<[^>]*>', 'nothing', rule.rule)}"] = declared.credentials
    # A quote with `withLimit` takes the client id alone; the tests of quotes cover this exception.
    return credentials | {"GET /v2/payment/quote": SIGNED}


OPERATIONS = served(create_sandbox())
GUARDED = {operation for operation, scheme in OPERATIONS.items() if scheme is not OPEN}


def status_of(app: Flask, operation: str, scheme: Credentials = OPEN) -> int:
    """The HTTP status of a call with an empty object as its body."""
    method, target = operation.split()
    body = b"" if method == "GET" else b"{}"
    headers = {
        OPEN: {},
        TOKEN: {"Authorization": f"Bearer {ACCESS_TOKEN}"},
        SIGNED: Merchant(app).signs(method, target, body),
    }
    return app.test_client().open(target, method=method, data=body, headers=headers[scheme]).status_code


@pytest.mark.parametrize("scheme", [OPEN, TOKEN, SIGNED])
def test_each_operation_takes_its_own_scheme_and_not_the_other(sandbox: Flask, scheme: Credentials) -> None:
    taking = {operation for operation in OPERATIONS if status_of(sandbox, operation, scheme) != 401}
    assert taking == {operation for operation, own in OPERATIONS.items() if own in {OPEN, scheme}}


def test_unknown_access_scheme_either(make_sandbox: MakeSandbox) -> None:
    app = make_sandbox(access_scheme="either")
    for operation in GUARDED:
        assert status_of(app, operation) == 401
        assert status_of(app, operation, SIGNED) != 401
        assert status_of(app, operation, TOKEN) != 401
