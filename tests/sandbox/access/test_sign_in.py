"""People sign in to a shared sandbox: attempts are bounded, forms and cookies are safe, sessions end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox.access.attempts import OF_ADDRESS, OF_NAME, WINDOW
from flask_paycheckout.sandbox.access.sessions import LASTS, MAX_SESSIONS, SignedIn
from flask_paycheckout.sandbox.world.access import AccessError
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import db
from tests.sandbox.access.sharing import (
    OPERATORS_PASSWORD,
    TEAMS,
    Person,
    member,
    operator,
    shared_sandbox,
)
from tests.sandbox.actors import CONTROL_TOKEN, Tester
from tests.sandbox.inspector.test_access import pages_of

LOCAL = {"REMOTE_ADDR": "127.0.0.1"}
NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def shared(tmp_path: Path) -> Flask:
    app = shared_sandbox(tmp_path)
    world(app).clock.machine = lambda: NOW
    return app


def passes(app: Flask, seconds: float) -> None:
    """Let time pass by the machine's clock."""
    later = world(app).clock.machine() + timedelta(seconds=seconds)
    world(app).clock.machine = lambda: later


def test_every_page_asks_to_sign_in_wherever_the_caller_is(shared: Flask) -> None:
    for address in ("127.0.0.1", "192.0.2.7"):
        person = Person(shared, address)
        for page in pages_of(shared):
            asked = person.opens(page)
            assert (asked.status_code, asked.headers["Location"].partition("?")[0]) == (303, "/inspector/sign-in")
        assert person.sends("/inspector/reset").headers["Location"] == "/inspector/sign-in"
    # The control token is for programs: a browser that sends it as a password gets no further.
    basic = shared.test_client().get("/", auth=("anybody", CONTROL_TOKEN), environ_overrides=LOCAL)
    assert basic.status_code == 303


def test_whoever_signed_in_sees_the_pages_until_signing_out(shared: Flask) -> None:
    person = operator(shared)
    assert {person.opens(page).status_code for page in pages_of(shared)} == {200}
    stolen = person.http.get_cookie("payments_sandbox")
    assert stolen is not None
    assert person.presses("/inspector/sign-out").headers["Location"] == "/inspector/sign-in"
    assert person.http.get_cookie("payments_sandbox") is None
    other = Person(shared)
    other.http.set_cookie("payments_sandbox", stolen.value)
    assert other.opens("/").status_code == 303


def test_signing_in_leads_back_to_the_page_and_nowhere_else(shared: Flask) -> None:
    asked = Person(shared).opens("/inspector/requests?account=anna").headers["Location"]
    assert asked == "/inspector/sign-in?next=/inspector/requests?account%3Danna"
    for wanted, reached in {
        "/inspector/requests?account=anna": "/inspector/requests?account=anna",
        "//evil.example/": "/",
        "/\\evil.example": "/",
        "https://evil.example/": "/",
        "/inspector/sign-in\r\nSet-Cookie: a=b": "/",
        "javascript:alert(1)": "/",
        "/_sandbox/reset": "/",
    }.items():
        assert Person(shared).signs_in(OPERATORS_PASSWORD, next=wanted).headers["Location"] == reached


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("operator", TEAMS["anna"][0]),
        ("operator", CONTROL_TOKEN),
        ("operator", ""),
        ("anna", TEAMS["zebra"][0]),
        ("anna", OPERATORS_PASSWORD),
        ("anna", TEAMS["anna"][1]),
        ("nobody", ""),
        ("nobody", OPERATORS_PASSWORD),
        ("\0", "\ud800"),
    ],
    ids=str,
)
def test_any_other_name_or_password_gets_the_same_refusal(shared: Flask, name: str, password: str) -> None:
    person = Person(shared)
    refused = person.signs_in(password.encode("utf-8", "surrogatepass").decode("utf-8", "replace"), name)
    assert refused.status_code == 401
    assert "The name or the password is wrong." in refused.text
    assert "Set-Cookie" not in refused.headers
    assert person.opens("/").status_code == 303


def test_attempts_of_an_address_are_bounded_and_a_success_does_not_clear_them(shared: Flask) -> None:
    person = Person(shared)
    for _ in range(OF_ADDRESS - 1):
        assert person.signs_in("guess", "zebra").status_code == 401
        # The guesser's own team, between the guesses at another.
        assert Person(shared).signs_in(TEAMS["anna"][0], "anna").status_code == 303
    assert person.signs_in("guess", "zebra").status_code == 401
    refused = person.signs_in(TEAMS["zebra"][0], "zebra")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, str(WINDOW))
    assert "Try again in 15 minutes." in refused.text
    # Another machine is not refused for it, nor is this one after a while.
    assert Person(shared, "192.0.2.8").signs_in(TEAMS["zebra"][0], "zebra").status_code == 303
    passes(shared, WINDOW)
    assert person.signs_in(TEAMS["zebra"][0], "zebra").status_code == 303


def test_many_addresses_are_bounded_too_and_a_network_of_ipv6_counts_as_one(shared: Flask) -> None:
    guesses = [Person(shared, f"2001:db8::{number}").signs_in("guess").status_code for number in range(OF_ADDRESS + 1)]
    assert guesses == [401] * OF_ADDRESS + [429]
    codes = [
        Person(shared, f"198.51.100.{number}").signs_in("guess", "nobody" if number % 2 else "somebody").status_code
        for number in range(OF_NAME + 1)
    ]
    assert codes == [401] * OF_NAME + [429]
    # Names that nobody has lock out no other.
    assert Person(shared, "203.0.113.9").signs_in(TEAMS["anna"][0], "anna").status_code == 303


def test_advancing_the_sandboxs_clock_gives_no_further_attempts_and_ends_no_session(shared: Flask) -> None:
    person, guesser = operator(shared), Person(shared, "192.0.2.9")
    for _ in range(OF_ADDRESS):
        guesser.signs_in("guess", "anna")
    Tester(shared).advances(hours=1000)
    assert guesser.signs_in("guess", "anna").status_code == 429
    assert person.opens("/").status_code == 200


def test_a_session_ends_by_time_and_survives_a_reset(shared: Flask) -> None:
    person = operator(shared)
    assert person.presses("/inspector/reset").headers["Location"] == "/?done=reset"
    passes(shared, LASTS.total_seconds() - 1)
    assert person.opens("/").status_code == 200
    passes(shared, 1)
    assert person.opens("/").status_code == 303


def test_no_snapshot_holds_sessions_and_none_ends_them_or_gives_further_attempts(shared: Flask) -> None:
    guesser, whole = Person(shared, "192.0.2.9"), {"X-Sandbox-Control": CONTROL_TOKEN}
    http = shared.test_client()
    before = http.get("/_sandbox/snapshot", headers=whole).data
    person = operator(shared)
    for _ in range(OF_ADDRESS):
        guesser.signs_in("guess")
    assert b"signed_in" not in before
    restored = shared.test_client().post(
        "/_sandbox/restore", data=before, headers=whole, content_type="application/json"
    )
    assert restored.status_code == 200
    assert person.opens("/").status_code == 200
    assert guesser.signs_in(OPERATORS_PASSWORD).status_code == 429


def test_another_password_ends_the_sessions_of_the_old_one(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/s.db"
    before = shared_sandbox(tmp_path, database)
    person, other = operator(before), member(before, "anna")
    after = shared_sandbox(tmp_path, database, password="another password")
    for client, status in ((person.http, 303), (other.http, 200)):
        client.application = after
        assert client.get("/").status_code == status
    without = shared_sandbox(tmp_path, database, teams=None)
    other.http.application = without
    assert other.http.get("/").status_code == 303
    for app in (before, after, without):
        with app.app_context():
            db.engine.dispose()


def test_sessions_are_bounded_and_the_oldest_ends_first(shared: Flask) -> None:
    first = operator(shared)
    for _ in range(MAX_SESSIONS):
        passes(shared, 1)
        last = operator(shared)
    assert (first.opens("/").status_code, last.opens("/").status_code) == (303, 200)
    with shared.app_context():
        assert db.session.query(SignedIn).count() == MAX_SESSIONS


def test_the_cookie_is_kept_from_scripts_other_sites_and_plain_http(tmp_path: Path, shared: Flask) -> None:
    plain = Person(shared).signs_in(OPERATORS_PASSWORD).headers["Set-Cookie"]
    assert plain.startswith("payments_sandbox=")
    assert plain.endswith("; HttpOnly; Path=/; SameSite=Lax")
    secure = shared_sandbox(tmp_path, base_url="https://sandbox.example")
    cookie = Person(secure).signs_in(OPERATORS_PASSWORD).headers["Set-Cookie"]
    assert cookie.startswith("__Host-payments_sandbox=")
    assert cookie.endswith("; Secure; HttpOnly; Path=/; SameSite=Lax")


@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://evil.example"}]
)
def test_no_other_page_signs_anybody_in_or_out(shared: Flask, headers: dict[str, str]) -> None:
    person = operator(shared)
    form = {"name": "anna", "password": TEAMS["anna"][0], "token": Person(shared).token("/inspector/sign-in")}
    assert person.sends("/inspector/sign-in", headers, **form).status_code == 403
    token = person.token("/inspector/levers")
    assert person.sends("/inspector/sign-out", headers, token=token).status_code == 403
    assert "operator" in person.opens("/").text


def test_a_forms_token_is_that_of_one_session(shared: Flask) -> None:
    """A member of a team cannot make a form for the operator's browser."""
    person, other = operator(shared), member(shared, "anna")
    tokens = {one.token("/inspector/levers") for one in (person, other, operator(shared))}
    assert len(tokens) == 3
    refused = person.sends("/inspector/clock", token=other.token("/inspector/levers"), amount="60", unit="seconds")
    assert refused.status_code == 403
    assert Tester(shared).offset() == 0
    assert person.sends("/inspector/sign-in", name="operator", password=OPERATORS_PASSWORD).status_code == 403


def test_a_sandbox_that_is_not_shared_has_no_such_page(sandbox: Flask) -> None:
    assert Person(sandbox, "127.0.0.1").opens("/inspector/sign-in").status_code == 404
    assert "Sign out" not in Person(sandbox, "127.0.0.1").opens("/").text


def test_whoever_watches_the_sandbox_needs_no_password(shared: Flask) -> None:
    answer = Person(shared).opens("/health")
    assert (answer.status_code, answer.text) == (200, "ok\n")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"password": "short"}, "The password must have 8 to 200"),
        ({"control_token": None}, "needs a control token too"),
        ({"control_token": "too-short"}, "The control token must have 16 to 200"),
        ({"password": None}, "need a sandbox with a password"),
        ({"trusted_proxies": -1}, "The number of trusted proxies must be from 0 to 5"),
    ],
    ids=str,
)
def test_a_sandbox_is_not_shared_with_half_of_what_it_needs(tmp_path: Path, options: dict[str, Any], told: str) -> None:
    with pytest.raises(AccessError, match=told):
        shared_sandbox(tmp_path, **options)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("[anna", "is no TOML"),
        ("[operator]\npassword = 'canary-x1'", "must be a section with .* and not named operator"),
        ("anna = 'canary-x1'", "must be a section"),
        ("[anna]\npasswort = 'canary-x1'", "must be a section"),
        ("[anna]\n", "neither password nor control_token"),
        ("[anna]\npassword = 'canary'", "'anna': password must have 8"),
        ("[anna]\npassword = 12345678", "'anna': password must have 8"),
        ("[anna]\ncontrol_token = 'canary-x1'", "'anna': control_token must have 16"),
        ("[anna]\ncontrol_token = 'canary-x1-äöüäöüäöü'", "must be ASCII"),
        (f"[anna]\ncontrol_token = '{CONTROL_TOKEN}'", "the same control token, or a team has the operator's"),
        ("[anna]\npassword = 'canary-x1'\naccounts = 'anna'", "accounts must be a list"),
        ("[anna]\npassword = 'canary-x1'\n[b]\npassword = 'canary-x1'\naccounts = ['anna']", "belongs to two teams"),
    ],
    ids=str,
)
def test_a_wrong_file_of_teams_is_refused_without_its_secrets(tmp_path: Path, written: str, told: str) -> None:
    file = tmp_path / "other.toml"
    file.write_text(written)
    with pytest.raises(AccessError, match=told) as refused:
        shared_sandbox(tmp_path, teams=file)
    assert "canary" not in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AccessError, match=r"nowhere\.toml' cannot be read: No such file"):
        shared_sandbox(tmp_path, teams=tmp_path / "nowhere.toml")
