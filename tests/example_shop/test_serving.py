"""The demo of `python -m example_shop`, as a command and in process: everything answers, everything stops."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest
import requests

from example_shop.serving import HOST, Demo, PortTakenError
from tests.example_shop.conftest import Shopper

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Seconds; a ceiling for what takes one or two, never a pause.
PATIENCE = 60


def test_the_reconciler_needs_nobody_to_call_it() -> None:
    told = threading.Event()
    with Demo(webhooks=False, reconcile_every=0.05) as demo:
        demo.warehouse.teardown_request(lambda _: told.set())
        shopper = Shopper(demo.app)
        checkout_id = shopper.starts_to_pay(shopper.orders(first_snow=1))
        for act in ("pick", "pay"):
            demo.control("POST", f"/checkouts/{checkout_id}/{act}", {})
        demo.advance(minutes=5)
        assert told.wait(PATIENCE)


def test_stopping_leaves_nothing_behind() -> None:
    threads = set(threading.enumerate())
    demo = Demo()
    folder = demo.settings_file.parent
    assert folder.stat().st_mode & 0o077 == 0
    demo.stop()
    demo.stop()
    assert set(threading.enumerate()) <= threads
    assert not folder.exists()
    for url in (demo.shop_url, demo.sandbox_url, demo.warehouse_url):
        with closing(socket.socket()) as probe:
            # As a server binds: the end of a connection may last a while longer.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, int(url.rsplit(":", 1)[1])))
            probe.listen()


def test_a_taken_port_is_told_and_nothing_is_left_running() -> None:
    threads = set(threading.enumerate())
    with closing(socket.socket()) as other:
        other.bind((HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(PortTakenError, match=str(port)):
            Demo(warehouse_port=port)
    assert set(threading.enumerate()) <= threads


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`python -m example_shop` on free ports, killed at the end if it still runs."""
    ports = ("--port", "0", "--sandbox-port", "0", "--warehouse-port", "0")
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "example_shop", *ports, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        alarm = threading.Timer(PATIENCE, process.kill)
        alarm.start()
        try:
            yield process
        finally:
            alarm.cancel()
            alarm.join()
            process.kill()


def read_until(word: str, process: subprocess.Popen[str]) -> str:
    """What the process prints, up to the line with this word, or to its end."""
    assert process.stdout
    printed = []
    for line in process.stdout:
        printed.append(line)
        if word in line:
            break
    return "".join(printed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "terminate"])
def test_the_command_prints_its_addresses_and_stops_cleanly(number: signal.Signals) -> None:
    with running() as demo:
        printed = read_until("Ctrl-C", demo)
        addresses = re.findall(rf"http://{HOST}:\d+/\S*", printed)
        assert len(addresses) == 4, printed
        for address in addresses:
            assert requests.get(address, timeout=PATIENCE).status_code == 200
        demo.send_signal(number)
        rest, errors = demo.communicate(timeout=PATIENCE)
    assert "password" in printed
    assert "control token" in printed
    assert rest.strip() == "Stopping."
    assert errors == ""
    assert demo.returncode == 0
