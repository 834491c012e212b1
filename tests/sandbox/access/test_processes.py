"""A shared sandbox of two real processes on one PostgreSQL: what is bounded or done once is so for both together."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import cycle
from typing import Any

import pytest
import requests
from flask import Flask

from flask_paycheckout.sandbox.access.attempts import OF_ADDRESS, WINDOW
from tests.docs.merchant import turns
from tests.postgres import empty_database
from tests.sandbox.access.sharing import OPERATORS_PASSWORD, TEAMS, teams_file
from tests.sandbox.actors import CONTROL_TOKEN, Merchant, Tester
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.disbursements.payers import Payer
from tests.sandbox.outgoing.test_mails import PostOffice, post_office
from tests.sandbox.stations import PATIENCE, ROOT, Shop, port_of, station
from tests.socket_service import Call
from tests.waiting import eventually

pytestmark = pytest.mark.slow("PostgreSQL")

HANDS = 8


class Receiver(Shop):
    """Takes webhooks about payouts."""

    def creates(self, call: Call) -> bytes:
        self.order_ids.append(call.sent["disbursementId"])
        return b""


@pytest.fixture(scope="module")
def shop() -> Iterator[Receiver]:
    shop = Receiver()
    with shop.running():
        yield shop


@pytest.fixture(scope="module")
def office() -> Iterator[PostOffice]:
    with post_office() as office:
        yield office


@pytest.fixture(scope="module")
def running(
    postgres_server: str, shop: Receiver, office: PostOffice, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[str]]:
    """Start two processes at once on an empty database; yields their addresses."""
    teams = teams_file(tmp_path_factory.mktemp("teams"))
    with ExitStack() as until:
        settings = {
            "SANDBOX_DATABASE": until.enter_context(empty_database(postgres_server)),
            "SANDBOX_PASSWORD": OPERATORS_PASSWORD,
            "SANDBOX_CONTROL_TOKEN": CONTROL_TOKEN,
        }
        # One minute of the clock lasts as long as a test wants.
        options = ["--clock", "frozen@2026-05-01T00:00:00Z", "--trusted-proxies", "1"]
        options += ["--port", "0", "--json", "--teams", str(teams), "--smtp", office.smtp, "--webhook-url", shop.url]
        command = [sys.executable, "-W", "error", "-m", "flask_paycheckout.sandbox", *options]
        processes = [start(command, settings, until) for _ in range(2)]
        told = [process.stdout.readline() for process in processes if process.stdout is not None]
        assert not [secret for secret in (*settings.values(), *TEAMS["anna"]) if secret in "".join(told)]
        yield [f"http://127.0.0.1:{port_of(json.loads(line))}" for line in told]


def start(command: list[str], settings: dict[str, str], until: ExitStack) -> subprocess.Popen[str]:
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | settings, stdout=subprocess.PIPE, text=True)
    if process.stdout is not None:
        until.callback(process.stdout.close)
    until.callback(process.wait, PATIENCE)
    until.callback(process.send_signal, signal.SIGINT)
    return process


@pytest.fixture
def stations(running: list[str]) -> list[Flask]:
    found = [station(int(address.rpartition(":")[2])) for address in running]
    Tester(found[0]).does("POST", "reset")
    return found


def many_hands(job: Callable[[Any], Any], places: list[Any], times: int) -> list[Any]:
    """Do it that often, at both places at the same time."""
    with ThreadPoolExecutor(HANDS) as hands:
        jobs = [hands.submit(job, where) for where, _ in zip(cycle(places), range(times), strict=False)]
        return [done.result() for done in jobs]


def token_of(page: requests.Response) -> str:
    return str(re.findall(r'name="token" value="(\w+)"', page.text)[0])


def test_a_session_is_one_for_all_processes(running: list[str], stations: list[Flask]) -> None:
    here, there = running
    with requests.Session() as browser:
        form = {
            "name": "anna",
            "password": TEAMS["anna"][0],
            "token": token_of(browser.get(f"{there}/", timeout=PATIENCE)),
        }
        assert browser.post(f"{here}/inspector/sign-in", form, timeout=PATIENCE).url == f"{here}/"
        page = browser.get(f"{there}/inspector/levers", timeout=PATIENCE)
        assert page.status_code == 200
        cookie = dict(browser.cookies)
        browser.post(f"{there}/inspector/sign-out", {"token": token_of(page)}, timeout=PATIENCE)
        asked = requests.get(f"{here}/", cookies=cookie, timeout=PATIENCE, allow_redirects=False)
        assert asked.status_code == 303


def test_attempts_are_bounded_over_all_processes(running: list[str], stations: list[Flask]) -> None:
    # The processes count by the machine's clock: all attempts have to lie in one window.
    eventually(lambda: time.time() % WINDOW < WINDOW - 60, seconds=120)
    token = token_of(requests.get(f"{running[0]}/", timeout=PATIENCE))

    def guess(address: str) -> int:
        form = {"name": "zebra", "password": "guess", "token": token}
        # Of a machine of its own, so that other tests may sign in.
        sent = {"X-Forwarded-For": "203.0.113.9"}
        return requests.post(f"{address}/inspector/sign-in", form, headers=sent, timeout=PATIENCE).status_code

    codes = many_hands(guess, running, 3 * OF_ADDRESS)
    assert sorted(codes) == [401] * OF_ADDRESS + [429] * 2 * OF_ADDRESS


def test_control_tokens_are_those_of_all_processes(stations: list[Flask]) -> None:
    for where in stations:
        names = [[one["name"] for one in Tester(where, TEAMS[team][1]).does("GET", "accounts")] for team in TEAMS]
        assert names == [["anna"], ["zebra", "zebra-staging"]]
        assert len(Tester(where).does("GET", "accounts")) == 4


def test_a_rate_limit_counts_the_calls_of_all_processes(stations: list[Flask]) -> None:
    Tester(stations[0]).does("POST", "unknowns", {"rate_limit": "300"})
    codes = many_hands(lambda where: Merchant(where).reads_deposit("none").code, stations, 330)
    assert sorted(codes) == [404] * 300 + [429] * 30


def test_each_mail_is_delivered_once(stations: list[Flask], office: PostOffice) -> None:
    numbers = iter(range(24))
    many_hands(lambda where: Visitor(where).registers(f"new{next(numbers)}@example.com"), stations, 24)
    many_hands(lambda where: Tester(where).advances(seconds=1), stations, HANDS)
    for _ in turns("mails are missing"):
        if len(office.taken) >= 24:
            break
    assert sorted(to for to, _ in office.taken) == sorted(f"new{number}@example.com" for number in range(24))


def test_what_falls_due_happens_once(stations: list[Flask], shop: Receiver) -> None:
    switches = {"disbursement_progress": "completed", "disbursement_progress_webhook": "sent"}
    Tester(stations[0]).does("POST", "unknowns", switches)
    made = many_hands(lambda where: Payer(where).pays_one(), stations, 16)
    many_hands(lambda where: Tester(where).advances(hours=24), stations, HANDS)
    for _ in turns("webhooks are missing"):
        if len(shop.order_ids) >= 16:
            break
    assert sorted(shop.order_ids) == sorted(made)
    moves = [event for event in Tester(stations[-1]).does("GET", "events?last=200")["events"] if event["about"] in made]
    done = [event["about"] for event in moves if (event["kind"], event["outcome"]) == ("disbursement", "completed")]
    assert sorted(done) == sorted(made)
