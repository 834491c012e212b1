"""Access to the inspector: by the link that the sandbox prints, or by its form.

`tests/hostile` tests requests from other pages.
"""

from __future__ import annotations

from flask import Flask

from flask_paycheckout.sandbox.auth.start_state import ACCESS_TOKEN
from flask_paycheckout.sandbox.inspector.pages import LISTS
from tests.sandbox.actors import CLIENT_SECRET, CONTROL_TOKEN
from tests.sandbox.auth.visitors import PASSWORD
from tests.sandbox.inspector.developer import Developer


def pages_of(app: Flask) -> list[str]:
    # A search redirects to one of the other pages.
    own = [rule for rule in app.url_map.iter_rules() if rule.endpoint.startswith("inspector.")]
    rules = [rule for rule in own if rule.endpoint != "inspector.search"]
    pages = [rule.rule for rule in rules if "GET" in (rule.methods or ()) and not rule.arguments]
    return [*pages, *(f"/inspector/{name}" for name in LISTS)]


def test_a_page_runs_scripts_by_its_nonce_only_and_holds_none_of_the_secrets(
    sandbox: Flask, developer: Developer
) -> None:
    # An archive is saved and never shown.
    for page in pages_of(sandbox):
        answer = developer.http.get(page)
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; style-src 'self';")
        assert "script-src 'nonce-" in policy
        assert "connect-src 'self'" in policy
        assert "unsafe" not in policy
        assert policy != developer.http.get(page).headers["Content-Security-Policy"], "a nonce is used once"
        assert answer.headers["Cache-Control"] == "no-store"
        assert not [it for it in (CONTROL_TOKEN, CLIENT_SECRET, ACCESS_TOKEN, PASSWORD) if it in answer.text]


def test_a_browser_without_the_cookie_is_asked_for_the_control_token(sandbox: Flask) -> None:
    http = sandbox.test_client()
    for path in (*pages_of(sandbox), "/?token=wrong"):
        answer = http.get(path, auth=("anybody", CONTROL_TOKEN), headers={"X-Sandbox-Control": CONTROL_TOKEN})
        assert (answer.status_code, 'name="token"' in answer.text) == (401, True)
    assert http.post("/inspector/enter", data={"token": "wrong"}).status_code == 401
    entered = http.post("/inspector/enter", data={"token": CONTROL_TOKEN})
    assert CONTROL_TOKEN not in entered.headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(entered.headers["Set-Cookie"].split("; "))
    assert {http.get(path).status_code for path in pages_of(sandbox)} == {200}
