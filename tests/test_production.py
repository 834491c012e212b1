"""README's way to production, with PostgreSQL, gunicorn, a proxy's headers and the unit that finds payments."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.test_readme import README, commands, free_port, sandbox, snippet

pytestmark = pytest.mark.slow("programs")

__all__ = ["sandbox"]

BIN = Path(sys.executable).parent
NGINX = {"$remote_addr": "203.0.113.7", "$scheme": "https", "$host": "shop.example"}


def block(name: str) -> str:
    """The block below the comment that names it, in whatever language."""
    found = re.search(rf"<!-- {re.escape(name)} -->\n```\w+\n(.*?)```", README, re.DOTALL)
    assert found is not None, f"README has no block {name}"
    return found[1]


def settings(database: str, service: str) -> str:
    """README's `shop.env`, filled in as it says; beside it only what lets a sandbox be the service."""
    given = {
        "FLASK_SECRET_KEY": "0123456789abcdef-of-this-test",
        "FLASK_SQLALCHEMY_DATABASE_URI": database,
        "FLASK_PAYCHECKOUT_BASE_URL": service,
        "FLASK_PAYCHECKOUT_CHECKOUT_ORIGINS": service,
        "FLASK_PAYCHECKOUT_CLIENT_ID": "sandbox-client",
        "FLASK_PAYCHECKOUT_CLIENT_SECRET": "sandbox-secret-0123456789abcdef",
        "FLASK_PAYCHECKOUT_WEBHOOK_SECRET": "a-hook-path-of-many-letters",
    }
    text = block("shop.env")
    for name, value in given.items():
        text, count = re.subn(rf"(?m)^{name}=.*$", f'{name}="{value}"', text)
        assert count == 1, f"{name} is not in README's shop.env"
    return f"{text}FLASK_PAYCHECKOUT_ALLOW_SANDBOX=1\n"


class Machine:
    """A server's folder with the shop and its settings."""

    def __init__(self, folder: Path, database: str, service: str) -> None:
        self.folder, self.port = folder, free_port()
        (folder / "shop.py").write_text(f"{snippet('shop.py')}\n{snippet('proxy.py')}")
        (folder / "shop.env").write_text(settings(database, service))
        self.make_tables = next(line for line in commands() if line.startswith("python -c "))

    def types(self, line: str) -> subprocess.Popen[str]:
        """Start the line in a shell that has read the settings as README says."""
        load = next(line for line in commands() if "shop.env" in line)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FLASK_")}
        return subprocess.Popen(
            ["/bin/sh", "-c", f"{load}; exec {line}"],
            cwd=self.folder,
            env=environment | {"PATH": f"{BIN}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def runs(self, line: str) -> str:
        typed = self.types(line)
        told, _ = typed.communicate(timeout=60)
        assert typed.returncode == 0, told
        return told

    @contextmanager
    def serves(self) -> Iterator[str]:
        """gunicorn as README starts it, on a port of this test's own; gives the address that the proxy passes to."""
        (line,) = [line for line in commands() if line.startswith("gunicorn")]
        assert "proxy_pass http://127.0.0.1:8000;" in block("nginx.conf")
        # One worker is enough to look at, and four are slow to start.
        line = line.replace(":8000", f":{self.port}").replace("--workers 4", "--workers 1")
        server = self.types(line)
        try:
            assert server.stdout is not None
            assert any("Booting worker" in said for said in server.stdout), "gunicorn did not start"
            yield f"http://127.0.0.1:{self.port}"
        finally:
            server.terminate()
            server.communicate(timeout=60)


def behind_nginx() -> dict[str, str]:
    """The headers that README's nginx sets for a visitor of https://shop.example."""
    found = re.findall(r"proxy_set_header (\S+) (\S+);", block("nginx.conf"))
    return {name: NGINX[value] for name, value in found}


@pytest.fixture
def machine(tmp_path: Path, postgres_database: str, sandbox: str) -> Machine:
    return Machine(tmp_path, postgres_database, sandbox)


def test_the_shop_takes_a_payment_in_production(machine: Machine, sandbox: str) -> None:
    machine.runs(machine.make_tables)
    told = machine.runs("flask --app shop paycheckout doctor")
    assert "postgresql answers" in told
    assert "https://shop.example/paycheckout/webhook/a-hook-path-of-many-letters" in told

    with machine.serves() as address:
        page = visited(f"{address}/orders/1", behind_nginx())
        action = re.search(r'action="([^"]+)"', page.text)
        assert action is not None
        # A form of another address than the proxy's visitors see would be refused.
        from_shop = behind_nginx() | {"Origin": "https://shop.example"}
        answer = requests.post(address + action[1], headers=from_shop, allow_redirects=False, timeout=60)
        assert (answer.status_code, answer.headers["Location"].startswith(sandbox)) == (303, True)
        assert visited(f"{address}/orders/1", behind_nginx() | {"X-Forwarded-Host": "evil.example"}).status_code == 400

        checkout_id = answer.headers["Location"].rsplit("/", 1)[1]
        control = {"X-Sandbox-Control": "readme-control"}
        pay = requests.post(f"{sandbox}/_sandbox/checkouts/{checkout_id}/pay", json={}, headers=control, timeout=60)
        assert pay.status_code == 200
        finds_the_payment(machine, address)


def visited(url: str, headers: dict[str, str]) -> requests.Response:
    """The answer, once gunicorn gives one."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return requests.get(url, headers=headers, timeout=60)
        except requests.ConnectionError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def finds_the_payment(machine: Machine, address: str) -> None:
    """Run the unit's command until the order is paid, and stop it as systemd does."""
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # systemd minds capitals
    unit.read_string(block("shop-reconcile.service"))
    service = unit["Service"]
    assert service["EnvironmentFile"] == f"{service['WorkingDirectory']}/shop.env"
    program, *arguments = shlex.split(service["ExecStart"])
    assert program == f"{service['WorkingDirectory']}/.venv/bin/flask"
    running = machine.types(shlex.join([str(BIN / "flask"), *arguments]))
    try:
        deadline = time.monotonic() + 60
        while "Paid" not in visited(f"{address}/orders/1", behind_nginx()).text:
            assert time.monotonic() < deadline, "reconcile did not find the payment"
            time.sleep(0.2)
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    finally:
        running.kill()
        running.communicate(timeout=60)
