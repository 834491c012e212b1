"""The sandbox on a developer's machine: pages of other origins, rebound names and strangers read and change nothing."""

from __future__ import annotations

import re
import socket
from contextlib import closing
from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.outgoing.webhook_sender import may_be_called, post_webhook
from flask_paycheckout.sandbox.world.reach import HERE, Reach
from tests.client.wire import RawServer, http, says
from tests.sandbox.actors import CONTROL_TOKEN, Merchant, Tester
from tests.sandbox.inspector.developer import Developer

HOME = "127.0.0.1:8790"
# Requests of a page of another origin: a plain form, a script's simple request, and a preflight.
CROSS = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Referer": "https://evil.example/"}
STRANGERS = {
    "form": CROSS | {"Content-Type": "application/x-www-form-urlencoded"},
    "json": CROSS | {"Content-Type": "application/json"},
    "sandboxed-frame": {"Origin": "null", "Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"},
    "other-port": {"Origin": "http://127.0.0.1:5000", "Sec-Fetch-Site": "same-site"},
    "no-word-of-where-from": {"Content-Type": "text/plain"},
    "wrong-token": {"X-Sandbox-Control": "a" * 64},
    "control-token-in-other-headers": {"Authorization": f"Bearer {CONTROL_TOKEN}", "Cookie": f"token={CONTROL_TOKEN}"},
}
FOREIGN_HOSTS = (
    "evil.example",
    "localhost.evil.example:8790",
    "0.0.0.0:8790",
    # Each contains an allowed name for some parser.
    "evil.example@127.0.0.1",
    "127.0.0.1/evil",
    "a b.localhost",
    ".localhost",
    f"{'a' * 64}.localhost",
    "",
)
BODY = b'{"advanceSeconds": 900, "url": "http://127.0.0.1:9/", "operation": "POST /v1/checkout", "kind": "drop"}'
FORM = b"advanceSeconds=900&operation=POST+/v1/checkout&kind=drop"


@pytest.fixture
def sandbox() -> Flask:
    sandbox = create_sandbox(control_token=CONTROL_TOKEN)
    Merchant(sandbox).makes_checkout()
    return sandbox


def doors(app: Flask, *owners: str) -> list[tuple[str, str]]:
    """Every method and path of these parts of the sandbox."""
    return sorted(
        (verb, path.replace("<", "").replace(">", "").replace("int(max=2147483647):number", "1"))
        for rule in app.url_map.iter_rules()
        if rule.endpoint.partition(".")[0] in owners
        for path in _each(rule.rule)
        for verb in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    )


def _each(rule: str) -> list[str]:
    """The paths of a rule, one for each allowed word of a variable."""
    words = re.search(r"<any\((.*?)\):\w+>", rule)
    return [rule.replace(words[0], word) for word in words[1].split(", ")] if words else [rule]


def world_of(app: Flask) -> tuple[Any, ...]:
    """Everything that a control call can change."""
    tester = Tester(app)
    paths = ("accounts/default", "webhooks", "faults", "accounts/default/switches", "requests")
    return tester.does("GET", "clock")["offsetSeconds"], *(tester.does("GET", path) for path in paths)


def knock(app: Flask, verb: str, path: str, headers: dict[str, str], host: str = HOME, body: bytes = BODY) -> Any:
    return app.test_client().open(path, method=verb, data=body, headers={"Host": host} | headers)


@pytest.mark.parametrize("headers", STRANGERS.values(), ids=STRANGERS)
def test_without_the_token_no_control_call_answers_or_moves_anything(sandbox: Flask, headers: dict[str, str]) -> None:
    before = world_of(sandbox)
    answers = {door: knock(sandbox, *door, headers) for door in doors(sandbox, "control")}
    assert {answer.status_code for answer in answers.values()} == {401}
    assert {answer.json["error"]["field"] for answer in answers.values()} == {"X-Sandbox-Control"}
    assert world_of(sandbox) == before
    assert len(answers) >= 15


@pytest.mark.parametrize("headers", STRANGERS.values(), ids=STRANGERS)
def test_no_lever_of_the_inspector_moves_for_another_page(sandbox: Flask, headers: dict[str, str]) -> None:
    before = world_of(sandbox)
    levers = [door for door in doors(sandbox, "inspector") if door[0] == "POST"]
    for door in levers:
        assert knock(sandbox, *door, headers, body=FORM).status_code in {401, 403}
    assert world_of(sandbox) == before
    assert len(levers) >= 5


@pytest.mark.parametrize(
    "origin", [CROSS, {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://127.0.0.1:5000"}], ids=str
)
def test_the_cookie_of_the_browser_is_no_leave_for_another_page(sandbox: Flask, origin: dict[str, str]) -> None:
    before = world_of(sandbox)
    assert Developer(sandbox).presses("clock", origin, advanceSeconds="900").status_code == 403
    assert world_of(sandbox) == before


def test_no_preflight_is_answered_with_leave(sandbox: Flask) -> None:
    asks = CROSS | {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-sandbox-control"}
    paths = {path for _, path in doors(sandbox, "control", "inspector", "hosted_page", "checkouts", "deposits")}
    for path in paths:
        answer = knock(sandbox, "OPTIONS", path, asks | {"Access-Control-Request-Private-Network": "true"})
        assert [name for name in answer.headers.keys() if name.lower().startswith("access-control")] == []  # noqa: SIM118


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_rebound_name_gets_nothing_even_with_the_token(sandbox: Flask, host: str) -> None:
    """For the browser such a page has the sandbox's own origin; only the host name differs."""
    before = world_of(sandbox)
    own = {"Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin", "X-Sandbox-Control": CONTROL_TOKEN}
    for door in doors(sandbox, "control", "inspector", "hosted_page", "checkouts", "deposits", "auth"):
        answer = knock(sandbox, *door, own, host)
        assert answer.status_code == 400
        refused = answer.json.get("message") or answer.json["error"]["field"]
        assert refused.startswith("Host")
        assert CONTROL_TOKEN not in answer.text
    # Everything except the log, which shows refused requests to the developer.
    assert world_of(sandbox)[:-1] == before[:-1]


def test_headers_of_proxies_are_not_believed(sandbox: Flask) -> None:
    headers = ("X-Forwarded-Host", "X-Forwarded-For", "Forwarded", "X-Real-Ip", "X-Host")
    claims = dict.fromkeys(headers, "127.0.0.1") | {"X-Sandbox-Control": CONTROL_TOKEN}
    assert knock(sandbox, "GET", "/_sandbox/clock", claims, "evil.example").status_code == 400


# Pages


def test_every_page_says_that_it_is_a_sandbox(sandbox: Flask) -> None:
    doors_of_pages = doors(sandbox, "inspector", "hosted_page")
    developer = Developer(sandbox)
    pages = [path for verb, path in doors_of_pages if verb == "GET"]
    assert len(pages) >= 10
    for path in pages:
        answer = developer.http.get(path, headers={"Host": HOME})
        assert "<strong>Sandbox.</strong> Nothing here moves real money." in answer.text, path
        assert CONTROL_TOKEN not in answer.text


# Webhooks

ELSEWHERE = [
    "http://localhost.evil.example/",
    "http://127.0.0.1.evil.example/",
    "http://evil.example#@127.0.0.1/",
    "http://evil.example\\@127.0.0.1/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://0.0.0.0/",
    "http://0x0a000007/",
    "http://[64:ff9b::a00:7]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://metadata.internal/",
    "http://localhost\u3002evil.example/",
    "http://[fe80::1%25lo]/",
]


@pytest.mark.parametrize("url", ELSEWHERE)
def test_webhooks_do_not_leave_this_machine(url: str) -> None:
    assert not may_be_called(url, HERE)


SHARED = Reach(own_machine=False, others=True)


@pytest.fixture
def moving_name(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """`shop.localhost` is this machine at the first lookup, and then these other addresses."""
    real, answers = socket.getaddrinfo, ["127.0.0.1"]

    def look_up(host: Any, port: Any, *kinds: Any, **options: Any) -> Any:
        if host != "shop.localhost":
            return real(host, port, *kinds, **options)
        address = answers.pop(0) if len(answers) > 1 else answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return answers


def test_a_shared_sandbox_sends_no_webhook_to_the_machine_that_it_runs_on(moving_name: list[str]) -> None:
    own = ["http://localhost/", "http://127.8.0.1/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://0.0.0.0/"]
    for url in (*own, "http://169.254.169.254/latest/meta-data/"):
        assert not may_be_called(url, SHARED)
    with pytest.raises(ConnectionRefusedError, match="out of reach"):
        post_webhook("http://shop.localhost/", {}, b"", SHARED, budget=1)
    assert may_be_called("https://shop.example/hook", SHARED)


def test_a_name_that_moved_away_is_not_followed(moving_name: list[str]) -> None:
    moving_name[:] = ["192.0.2.1"]
    assert may_be_called("http://shop.localhost/", HERE)
    with pytest.raises(ConnectionRefusedError, match="out of reach"):
        post_webhook("http://shop.localhost/", {}, b"", HERE, budget=1)


def test_a_name_that_moves_between_the_look_and_the_call_is_called_where_it_was(moving_name: list[str]) -> None:
    moving_name[:] = ["127.0.0.1", "192.0.2.1"]
    with closing(RawServer(says(http(b"")))) as server:
        url = server.base_url.replace("127.0.0.1", "shop.localhost")
        assert post_webhook(url, {}, b"", HERE, budget=60) == 200
