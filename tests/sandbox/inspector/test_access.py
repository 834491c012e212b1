"""Who may look and who may pull: pages open on this machine only, levers move for their own forms only."""

from __future__ import annotations

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.auth.start_state import ACCESS_TOKEN
from tests.sandbox.actors import CLIENT_SECRET, CONTROL_TOKEN, Merchant, Tester
from tests.sandbox.inspector.developer import Developer

PAGES = ("/", *(f"/inspector/{name}" for name in ("requests", "mails", "webhooks", "levers", "reset", "unknowns")))
LEVERS = ("clock", "webhooks/any", "faults", "faults/forget", "reset")


def test_every_page_and_lever_is_listed_here(sandbox: Flask) -> None:
    rules = [rule for rule in sandbox.url_map.iter_rules() if rule.endpoint.startswith("inspector.")]
    pages = {rule.rule for rule in rules if "GET" in (rule.methods or ()) and not rule.arguments}
    levers = {rule.rule.replace("<webhook_id>", "any") for rule in rules if "POST" in (rule.methods or ())}
    assert pages == set(PAGES)
    assert levers == {f"/inspector/{lever}" for lever in LEVERS}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_scripts_by_its_nonce_only_and_loads_nothing_from_elsewhere(
    developer: Developer, page: str
) -> None:
    headers = developer.http.get(page).headers
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'self';")
    assert "script-src 'nonce-" in policy
    assert "connect-src 'self'" in policy
    assert "unsafe" not in policy
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_holds_none_of_the_secrets(developer: Developer, page: str) -> None:
    seen = developer.opens(page)
    assert not [secret for secret in (CONTROL_TOKEN, CLIENT_SECRET, ACCESS_TOKEN, "sandbox-password") if secret in seen]


def test_passwords_and_tokens_are_masked_in_a_request(developer: Developer) -> None:
    login = {"email": "merchant@example.com", "password": "sandbox-password"}
    token = developer.http.post("/v1/auth/login", json=login).json
    assert token is not None
    seen = developer.reads("/inspector/requests/1")
    assert '"password":"***"' in seen.replace(": ", ":")
    assert token["data"]["verificationToken"] not in seen
    assert "sandbox-password" not in seen


@pytest.mark.parametrize("page", PAGES)
def test_other_machines_are_refused(sandbox: Flask, page: str) -> None:
    answer = sandbox.test_client().get(page, environ_overrides={"REMOTE_ADDR": "192.0.2.7"})
    assert answer.status_code == 403


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Real-IP", "Forwarded", "Via"])
def test_what_a_tunnel_or_proxy_on_this_machine_passes_on_is_refused(sandbox: Flask, header: str) -> None:
    """It comes from loopback, whoever sent it."""
    said = {header: "127.0.0.1", "X-Sandbox-Control": CONTROL_TOKEN}
    for path in (*PAGES, "/_sandbox/clock"):
        assert sandbox.test_client().get(path, headers=said).status_code == 403


@pytest.mark.parametrize("password", [None, "", "wrong", CONTROL_TOKEN])
def test_other_machines_that_are_allowed_give_the_control_token(password: str | None) -> None:
    allowed = create_sandbox(control_token=CONTROL_TOKEN, allow_remote_control=True)
    checkout, http = Merchant(allowed).makes_checkout(), allowed.test_client()
    may = password == CONTROL_TOKEN
    for path in PAGES:
        answer = http.get(
            path,
            auth=None if password is None else ("anybody", password),
            environ_overrides={"REMOTE_ADDR": "192.0.2.7"},
        )
        assert answer.status_code == (200 if may else 401)
        assert answer.headers.get("WWW-Authenticate") == (None if may else 'Basic realm="Payments sandbox"')
    shown = http.get(f"/checkout/{checkout}", environ_overrides={"REMOTE_ADDR": "192.0.2.7"})
    assert (shown.status_code, 'name="act"' in shown.text) == (200, False)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Sec-Fetch-Site": "cross-site"}, id="cross-site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, id="same-site"),
        pytest.param({"Origin": "https://evil.example"}, id="foreign-origin"),
        pytest.param({"Origin": "null"}, id="null-origin"),
        pytest.param({"Origin": "http://[::1"}, id="broken-origin"),
        pytest.param({"Origin": "http://localhost:1"}, id="other-port"),
    ],
)
def test_a_form_of_another_page_is_refused(
    merchant: Merchant, tester: Tester, developer: Developer, headers: dict[str, str]
) -> None:
    merchant.makes_checkout()
    for lever in LEVERS:
        assert developer.presses(lever, headers, amount="960", unit="seconds").status_code == 403
    assert tester.does("GET", "clock")["offsetSeconds"] == 0
    assert tester.requests() != []


@pytest.mark.parametrize("lever", LEVERS)
@pytest.mark.parametrize("token", ["", "wrong", CONTROL_TOKEN])
def test_a_form_without_the_pages_token_is_refused(sandbox: Flask, lever: str, token: str) -> None:
    assert sandbox.test_client().post(f"/inspector/{lever}", data={"token": token}).status_code == 403


def test_a_form_of_the_same_origin_is_taken(tester: Tester, developer: Developer) -> None:
    headers = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    assert developer.presses("clock", headers, amount="960", unit="seconds").status_code == 303
    assert tester.does("GET", "clock")["offsetSeconds"] == 960
