"""Worlds below `/w/NAME`: each is a separate sandbox, and sees and changes nothing of another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from flask_paycheckout import Pay
from flask_paycheckout.client import PaymentsClient
from flask_paycheckout.client.transport import InProcess
from flask_paycheckout.sandbox import sandbox_clock
from flask_paycheckout.sandbox.control import worlds
from tests.sandbox.actors import CONTROL_TOKEN, ENDPOINT, Tester
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.databases import disconnect, open_sandbox
from tests.sandbox.disbursements.payers import Payer
from tests.sandbox.world.test_databases import database, on_each_kind

__all__ = ["database"]

NAMES = ("anna", "Bo.2", "c-i_3")
LISTS = ("accounts", "mails", "webhooks", "disbursements", "requests", "faults", "events?last=200")
PAGES = ("/", *(f"/inspector/{name}" for name in ("accounts", "requests", "mails", "webhooks", "control")))


@pytest.fixture
def operated(database: str) -> Iterator[Flask]:
    app = open_sandbox(database, clock="frozen@2026-05-01T00:00:00Z")
    yield app
    for name in app.extensions[worlds.WORLDS].names():
        app.extensions[worlds.WORLDS].remove(name)
    disconnect(app)


@dataclass
class Inside:
    """A world that tests use like an application."""

    app: Flask
    name: str
    made: dict[str, Any]

    def test_client(self) -> Inside:
        return self

    def open(self, target: str, **options: Any) -> TestResponse:
        return self.app.test_client().open(f"/w/{self.name}{target}", **options)

    @property
    def as_app(self) -> Flask:
        return cast("Flask", self)

    @property
    def tester(self) -> Tester:
        return Tester(self.as_app, self.made["controlToken"])

    @property
    def payer(self) -> Payer:
        return Payer.of(self.as_app, self.made)

    def page(self, path: str) -> str:
        http = self.app.test_client()
        http.get(f"/w/{self.name}/?token={self.made['controlToken']}")
        answer = http.get(f"/w/{self.name}{path}")
        assert answer.status_code == 200
        return answer.text

    def lives(self) -> set[str]:
        """Use every part of the service; returns texts that occur in this world only."""
        self.tester.does("PUT", "webhook-endpoint", {"url": f"{ENDPOINT}/{self.name}"})
        paid = self.payer.makes_checkout()
        self.tester.picks(paid, reference=f"reference of {self.name}")
        self.tester.pays(paid)
        Visitor(self.as_app).registers(f"{self.name}@example.com")
        self.tester.orders_fault("POST /v1/recipient", "error", message=f"fault of {self.name}")
        sent = self.payer.sends_one()
        own = {self.made[key] for key in ("controlToken", "clientId", "clientSecret", "accessToken")}
        return own | {paid, sent, self.tester.webhooks()[0]["id"], f"{self.name}@example.com", f"of {self.name}"}

    def shows(self) -> str:
        """All output that the world shows to its owner."""
        texts = [str(self.tester.does("GET", path)) for path in LISTS]
        return "\n".join([*texts, *map(self.page, PAGES)])


def makes(app: Flask, name: str) -> Inside:
    answer = Tester(app).asks("POST", "worlds", {"name": name})
    assert answer.http_status == 201
    assert answer.body["baseUrl"] == f"http://127.0.0.1:8790/w/{name}"
    return Inside(app, name, answer.body)


@on_each_kind
def test_worlds_at_once_see_nothing_of_each_other(operated: Flask) -> None:
    worlds_made = [makes(operated, name) for name in NAMES[:2]]
    with ThreadPoolExecutor(len(worlds_made)) as pool:
        marks = list(pool.map(Inside.lives, worlds_made))
    texts = "\n".join(str(Tester(operated).does("GET", path)) for path in LISTS)
    assert [mark for mark in set().union(*marks) if mark in texts] == []
    for own, world in zip(marks, worlds_made, strict=True):
        seen = world.shows()
        assert [mark for mark in set().union(*marks) - own if mark in seen] == []
        # All texts are seen, except four secrets.
        assert len([mark for mark in own if mark in seen]) >= len(own) - 4


@on_each_kind
def test_clock_switches_faults_and_reset_are_those_of_one_world(operated: Flask) -> None:
    anna, other, operator = makes(operated, "anna"), makes(operated, "bo"), Tester(operated)
    other.lives()
    kept = len(other.tester.requests())
    anna.tester.advances(hours=5)
    anna.tester.does("POST", "unknowns", {"checkout_status_code": "201"})
    anna.tester.does("POST", "accounts/default/switches", {"checkoutEnabled": False})
    assert (other.tester.offset(), operator.offset()) == (0, 0)
    assert other.payer.asks_checkout().code == 200
    for tester in (anna.tester, operator):
        tester.does("POST", "reset")
    # A reset keeps the world's credentials.
    assert anna.payer.asks_checkout().code == 200
    assert [len(each.tester.requests()) for each in (anna, other)] == [1, kept + 1]


def test_a_token_opens_its_own_world_only(operated: Flask) -> None:
    anna, other = makes(operated, "anna"), makes(operated, "bo")
    token = anna.made["controlToken"]
    for token_sent, where in ((token, other.as_app), (CONTROL_TOKEN, other.as_app), (token, operated)):
        assert Tester(where, token_sent).refuses("POST", "reset") == (401, "X-Sandbox-Control")
    assert anna.tester.refuses("POST", "worlds", {"name": "more"}) == (403, "worlds")
    stranger = Payer.of(other.as_app, anna.made)
    assert stranger.reads_deposit("none").code == stranger.sends_tokens({"amount": 5}).code == 401
    http = operated.test_client()
    assert http.get(f"/w/anna/?token={token}").location == "/w/anna/"
    opened = [http.get(path).status_code for path in ("/w/anna/inspector/mails", "/w/bo/inspector/mails", "/")]
    assert opened == [200, 401, 401]


def test_forms_and_links_stay_in_the_world(operated: Flask) -> None:
    anna = makes(operated, "anna")
    checkout = anna.payer.makes_checkout()
    page = anna.page(f"/checkout/{checkout}")
    links = re.findall(r'(?:href|action|src)="([^"#]+)"', page + anna.page("/"))
    assert {link.split("/")[2] for link in links if not link.startswith("data:")} == {"anna"}
    sent = anna.open(f"/checkout/{checkout}/method", method="POST", data={"method": "us_qr"})
    assert sent.headers["Location"] == f"/w/anna/checkout/{checkout}"
    assert anna.payer.reads_deposit(checkout).data["status"] == "pending"


def test_the_client_signs_for_a_world_by_its_address(operated: Flask) -> None:
    world = makes(operated, "anna").made
    transport = InProcess(operated, sandbox_clock(operated))
    keys = {"client_id": world["clientId"], "client_secret": world["clientSecret"]}
    with PaymentsClient(world["baseUrl"], **keys, transport=transport) as client:
        checkout = client.checkouts.create(Pay("12.50", "USD"))
    assert checkout.url == f"{world['baseUrl']}/checkout/{checkout.id}"
    transport.close()


@on_each_kind
def test_worlds_are_listed_thrown_away_and_made_anew(operated: Flask) -> None:
    operator, old = Tester(operated), makes(operated, "anna")
    assert operator.refuses("POST", "worlds", {"name": "anna"}) == (409, "name")
    assert [world["name"] for world in operator.does("GET", "worlds")] == ["anna"]
    operator.does("DELETE", "worlds/anna")
    assert operator.refuses("DELETE", "worlds/anna") == (404, "world")
    assert (operator.does("GET", "worlds"), old.open("/health").status_code) == ([], 404)
    makes(operated, "anna")
    assert old.tester.refuses("GET", "clock")[0] == 401


@pytest.mark.parametrize("name", ["", "..", "a/b", 'a"b', None])
def test_a_name_that_could_be_something_else_is_refused(name: object) -> None:
    assert Tester(open_sandbox()).refuses("POST", "worlds", {"name": name}) == (400, "name")


def test_files_of_worlds_do_not_overlap(tmp_path: Path) -> None:
    """The files of another sandbox, SQLite's extra files, and file systems that ignore case."""
    first, second = (f"sqlite:///{tmp_path}/{name}" for name in ("s.db", "s.db.a"))
    for address, names in ((first, ("a.b", "a", "A", "a.world-wal")), (second, ("b",))):
        app = open_sandbox(address)
        for name in names:
            makes(app, name).payer.makes_checkout()
        assert app.extensions[worlds.WORLDS].names() == sorted(names)
        disconnect(app)
    files = [str(file).casefold() for file in tmp_path.rglob("*.world")]
    assert len(set(files)) == len(files) == 5


def test_there_are_only_so_many() -> None:
    app = open_sandbox(worlds=1)
    makes(app, "a")
    assert Tester(app).refuses("POST", "worlds", {"name": "b"}) == (409, "worlds")


@on_each_kind
def test_an_idle_world_is_put_away_and_comes_back_as_it_was(
    operated: Flask, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna = makes(operated, "anna")
    anna.lives()
    anna.tester.advances(hours=1)
    before = anna.tester.does("GET", "events?last=200"), anna.tester.offset()
    # Every request finds the world closed.
    monkeypatch.setattr(worlds, "IDLE_SECONDS", -1.0)
    assert (anna.tester.does("GET", "events?last=200"), anna.tester.offset()) == before
    if database != "sqlite://":
        again = open_sandbox(database, clock="frozen@2026-05-01T00:00:00Z")
        assert Inside(again, "anna", anna.made).tester.does("GET", "events?last=200") == before[0]
        Tester(again).does("DELETE", "worlds/anna")
        assert anna.open("/health").status_code == 404
        disconnect(again)
