"""A sandbox behind a proxy that speaks TLS: addresses, hosts and callers are those of the outside."""

from __future__ import annotations

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from tests.sandbox.actors import CONTROL_TOKEN, Merchant

BASE = "https://sandbox.example"
SAID = {"X-Sandbox-Control": CONTROL_TOKEN}
#: As the proxy sends it on: from its own machine.
WITHIN = {"REMOTE_ADDR": "127.0.0.1"}


def passed_on(address: str = "203.0.113.7", host: str = "sandbox.example") -> dict[str, str]:
    """The headers that one proxy adds."""
    return {"X-Forwarded-For": address, "X-Forwarded-Proto": "https", "X-Forwarded-Host": host}


def behind(*, remote: bool) -> Flask:
    return create_sandbox(control_token=CONTROL_TOKEN, base_url=BASE, trusted_proxies=1, allow_remote_control=remote)


def test_programs_call_through_the_proxy() -> None:
    shared = behind(remote=True)
    target = "/v1/recipient?limit=1"
    for path, headers in (("/_sandbox/clock", SAID), (target, Merchant(shared).signs("GET", target))):
        answer = shared.test_client().get(path, headers=passed_on() | headers, environ_overrides=WITHIN)
        assert answer.status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "sandbox.example, evil.example", ""])
def test_the_host_of_the_outside_is_checked(host: str) -> None:
    refused = behind(remote=True).test_client().get("/health", headers=passed_on(host=host) | {"Host": "evil.example"})
    assert refused.status_code == 400


def test_a_caller_behind_a_proxy_is_nobody_of_this_machine() -> None:
    http = behind(remote=False).test_client()
    for address in ("203.0.113.7", "127.0.0.1", "127.0.0.1, 127.0.0.1"):
        for path in ("/", "/_sandbox/clock"):
            answer = http.get(path, headers=passed_on(address) | SAID, environ_overrides=WITHIN)
            assert answer.status_code == 403
