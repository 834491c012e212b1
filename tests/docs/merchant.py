"""A merchant at a terminal: a folder with the files of a shop, and a shell that runs what the pages show."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urljoin

import requests

from tests.docs.pages import snippet
from tests.ports import free_port
from tests.waiting import eventually

BIN = Path(sys.executable).parent
#: The settings of a shop that uses the sandbox at the address in the pages.
SETTINGS = {
    "FLASK_PAYCHECKOUT_BASE_URL": "http://127.0.0.1:8790",
    "FLASK_PAYCHECKOUT_CLIENT_ID": "sandbox-client",
    "FLASK_PAYCHECKOUT_CLIENT_SECRET": "sandbox-secret-0123456789abcdef",
    "FLASK_SECRET_KEY": "0123456789abcdef-of-this-test",
    "FLASK_DEBUG": "1",
}
PATIENCE = 120


def shop_source(*columns: str) -> str:
    """README's shop, whose orders have these columns too."""
    source = snippet("README.md", "quick_start", "shop.py")
    paid = re.search(r"    paid = .*\n", source)
    assert paid is not None
    return source.replace(paid[0], paid[0] + "".join(f"    {column}\n" for column in columns))


def with_models(source: str) -> str:
    """README's shop with the models of the page on receivers, and the receiver that closes these orders."""
    for name, first in {"models": "class Order", "price": "@paycheckout.order_total", "close": "@order_paid"}.items():
        before, begin, rest = source.partition(f"\n{first}")
        assert begin, first
        page = snippet("docs/receivers.md", "receivers", f"{name}.py")
        source = "\n".join([before, page, rest.partition("\n\n")[2]])
    return source


class Merchant:
    """Runs commands in a folder, with this merchant's own ports in place of the pages' ports."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.ports = {written: free_port() for written in ("5000", "8000", "8790")}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("FLASK_")}
        # A plugin that no page names, and that takes seconds to load.
        self.environment = kept | {"PATH": f"{BIN}:{os.environ['PATH']}", "PYTEST_ADDOPTS": "-p no:schemathesis"}
        self.environment |= {name: self.here(value) for name, value in environment.items()}

    @property
    def service(self) -> str:
        return self.here("http://127.0.0.1:8790")

    @property
    def shop(self) -> str:
        return self.here("http://127.0.0.1:5000")

    def here(self, text: str) -> str:
        """The text with this merchant's ports."""
        for written, own in self.ports.items():
            text = text.replace(f"127.0.0.1:{written}", f"127.0.0.1:{own}")
        return text

    def writes(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.here(text))

    def starts(self, line: str) -> subprocess.Popen[str]:
        """Start a line in the shell; the caller must end it. An `export` applies to all later lines."""
        line = self.here(line)
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            shell = ["/bin/bash", "-c", f"echo {value}"]
            self.environment[name] = subprocess.check_output(shell, cwd=self.folder, text=True).strip()
        if "paycheckout sandbox" in line or "flask_paycheckout.sandbox --" in line:
            line += f" --port {self.ports['8790']}"
        if line.endswith(" run"):
            # A reloader would be a second process, which would not be stopped.
            line += f" --no-reload --port {self.ports['5000']}"
        return subprocess.Popen(
            ["/bin/bash", "-c", f"exec {line}" if line.startswith(("flask", "python", "gunicorn")) else line],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def runs(self, line: str, *, code: int | None = 0) -> str:
        """Run a line to its end; returns its output.

        :param code: the required exit code; None for any code except a usage error's.
        """
        process = self.starts(line)
        try:
            output, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
            process.communicate()
        expected = (0, 1) if code is None else (code,)
        assert process.returncode in expected, f"{line}\n{output}"
        return output

    def runs_program(self, source: str) -> str:
        """Run a Python program; returns its output."""
        return self.runs(f"python -c {shlex.quote(source)}")

    @contextmanager
    def running(self, line: str, ready: str | None) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
        """Run a line during the block, after waiting for the text `ready`, if any; yields process and output so far."""
        process = self.starts(line)
        try:
            yield process, [] if ready is None else _said_until(process, ready)
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)


def _said_until(process: subprocess.Popen[str], words: str) -> list[str]:
    assert process.stdout is not None
    lines = []
    too_long = threading.Timer(PATIENCE, process.kill)
    too_long.start()
    try:
        for line in process.stdout:
            lines.append(line)
            if words in line:
                return lines
    finally:
        too_long.cancel()
    raise AssertionError("".join(lines))


def visited(url: str, headers: dict[str, str] | None = None) -> requests.Response:
    """Visit a page once the server accepts connections; returns the answer."""
    answers = list[requests.Response]()

    def is_answered() -> bool:
        with suppress(requests.ConnectionError):
            answers.append(requests.get(url, headers=headers, timeout=60))
        return bool(answers)

    eventually(is_answered, PATIENCE)
    return answers[0]


def pays_in_the_browser(order: str) -> None:
    """Press each page's own button: on the order, at the payment method, and where the money is sent."""
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
