"""In each web server, a healthy service causes no refusals, and a hanging one slows only customers who pay."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
import requests

from tests.availability.processes import SERVERS, serving
from tests.scripted import SAME_SITE, success
from tests.socket_service import Call, SocketService

# Seconds that a caller waits for the service, and, well below that, the limit for an immediate answer.
WEB_TIMEOUT, AT_ONCE = 3, 2.0
# The most processes of a server; each notices an outage by itself.
MOST_PROCESSES = 2
# If a server gives all requests to one process until its threads are taken, the second process notices the outage
# only then: the breakers of both are open after twice the time.
ALL_KNOW = 2 * WEB_TIMEOUT + 0.5
OUTAGE = ALL_KNOW + 2.5
# Seconds that the service takes to answer.
LATENCY = 0.4
Press = tuple[float, float, int]


def p99(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.99)]


def visits(address: str, during: float) -> list[float]:
    """Seconds that each visit of the shop's other page takes, one visit after the other."""
    taken, until = list[float](), time.monotonic() + during
    while time.monotonic() < until:
        began = time.monotonic()
        assert requests.get(f"{address}/login", timeout=30).status_code == 200
        taken.append(time.monotonic() - began)
        time.sleep(0.02)
    return taken


def press(address: str, order: int) -> Press:
    """Press an order's button; returns the time at the end, the duration, and the status of the answer."""
    path = requests.get(f"{address}/link/o-{order}", timeout=30).text.removeprefix("http://127.0.0.1")
    began = time.monotonic()
    answer = requests.post(address + path, headers=SAME_SITE, allow_redirects=False, timeout=30)
    ended = time.monotonic()
    return ended, ended - began, answer.status_code


def presses(address: str, orders: Iterator[int], stop: threading.Event, pressed: list[Press]) -> None:
    """Press the buttons of many orders, one after the other, until `stop` is set."""
    while not stop.is_set():
        pressed.append(press(address, next(orders)))
        time.sleep(0.1)


class Service(SocketService):
    """Makes each checkout after `LATENCY`; with `up` cleared it accepts calls and answers none."""

    def __init__(self) -> None:
        super().__init__()
        self.ids = count(1)
        self.up = threading.Event()
        self.up.set()

    def creates(self, call: Call) -> bytes:
        time.sleep(LATENCY)
        self.up.wait(60)
        return success({"id": f"chk-{next(self.ids)}", "url": "https://pay.example/checkout"}, 201)


@pytest.mark.parametrize("server", SERVERS)
def test_a_service_that_answers_refuses_nobody_and_one_that_hangs_slows_nobody_who_does_not_pay(
    server: str, tmp_path: Path
) -> None:
    shop = {
        "SQLALCHEMY_DATABASE_URI": f"sqlite:///{tmp_path}/shop.db",
        "MAKES_TABLES": "true",
        "PAYCHECKOUT_WEB_TIMEOUT": str(WEB_TIMEOUT),
    }
    service, stop, pressed, numbers = Service(), threading.Event(), list[Press](), count()
    with service.running(), serving(SERVERS[server], PAYCHECKOUT_BASE_URL=service.url, **shop) as address:
        with ThreadPoolExecutor(12) as crowd:
            first = list(crowd.map(lambda number: press(address, number), [next(numbers) for _ in range(12)]))
        assert [status for *_, status in first] == [303] * 12
        customers = [threading.Thread(target=presses, args=(address, numbers, stop, pressed)) for _ in range(4)]
        quiet = visits(address, 2)
        for customer in customers:
            customer.start()
        try:
            while 303 not in [status for *_, status in pressed]:
                time.sleep(0.1)
            service.up.clear()
            stopped = time.monotonic()
            others = visits(address, OUTAGE)
            service.up.set()
            back = time.monotonic()
            recovered = until_all_are_sent_on(pressed, back)
        finally:
            service.up.set()
            stop.set()
            for customer in customers:
                customer.join(60)
    during = [press for press in pressed if stopped < press[0] - press[1] and press[0] < back]
    durations = sorted(taken for ended, taken, _ in during if stopped + ALL_KNOW < ended - taken)
    # The time of this page without an outage shows how fast the machine is at the moment.
    at_once = max(AT_ONCE, 3 * p99(quiet))
    slowed = [taken for taken in others if taken >= at_once]
    assert len(slowed) <= MOST_PROCESSES, f"{slowed}: a process may have all its threads taken once, until it knows"
    assert {status for *_, status in during} == {503}
    assert durations[len(durations) // 2] < at_once, "told at once"
    # Other tests may keep the machine busy; without the limit, a request would wait for the client's own timeout.
    longest = max(taken for _, taken, _ in during)
    assert longest < WEB_TIMEOUT + 2 * at_once, "never longer than the web request's own time"
    assert recovered <= 15


def until_all_are_sent_on(pressed: list[Press], back: float) -> float:
    """Seconds until presses lead to the payment page again, in both workers."""
    while time.monotonic() < back + 30:
        last = [status for ended, _, status in pressed[-12:] if ended > back]
        if last == [303] * 12:
            return pressed[-12][0] - back
        time.sleep(0.1)
    return pytest.fail("nobody is sent on although the service is back")
