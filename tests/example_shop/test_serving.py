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
from tests.example_shop.conftest import newest_checkout, stored

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Seconds; a ceiling for what takes one or two, never a pause.
PATIENCE = 60


class Customer:
    """Somebody on the other side of a socket, who fills in the shop's own forms."""

    def __init__(self, demo: Demo) -> None:
        self.demo = demo
        self.session = requests.Session()

    def get(self, path: str) -> str:
        answer = self.session.get(self.demo.shop_url + path, timeout=PATIENCE)
        answer.raise_for_status()
        return answer.text

    def post(self, path: str, **fields: object) -> requests.Response:
        fields["csrf"] = re.search(r'name="csrf" value="([^"]+)"', self.get("/jars/first-snow"))[1]  # type: ignore[index]
        return self.session.post(self.demo.shop_url + path, data=fields, timeout=PATIENCE)

    def orders(self, slug: str) -> str:
        self.post("/basket/add", slug=slug, quantity=1)
        answer = self.post("/orders/", name="Ada", email="ada@example.com")
        return answer.url.rsplit("/", 1)[1]

    def pays(self, order_id: str) -> None:
        """Press the pay button, choose a method on the hosted page and pay."""
        button = re.search(r'action="([^"]*/paycheckout/orders/[^"]+)"', self.get(f"/orders/{order_id}"))
        assert button
        address = button[1] if button[1].startswith("http") else self.demo.shop_url + button[1]
        answer = self.session.post(
            address, headers={"Origin": self.demo.shop_url}, timeout=PATIENCE, allow_redirects=False
        )
        assert answer.status_code == 303, answer.text
        assert answer.headers["Location"].startswith(self.demo.sandbox_url)
        assert self.session.get(answer.headers["Location"], timeout=PATIENCE).status_code == 200
        checkout_id = newest_checkout(self.demo.app, order_id)
        self.demo.control("POST", f"/checkouts/{checkout_id}/pick", {})
        self.demo.control("POST", f"/checkouts/{checkout_id}/pay", {})


def test_a_payment_goes_all_the_way_to_the_warehouse_by_webhook() -> None:
    with Demo(reconciler=False) as demo:
        customer = Customer(demo)
        order_id = customer.orders("first-snow")
        customer.pays(order_id)
        assert "Paid, thank you!" in customer.get(f"/orders/{order_id}")
        assert stored(demo.app, order_id)["parcel"] == "P-0001"
        assert order_id in requests.get(demo.warehouse_url, timeout=PATIENCE).text


def test_the_reconciler_needs_nobody_to_call_it() -> None:
    told = threading.Event()
    with Demo(webhooks=False, reconcile_every=0.05) as demo:
        demo.warehouse.teardown_request(lambda _: told.set())
        customer = Customer(demo)
        order_id = customer.orders("first-snow")
        customer.pays(order_id)
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
