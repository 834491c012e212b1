"""A service that accepts connections and never answers slows nobody who does not pay."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
import requests

from tests.availability.processes import gunicorn, running_sandbox
from tests.scripted import SAME_SITE

# While the service hangs: long enough for the first calls to run out of time and the breaker to open.
OUTAGE = 12.0
# Whoever waits for the service waits so long; what a busy machine may take for an answer at once is well below.
WEB_TIMEOUT, AT_ONCE = 5, 2.0
Press = tuple[float, float, int]


def p99(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.99)]


def visits(address: str, during: float) -> list[float]:
    """How long the shop's other page takes, one visit after the other."""
    taken, until = list[float](), time.monotonic() + during
    while time.monotonic() < until:
        began = time.monotonic()
        assert requests.get(f"{address}/login", timeout=30).status_code == 200
        taken.append(time.monotonic() - began)
        time.sleep(0.02)
    return taken


def presses(address: str, orders: Callable[[], int], stop: threading.Event, pressed: list[Press]) -> None:
    """A customer with many orders: when the press ended, how long it took, and the status of its answer."""
    while not stop.is_set():
        path = requests.get(f"{address}/link/o-{orders()}", timeout=30).text.removeprefix("http://127.0.0.1")
        began = time.monotonic()
        answer = requests.post(address + path, headers=SAME_SITE, allow_redirects=False, timeout=30)
        ended = time.monotonic()
        pressed.append((ended, ended - began, answer.status_code))
        time.sleep(0.1)


def test_a_stopped_service_slows_nobody_who_does_not_pay(tmp_path: Path) -> None:
    shop = {
        "SQLALCHEMY_DATABASE_URI": f"sqlite:///{tmp_path}/shop.db",
        "MAKES_TABLES": "true",
        "PAYCHECKOUT_WEB_TIMEOUT": str(WEB_TIMEOUT),
    }
    options = ("--preload", "--workers", "2", "--threads", "4")
    with (
        running_sandbox() as (service, process),
        gunicorn("tests.shop_app:create_app()", *options, PAYCHECKOUT_BASE_URL=service, **shop) as address,
    ):
        stop, pressed, numbers = threading.Event(), list[Press](), count()
        customers = [
            threading.Thread(target=presses, args=(address, lambda: next(numbers), stop, pressed)) for _ in range(4)
        ]
        quiet = visits(address, 2)
        for customer in customers:
            customer.start()
        try:
            while 303 not in [status for *_, status in pressed]:
                time.sleep(0.1)
            process.send_signal(signal.SIGSTOP)
            stopped = time.monotonic()
            others = visits(address, OUTAGE)
            process.send_signal(signal.SIGCONT)
            back = time.monotonic()
            recovered = until_all_are_sent_on(pressed, back)
        finally:
            process.send_signal(signal.SIGCONT)
            stop.set()
            for customer in customers:
                customer.join(60)
    # The same page in the same run without an outage says what this machine can do at this moment.
    assert p99(others) < max(AT_ONCE, 3 * p99(quiet)), f"{p99(others):.3f} s, {p99(quiet):.3f} s without an outage"
    told = sorted(taken for ended, taken, status in pressed if stopped < ended - taken and ended < back)
    assert {status for ended, taken, status in pressed if stopped < ended - taken and ended < back} == {503}
    assert told[len(told) // 2] < max(AT_ONCE, 3 * p99(quiet)), "told at once"
    assert told[-1] < WEB_TIMEOUT + max(AT_ONCE, 3 * p99(quiet)), "never longer than the web request's own time"
    assert recovered <= 20


def until_all_are_sent_on(pressed: list[Press], back: float) -> float:
    """Seconds until presses lead to the payment page again, in both workers."""
    while time.monotonic() < back + 30:
        last = [status for ended, _, status in pressed[-12:] if ended > back]
        if last == [303] * 12:
            return pressed[-12][0] - back
        time.sleep(0.1)
    return pytest.fail("nobody is sent on although the service is back")
