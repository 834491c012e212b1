"""A shared sandbox behind proxies that speak TLS: addresses, cookies, hosts and callers are those of the outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.access.attempts import OF_ADDRESS
from tests.sandbox.access.sharing import OPERATORS_PASSWORD, Person, shared_sandbox
from tests.sandbox.actors import CONTROL_TOKEN, Merchant

BASE = "https://sandbox.example"
#: As the proxy sends it on: from its own machine, to the port behind it.
WITHIN = {"REMOTE_ADDR": "127.0.0.1"}


def passed_on(address: str = "203.0.113.7", host: str = "sandbox.example", scheme: str = "https") -> dict[str, str]:
    """The headers that one proxy adds."""
    return {"X-Forwarded-For": address, "X-Forwarded-Proto": scheme, "X-Forwarded-Host": host}


@pytest.fixture
def shared(tmp_path: Path) -> Flask:
    return shared_sandbox(tmp_path, base_url=BASE, trusted_proxies=1)


class Browser(Person):
    """Somebody behind the proxy."""

    def __init__(self, app: Flask, **headers: str) -> None:
        super().__init__(app, "127.0.0.1")
        self.added = passed_on(**headers)

    def opens(self, path: str = "/", **headers: str) -> TestResponse:
        return self.http.get(path, headers=self.added | headers, environ_overrides=WITHIN, base_url=BASE)

    def sends(self, path: str, headers: dict[str, str] | None = None, /, **form: str) -> TestResponse:
        given: dict[str, Any] = {"headers": self.added | (headers or {}), "environ_overrides": WITHIN}
        return self.http.post(path, data=form, base_url=BASE, **given)


def test_people_sign_in_through_the_proxy_and_links_lead_back_to_it(shared: Flask) -> None:
    person = Browser(shared)
    own = {"Origin": BASE, "Sec-Fetch-Site": "same-origin"}
    form = {"token": person.token("/inspector/sign-in"), "name": "operator", "password": OPERATORS_PASSWORD}
    signed_in = person.sends("/inspector/sign-in", own, **form)
    assert (signed_in.status_code, signed_in.headers["Location"]) == (303, "/")
    assert "; Secure; HttpOnly; Path=/" in signed_in.headers["Set-Cookie"]
    assert person.opens("/").status_code == 200
    made = Merchant(shared).asks_checkout(inputCurrency="USD", inputAmount=5)
    assert made.data["url"] == f"{BASE}/checkout/{made.data['id']}"
    # A form of the same name over plain HTTP is of another origin.
    token = person.token("/inspector/levers")
    plain = {"Origin": "http://sandbox.example", "Sec-Fetch-Site": "cross-site"}
    assert person.sends("/inspector/clock", plain, token=token, amount="60", unit="seconds").status_code == 403
    assert person.sends("/inspector/clock", own, token=token, amount="60", unit="seconds").status_code == 303


def test_programs_call_through_the_proxy(shared: Flask) -> None:
    said = passed_on() | {"X-Sandbox-Control": CONTROL_TOKEN}
    http = shared.test_client()
    assert http.get("/_sandbox/clock", headers=said, environ_overrides=WITHIN).status_code == 200
    target = "/v1/recipient?limit=1"
    signed = passed_on() | Merchant(shared).signs("GET", target)
    assert http.get(target, headers=signed, environ_overrides=WITHIN).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "sandbox.example.evil.example", "sandbox.example, evil.example", ""])
def test_the_host_of_the_outside_is_checked(shared: Flask, host: str) -> None:
    refused = shared.test_client().get("/health", headers=passed_on(host=host) | {"Host": "evil.example"})
    assert refused.status_code == 400


def test_attempts_are_counted_for_the_caller_and_not_for_the_proxy(shared: Flask) -> None:
    for _ in range(OF_ADDRESS):
        assert Browser(shared).signs_in("guess").status_code == 401
    assert Browser(shared).signs_in(OPERATORS_PASSWORD).status_code == 429
    # What the caller itself wrote into the header stands before what the proxy added, and is not believed.
    assert Browser(shared, address="198.51.100.1, 203.0.113.7").signs_in(OPERATORS_PASSWORD).status_code == 429
    assert Browser(shared, address="203.0.113.8").signs_in(OPERATORS_PASSWORD).status_code == 303


def test_without_trusted_proxies_their_headers_are_not_believed(tmp_path: Path) -> None:
    direct = shared_sandbox(tmp_path)
    for number in range(OF_ADDRESS + 1):
        person = Browser(direct, address=f"198.51.100.{number}", host="evil.example")
        answer = person.http.get("/inspector/sign-in", headers=person.added, environ_overrides=WITHIN)
        assert answer.status_code == 200
        token = Person(direct, "127.0.0.1").token("/inspector/sign-in")
        form = {"token": token, "name": "operator", "password": "guess"}
        last = person.http.post("/inspector/sign-in", data=form, headers=person.added, environ_overrides=WITHIN)
    assert last.status_code == 429


def test_a_caller_behind_a_proxy_is_nobody_of_this_machine() -> None:
    """Without a password, only this machine may look: not whoever the proxy passes on, whatever they claim."""
    app = create_sandbox(control_token=CONTROL_TOKEN, base_url=BASE, trusted_proxies=1)
    said = {"X-Sandbox-Control": CONTROL_TOKEN}
    for address in ("203.0.113.7", "127.0.0.1", "127.0.0.1, 127.0.0.1"):
        for path in ("/", "/_sandbox/clock"):
            answer = app.test_client().get(path, headers=passed_on(address) | said, environ_overrides=WITHIN)
            assert answer.status_code == 403
    assert app.test_client().get("/_sandbox/clock", headers=said, environ_overrides=WITHIN).status_code == 200
