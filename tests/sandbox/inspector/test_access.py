"""Access to the inspector: pages open on this machine only, changes are made for their own forms only.

Forms of other pages and of forged tokens are sent in `tests/hostile`.
"""

from __future__ import annotations

from itertools import product

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.auth.start_state import ACCESS_TOKEN
from flask_paycheckout.sandbox.inspector.pages import LISTS, OVERVIEW
from tests.sandbox.actors import CLIENT_SECRET, CONTROL_TOKEN, Merchant
from tests.sandbox.auth.visitors import PASSWORD
from tests.sandbox.inspector.developer import Developer

ELSEWHERE = {"REMOTE_ADDR": "192.0.2.7"}


def pages_of(app: Flask) -> list[str]:
    rules = [rule for rule in app.url_map.iter_rules() if rule.endpoint.startswith("inspector.")]
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


@pytest.mark.parametrize("password", [None, "", "wrong", CONTROL_TOKEN])
def test_other_machines_that_are_allowed_give_the_control_token(password: str | None) -> None:
    allowed = create_sandbox(control_token=CONTROL_TOKEN, allow_remote_control=True)
    checkout, http = Merchant(allowed).makes_checkout(), allowed.test_client()
    may = password == CONTROL_TOKEN
    for path in pages_of(allowed):
        answer = http.get(path, auth=None if password is None else ("anybody", password), environ_overrides=ELSEWHERE)
        assert answer.status_code == (200 if may else 401)
        assert answer.headers.get("WWW-Authenticate") == (None if may else 'Basic realm="Payments sandbox"')
    shown = http.get(f"/checkout/{checkout}", environ_overrides=ELSEWHERE)
    assert (shown.status_code, 'name="act"' in shown.text) == (200, False)


@pytest.mark.on_each_database
def test_no_page_stumbles_over_what_it_is_asked_for(developer: Developer) -> None:
    filters = {f"/inspector/{name}": ("account", "skip", *listed.filters) for name, listed in LISTS.items()}
    for page, fields in {"/": ("account", *OVERVIEW), **filters}.items():
        for field, said in product(fields, ("\0", "'; --", "9" * 60, "-1")):
            assert developer.http.get(page, query_string={field: said}).status_code < 500, (page, field)
