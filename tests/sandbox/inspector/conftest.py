"""The developer, and a client that pays out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox.auth.start_state import ACCESS_TOKEN
from tests.sandbox.actors import exact
from tests.sandbox.inspector.developer import Developer

Disburse = Callable[..., Any]


@pytest.fixture
def developer(sandbox: Flask) -> Developer:
    return Developer(sandbox)


@pytest.fixture
def calls_with_token(sandbox: Flask) -> Disburse:
    """Calls an operation with the access token; gives the answer's body."""

    def call(method: str, path: str, body: Any) -> Any:
        headers = {"Authorization": f"Bearer {ACCESS_TOKEN}"}
        answer = sandbox.test_client().open(path, method=method, json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return exact(answer.data)

    return call


@pytest.fixture
def pays_out(calls_with_token: Disburse) -> Callable[..., list[str]]:
    """Sends a batch to a recipient given with the request; gives the ids."""

    def pay_out(*items: dict[str, Any], name: str = "Ada") -> list[str]:
        bank = {"bankName": "B", "accountName": name, "accountNumber": "12345678", "bankCode": "us_first_sandbox"}
        recipient = {"name": name, "email": "ada@example.com", "bank": bank}
        sent = [{"recipient": recipient} | item for item in items]
        body = calls_with_token("POST", "/v2/disbursement/fiat", {"currency": "USD", "disburseData": sent})
        return [item["disbursementId"] for item in body["data"]["disburseData"]]

    return pay_out
