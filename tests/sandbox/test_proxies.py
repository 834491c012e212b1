"""A sandbox behind a proxy that speaks TLS: it uses the addresses, hosts and callers of the outside."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from tests.sandbox.actors import CONTROL_TOKEN, Merchant, Tester, call
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.databases import disconnect, open_sandbox
from tests.sandbox.disbursements.payers import ACCESS_TOKEN

BASE = "https://sandbox.example"
SAID = {"X-Sandbox-Control": CONTROL_TOKEN}
#: A request from the proxy comes from the proxy's machine.
WITHIN = {"REMOTE_ADDR": "127.0.0.1"}


def passed_on(address: str = "203.0.113.7", host: str = "sandbox.example") -> dict[str, str]:
    """The headers that one proxy adds."""
    return {"X-Forwarded-For": address, "X-Forwarded-Proto": "https", "X-Forwarded-Host": host}


@pytest.fixture
def shared() -> Flask:
    return create_sandbox(control_token=CONTROL_TOKEN, base_url=BASE, trusted_proxies=1, allow_remote_control=True)


def test_programs_call_through_the_proxy_with_the_credentials_of_this_sandbox(shared: Flask) -> None:
    own = Tester(shared).does("GET", "accounts/default")
    target = "/v1/recipient?limit=1"
    signed = Merchant(shared, own["clientSecret"], own["clientId"]).signs("GET", target)
    for path, headers in (("/_sandbox/clock", SAID), (target, signed)):
        answer = shared.test_client().get(path, headers=passed_on() | headers, environ_overrides=WITHIN)
        assert answer.status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "sandbox.example, evil.example", ""])
def test_the_host_of_the_outside_is_checked(shared: Flask, host: str) -> None:
    refused = shared.test_client().get("/health", headers=passed_on(host=host) | {"Host": "evil.example"})
    assert refused.status_code == 400


def test_published_credentials_do_not_open_a_sandbox_for_others(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/sandbox.db"
    disconnect(open_sandbox(address))
    for database in ("sqlite://", address):
        app = create_sandbox(database=database, control_token=CONTROL_TOKEN, allow_remote_control=True)
        for _ in range(2):
            assert Merchant(app).reads_deposit("none").code == 401
            token = {"Authorization": f"Bearer {ACCESS_TOKEN}"}
            assert call(app, "GET", "/v1/disbursement/fiat/payment-method", headers=token).code == 401
            assert Visitor(app).logs_in().code == 401
            Tester(app).does("POST", "reset")
        disconnect(app)
