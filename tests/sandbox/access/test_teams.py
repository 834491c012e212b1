"""Two teams on one sandbox see nothing of each other and change nothing of each other: service, control, pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from werkzeug.routing import Rule

from flask_paycheckout.sandbox.access.visibility import BELONGS_TO_ALL
from flask_paycheckout.sandbox.access.visitors import FOR_TEAMS
from flask_paycheckout.sandbox.world.database import Table
from tests.postgres import empty_database
from tests.sandbox.access.sharing import TEAMS, Person, member, operator, shared_sandbox
from tests.sandbox.access.sides import Side, lives
from tests.sandbox.actors import ENDPOINT, Merchant, Tester
from tests.sandbox.databases import disconnect

#: A path of Flask with its variables.
VARIABLE = re.compile(r"<[^>]*>")
CHANGES = [
    {"url": ENDPOINT, "event": "webhook", "status": "failed", "advanceSeconds": 60, "name": "third"},
    {
        "operation": "POST /v1/checkout",
        "kind": "error",
        "account": "zebra",
        "event": "payout",
        "checkoutEnabled": False,
    },
]


# Made once for all of these tests, which therefore look for what they did themselves.


@pytest.fixture(scope="module", params=["memory", "postgresql"])
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    folder = tmp_path_factory.mktemp("teams")
    if request.param == "memory":
        yield shared_sandbox(folder)
        return
    with empty_database(request.getfixturevalue("postgres_server")) as address:
        app = shared_sandbox(folder, address)
        yield app
        disconnect(app)


@pytest.fixture(scope="module")
def sides(shared: Flask) -> dict[str, Side]:
    return {name: lives(shared, name) for name in TEAMS}


def rules(app: Flask, *prefixes: str) -> list[Rule]:
    return [rule for rule in app.url_map.iter_rules() if rule.endpoint.startswith(prefixes)]


def paths(rule: Rule, of: Side) -> set[str]:
    """The rule's path with the ids of one side in the place of its variables."""
    ids = {
        **{"checkout_id": [of.checkout], "disbursement_id": [of.disbursement], "payment_id": [of.payment]},
        **{"webhook_id": [of.webhook], "name": [of.name]},
        "number": [str(entry["id"]) for entry in of.tester.requests()],
    }
    every = [of.checkout, of.disbursement, of.payment, of.webhook, of.name, of.recipient]
    fitting = [one for variable in rule.arguments for one in ids.get(variable, every)]
    return {VARIABLE.sub(one, rule.rule) for one in fitting} or {rule.rule}


def test_no_page_and_no_call_shows_anything_of_another_team(shared: Flask, sides: dict[str, Side]) -> None:
    anna, zebra = sides["anna"], sides["zebra"]
    # A call of Zebra that speaks of Anna's checkout must not appear in the checkout's line of time.
    assert zebra.merchant.calls("GET", f"/v1/deposit/{anna.checkout}?by=zebra").code in {400, 404}
    assert person_sees(shared, "zebra", f"/inspector/checkouts/{anna.checkout}") == 404
    assert "by=zebra" in operator(shared).opens(f"/inspector/checkouts/{anna.checkout}").text
    own = member(shared, "anna").opens(f"/inspector/checkouts/{anna.checkout}").text
    assert ("by=zebra" in own, "reference-anna" in own) == (False, True)
    person, token = member(shared, "anna"), {"X-Sandbox-Control": TEAMS["anna"][1]}
    hidden = zebra.marks - anna.marks
    shown = 0
    asks = [zebra.checkout[:8], zebra.recipient, "reference-z", zebra.shown["email"][:6], "12.5", "zeb"]
    filters = ["", f"?account={zebra.name}", f"?order={zebra.checkout}", f"?to={zebra.shown['email']}"]
    filters += [f"?about={zebra.checkout}", *(f"?q={ask}" for ask in asks)]
    for rule in rules(shared, "inspector.", "control."):
        if "GET" not in (rule.methods or ()):
            continue
        for path in paths(rule, zebra):
            # The page of one thing has no filters.
            for filtered in filters[: 1 if rule.arguments else None]:
                answer = person.http.get(path + filtered, headers=token, environ_overrides=person.from_here)
                asked = {mark for mark in hidden if mark in path + filtered}
                # A nonce's random letters may be a team's name.
                seen = re.sub(r'nonce="[^"]*"', "", answer.text)
                assert not [mark for mark in hidden - asked if mark in seen], path + filtered
                # Nor does the page of what was asked for exist.
                assert not VARIABLE.search(rule.rule) or answer.status_code in {403, 404}, path
                shown += 1
    assert shown > 100


def person_sees(app: Flask, team: str, path: str) -> int:
    return member(app, team).opens(path).status_code


def test_each_team_sees_its_own_everywhere(shared: Flask, sides: dict[str, Side]) -> None:
    fault = {"operation": "GET /v1/recipient", "kind": "error"}
    for name, side in sides.items():
        side.tester.does("POST", "faults", fault | {"account": name, "message": f"fault-{name}"})
    for name, side in sides.items():
        person = member(shared, name)
        names = ("requests", "mails", "webhooks", "levers", "deposits", "recipients", "accounts", "events")
        pages = ("/", *(f"/inspector/{page}" for page in (*names, "search?q=12.5", f"search?q=reference-{name}")))
        seen = "".join(person.opens(page).text for page in pages)
        wanted = {side.checkout, side.disbursement, side.payment, side.shown["email"], f"http://127.0.0.1:9/{name}"}
        assert {mark for mark in wanted if mark not in seen} == set()
        assert set(re.findall(r"fault-\w+", seen)) == {f"fault-{name}"}
        for path in (f"checkouts/{side.checkout}", f"disbursements/{side.disbursement}", f"payments/{side.payment}"):
            assert f"reference-{name}" in seen or person.opens(f"/inspector/{path}").status_code == 200
        feed = {event["about"] for event in side.tester.does("GET", "events?last=200")["events"]}
        assert feed >= {None, side.checkout, side.disbursement, side.payment}
        assert not feed & {one.checkout for one in sides.values() if one is not side}
    everything = operator(shared).opens("/").text
    assert all(side.checkout in everything for side in sides.values())


def test_no_call_and_no_form_changes_anything_of_another_team(shared: Flask, sides: dict[str, Side]) -> None:
    anna, zebra = sides["anna"], sides["zebra"]
    person, whole = member(shared, "anna"), Tester(shared)
    before = state_of(zebra, whole)
    sent = 0
    for rule in rules(shared, "control."):
        for method in sorted((rule.methods or set()) & {"POST", "PUT", "DELETE"}):
            for path in paths(rule, zebra):
                for body in (None, *({"id": one} | CHANGES[0] for one in (zebra.checkout, zebra.webhook)), CHANGES[1]):
                    status = anna.tester.asks(method, path.removeprefix("/_sandbox/"), body).http_status
                    own = rule.rule in {"/_sandbox/trigger", "/_sandbox/faults"}
                    assert status in {400, 403, 404} or own, (method, path, body)
                    sent += 1
    for rule in rules(shared, "inspector."):
        if "POST" in (rule.methods or ()):
            for path in paths(rule, zebra):
                form = {"account": "zebra", "operation": "POST /v1/checkout", "kind": "error", "amount": "60"}
                assert person.presses(path, **form, unit="minutes").status_code in {303, 400, 403, 404}
                sent += 1
    assert sent > 60
    assert state_of(zebra, whole) == before
    assert whole.offset() == 0


def test_a_team_forgets_its_own_faults_only(shared: Flask, sides: dict[str, Side]) -> None:
    fault = {"operation": "GET /v1/recipient", "kind": "error"}
    for name in ("anna", "zebra"):
        sides[name].tester.does("POST", "faults", fault | {"account": name})
    assert sides["anna"].tester.does("DELETE", "faults") == []
    assert {fault["account"] for fault in Tester(shared).does("GET", "faults")} == {"zebra"}
    assert member(shared, "zebra").presses("/inspector/faults/forget").status_code == 303
    assert Tester(shared).does("GET", "faults") == []


def state_of(side: Side, whole: Tester) -> dict[str, Any]:
    asked = ["accounts", "webhooks", "disbursements", "faults", "events?last=200"]
    asked += [f"accounts/{side.name}", f"accounts/{side.name}/switches", f"accounts/{side.name}/webhook-endpoint"]
    found = {path: side.tester.does("GET", path) for path in asked}
    return found | {"clock": whole.offset(), "unknowns": [one["name"] for one in whole.does("GET", "accounts")]}


def test_a_team_controls_its_own_accounts_and_sees_why_its_calls_were_refused(
    shared: Flask, sides: dict[str, Side]
) -> None:
    anna = sides["anna"]
    wrong = Merchant(shared, "not the secret", anna.shown["clientId"])
    assert wrong.reads_deposit(anna.checkout).code == 401
    refused = anna.tester.requests()[0]
    assert (refused["status"], refused["account"], refused["clientId"]) == (401, None, anna.shown["clientId"])
    assert {entry["account"] for entry in sides["zebra"].tester.requests()} <= {"zebra", "zebra-staging"}
    # It has one account, so that it need not name it.
    assert anna.tester.does("POST", "trigger", {"event": "paid"})["account"] == "anna"
    # Another test may have left one, which would strike first.
    Tester(shared).does("DELETE", "faults")
    fault = anna.tester.does("POST", "faults", {"operation": "POST /v1/checkout", "kind": "error"})
    assert fault["account"] == "anna"
    assert anna.merchant.asks_checkout(inputCurrency="USD", inputAmount=5).code == 500
    assert sides["zebra"].merchant.asks_checkout(inputCurrency="USD", inputAmount=5).code == 200
    staging = sides["zebra"].tester.does("GET", "accounts/zebra-staging")
    merchant = Merchant(shared, staging["clientSecret"], staging["clientId"])
    assert merchant.asks_checkout(inputCurrency="USD", inputAmount=5).code == 200
    sides["zebra"].tester.does("POST", "accounts/zebra-staging/keys")
    assert merchant.asks_checkout(inputCurrency="USD", inputAmount=5).code == 401


def test_every_other_call_works_for_a_team_on_what_is_its_own(shared: Flask, sides: dict[str, Side]) -> None:
    anna = sides["anna"].tester
    off = {"paymentMethods": [{"code": "us_wire", "enabled": True}], "conversions": [], "checkoutEnabled": True}
    assert anna.does("POST", "accounts/anna/switches", off)["checkoutEnabled"] is True
    payout = anna.does("POST", "trigger", {"event": "payout"})["id"]
    assert anna.does("POST", f"disbursements/{payout}/finish", {"status": "completed"})["status"] == "completed"
    token = {"X-Sandbox-Control": TEAMS["anna"][1]}
    proof = shared.test_client().get(f"/_sandbox/disbursements/{payout}/proof", headers=token)
    assert proof.data.startswith(b"%PDF")
    paid = anna.does("POST", "trigger", {"event": "paid", "amount": 40})["id"]
    refund = anna.does("POST", "trigger", {"event": "refund", "id": paid})
    assert refund["status"] == "pending"
    resent = anna.does("POST", "trigger", {"event": "webhook", "id": paid})
    assert anna.does("POST", f"webhooks/{resent['id']}/redeliver")["orderId"] == paid
    underpaid = anna.does("POST", "trigger", {"event": "underpaid"})
    assert underpaid["account"] == "anna"
    failing = anna.does("POST", "trigger", {"event": "picked"})["id"]
    assert anna.does("POST", f"checkouts/{failing}/fail")["deposit"]["status"] == "failed"
    assert len(anna.does("GET", "requests.har")["log"]["entries"]) > 0
    assert anna.does("GET", f"mails?to={sides['anna'].shown['email']}")[0]["otp"]
    person = member(shared, "anna")
    webhook = resent["id"]
    assert person.presses(f"/inspector/webhooks/{webhook}").headers["Location"].endswith("done=resent")
    fault = {"operation": "POST /v1/checkout", "kind": "delay", "seconds": "0"}
    assert person.presses("/inspector/faults", **fault).headers["Location"].endswith("done=ordered")
    for path in ("search?q=anna", "events", "accounts", "recipients", "deposits", "requests.har"):
        assert person.opens(f"/inspector/{path}").status_code == 200, path


def test_a_team_with_two_accounts_names_the_one_that_it_means(shared: Flask, sides: dict[str, Side]) -> None:
    zebra = sides["zebra"].tester
    assert [account["name"] for account in zebra.does("GET", "accounts")] == ["zebra", "zebra-staging"]
    assert zebra.refuses("POST", "trigger", {"event": "checkout"}) == (404, "account")
    assert zebra.does("POST", "trigger", {"event": "checkout", "account": "zebra-staging"})["status"] == "not_picked"
    fault = {"operation": "POST /v1/checkout", "kind": "error"}
    assert zebra.refuses("POST", "faults", fault) == (403, "fault without an account")
    assert zebra.refuses("POST", "faults", fault | {"account": "anna"}) == (404, "account")


def test_what_concerns_all_teams_is_for_the_operator(shared: Flask, sides: dict[str, Side]) -> None:
    anna, whole = sides["anna"], Tester(shared)
    for method, path, body in (
        ("POST", "reset", None),
        ("POST", "clock", {"advanceSeconds": 60}),
        ("POST", "accounts", {"name": "third"}),
        ("DELETE", "accounts/anna", None),
        ("POST", "trigger", {"event": "paid-late"}),
        ("POST", f"checkouts/{anna.merchant.makes_checkout()}/leave", None),
    ):
        before = anna.tester.does("GET", "events?last=200")["events"]
        assert anna.tester.asks(method, path, body).http_status == 403
        assert anna.tester.does("GET", "events?last=200")["events"] == before
        assert whole.offset() == 0
    person = member(shared, "anna")
    assert person.presses("/inspector/reset").status_code == 403
    assert person.presses("/inspector/clock", amount="60", unit="minutes").status_code == 403
    page = person.opens("/inspector/levers").text
    assert "Advance the clock" not in page
    assert "Reset everything" not in page
    assert "Advance the clock" in operator(shared).opens("/inspector/levers").text


def test_the_payment_page_has_buttons_for_the_developers_of_its_account_only(
    shared: Flask, sides: dict[str, Side]
) -> None:
    checkout = sides["anna"].merchant.makes_checkout()
    sides["anna"].tester.picks(checkout)
    page = f"/checkout/{checkout}"
    buttons = {
        name: set(re.findall(r'name="act" value="(\w+)"', person.opens(page).text))
        for name, person in {
            "stranger": Person(shared),
            "zebra": member(shared, "zebra"),
            "anna": member(shared, "anna"),
            "operator": operator(shared),
        }.items()
    }
    assert buttons == {
        "stranger": set(),
        "zebra": set(),
        "anna": {"less", "more", "fail"},
        "operator": {"less", "more", "fail", "later", "close"},
    }
    anna, zebra = member(shared, "anna"), member(shared, "zebra")
    for person in (Person(shared), zebra):
        assert person.sends(f"{page}/developer", act="fail", token=anna.token(page)).status_code == 403
    assert anna.sends(f"{page}/developer", act="later", token=anna.token(page)).status_code == 403
    assert sides["anna"].merchant.reads_deposit(checkout).data["status"] == "pending"
    assert anna.sends(f"{page}/developer", act="fail", token=anna.token(page)).status_code == 303
    assert sides["anna"].merchant.reads_deposit(checkout).data["status"] == "failed"


def test_a_reset_leaves_the_teams_with_their_accounts(tmp_path: Path) -> None:
    shared = shared_sandbox(tmp_path)
    person, anna = member(shared, "anna"), Tester(shared, TEAMS["anna"][1])
    before, checkout = anna.does("GET", "accounts/anna"), anna.does("POST", "trigger", {"event": "checkout"})["id"]
    Tester(shared).does("POST", "reset")
    assert anna.does("GET", "accounts/anna") == before
    page = person.opens("/")
    assert (page.status_code, checkout in page.text) == (200, False)


@pytest.mark.parametrize("token", ["", "x", TEAMS["anna"][0], "canary-anna-program", "canary-anna-programs ", "ä" * 20])
def test_any_other_token_is_refused(tmp_path: Path, token: str) -> None:
    said = {"X-Sandbox-Control": token.encode().decode("latin-1")}
    http = shared_sandbox(tmp_path).test_client()
    assert http.get("/_sandbox/accounts", headers=said).status_code == 401


def test_every_table_belongs_to_accounts_or_knowingly_to_none(shared: Flask) -> None:
    """A new table must be hidden from other teams, or be named as one that shows nothing of them."""
    owned: set[str] = set()
    for table in Table.metadata.sorted_tables:
        parents = {key.column.table.name for key in table.foreign_keys}
        if {"user_id", "account_id"} & set(table.columns.keys()) or parents & owned:
            owned.add(table.name)
    names = {table.name for table in Table.metadata.sorted_tables}
    assert names - owned - {"logged_request"} == BELONGS_TO_ALL


def test_what_teams_may_call_exists(shared: Flask) -> None:
    assert {rule.endpoint for rule in shared.url_map.iter_rules()} >= FOR_TEAMS
