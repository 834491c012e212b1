"""A newcomer's first ten minutes: README's quick start, its text taken and its commands run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urljoin

import pytest
import requests

from tests.test_readme import README, free_port, snippet

pytestmark = pytest.mark.slow("programs")

BIN = Path(sys.executable).parent
SECTION = README[README.index("## A shop of your own") : README.index("## How it works")]


def lines() -> list[str]:
    """What the section tells to type, in its order."""
    return [line for block in re.findall(r"```console\n(.*?)```", SECTION, re.DOTALL) for line in block.splitlines()]


class Newcomer:
    """Types README's lines in a folder, on ports of this test's own."""

    def __init__(self, folder: Path, running: ExitStack) -> None:
        self.folder, self._running = folder, running
        self.service, self.shop = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("FLASK_")}
        self._environment["PATH"] = f"{BIN}:{os.environ['PATH']}"

    def types(self, line: str) -> subprocess.Popen[str]:
        """Start the line in a shell; the ports that it names are this test's own."""
        line = line.replace("http://127.0.0.1:5000", self.shop).replace("http://127.0.0.1:8790", self.service)
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            self._environment[name] = value
        if "paycheckout sandbox" in line:
            line += f" --port {self.service.rpartition(':')[2]}"
        if line.endswith(" run"):
            # A reloader would be a second process, which nobody stops.
            line += f" --no-reload --port {self.shop.rpartition(':')[2]}"
        typed = subprocess.Popen(
            ["/bin/bash", "-c", f"exec {line}" if line.startswith("flask") else line],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._running.callback(self._ends, typed)
        return typed

    def _ends(self, typed: subprocess.Popen[str]) -> None:
        typed.terminate()
        typed.communicate(timeout=60)

    def waits_for(self, typed: subprocess.Popen[str], words: str) -> list[str]:
        """What was printed until then; a program that stays silent for too long is ended."""
        assert typed.stdout is not None
        said = []
        too_long = threading.Timer(120, typed.kill)
        too_long.start()
        try:
            for line in typed.stdout:
                said.append(line)
                if words in line:
                    return said
        finally:
            too_long.cancel()
        raise AssertionError("".join(said))


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    with ExitStack() as running:
        yield Newcomer(tmp_path, running)


def pays_in_the_browser(order: str) -> None:
    """Press each page's own button, as a browser sends it: on the order, at the method, and where the money is sent."""
    with requests.Session() as visitor:
        page = visitor.get(order, timeout=60)
        for _ in range(3):
            form = re.search(r'<form[^>]* action="([^"]+)"', page.text)
            assert form is not None, page.text
            method = re.search(r'name="method" value="([^"]+)"', page.text)
            origin = "/".join(page.url.split("/")[:3])
            fields = {"method": method[1]} if method else {}
            page = visitor.post(urljoin(page.url, form[1]), data=fields, headers={"Origin": origin}, timeout=60)
            assert page.status_code == 200, page.text
        assert "Payment received" in page.text


def test_the_quick_start_leads_to_a_first_payment(newcomer: Newcomer) -> None:
    source = snippet("shop.py")
    assert len(source.splitlines()) <= 30
    (newcomer.folder / "shop.py").write_text(source)
    install, sandbox, *rest = lines()
    assert "pip install '../flask_paycheckout[sandbox]'" in install
    printed = newcomer.waits_for(newcomer.types(sandbox), "Ctrl-C")
    exports = [
        line.replace("http://127.0.0.1:8790", newcomer.service) for line in rest if line.startswith("export FLASK_PAY")
    ]
    assert [line.rstrip("\n") for line in printed if line.startswith("export ")] == exports
    assert len(exports) == 3

    run = rest.index("flask --app shop run")
    for line in rest[:run]:
        assert newcomer.types(line).wait(60) == 0
    newcomer.waits_for(newcomer.types(rest[run]), "Running on")
    order = f"{newcomer.shop}/orders/1"
    pays_in_the_browser(order)
    deadline = time.monotonic() + 60
    while requests.get(order, timeout=60).text != "Paid":
        assert time.monotonic() < deadline, "no webhook told of the payment"
        time.sleep(0.1)

    watch, show, doctor = rest[run + 1 :]
    watching = newcomer.types(watch)
    newcomer.waits_for(newcomer.types(show), "Order 1: paid")
    examined = newcomer.types(doctor)
    told = newcomer.waits_for(examined, "Webhook URL to register")[-1]
    given = sandbox.partition("--webhook-url ")[2]
    assert told == f"Webhook URL to register: {given}\n", "the one that README registers when it starts the sandbox"
    assert examined.wait(60) == 0
    assert watching.poll() is None, "it goes on, and says nothing while nothing happens"
