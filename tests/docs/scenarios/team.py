"""A sandbox for a team: two processes as the unit starts them, used through the proxy's headers."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import requests

from tests.docs.merchant import Merchant, turns, visited
from tests.docs.pages import ROOT, Scene
from tests.ports import free_port
from tests.sandbox.actors import CONTROL_TOKEN

PASSWORD = "canary-operator"
NGINX = {"$remote_addr": "203.0.113.7", "$scheme": "https", "$host": "sandbox.example"}
BASE = "https://sandbox.example"


def team(scene: Scene, merchant: Merchant, postgres_database: str) -> None:
    url, token, *drive, make, install, enable, compose = scene.commands()
    assert install == "/opt/payments-sandbox/bin/pip install '../flask_paycheckout[sandbox,postgres]'"
    unit = _unit(scene["payments-sandbox@.service"])
    assert unit["EnvironmentFile"] == "/etc/payments-sandbox.env"
    assert unit["ExecStart"].startswith(f"{make.split()[-1]}/bin/python ")
    merchant.writes("teams.toml", scene["teams.toml"])
    _verified(scene["payments-sandbox@.service"], make.split()[-1], merchant.folder)

    conf = scene["nginx.conf"]
    headers = {name: NGINX[value] for name, value in re.findall(r"proxy_set_header (\S+) (\S+);", conf)}
    assert re.findall(r"server 127.0.0.1:(\d+);", conf) == re.findall(r"payments-sandbox@(\d+)", enable)
    environment = _filled_in(scene["payments-sandbox.env"], postgres_database)
    with ExitStack() as running:
        ports = [free_port(), free_port()]
        for port in ports:
            running.enter_context(_started(unit, port, merchant.folder, environment))
        here, there = (f"http://127.0.0.1:{port}" for port in ports)
        _signs_in_here_and_looks_there(here, there, headers)
        told = [merchant.runs(line.replace(BASE, here)) for line in (url, token, *drive)]
        assert "zebra" not in "".join(told)
        assert "deposit" in told[-1]
        assert visited(f"{there}/health").text == "ok\n"
    _secrets_of_the_containers(scene[".env"], compose)


def _unit(text: str) -> Any:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # systemd minds capitals
    unit.read_string(text)
    return unit["Service"]


def _verified(text: str, environment: str, folder: Path) -> None:
    """Ask systemd, where there is one, what it makes of the unit."""
    if shutil.which("systemd-analyze") is None:
        return
    file = folder / "payments-sandbox@8790.service"
    file.write_text(text.replace(f"{environment}/bin/python", sys.executable))
    asked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(file)], capture_output=True, text=True, timeout=120
    )
    assert (asked.returncode, [line for line in asked.stderr.splitlines() if file.name in line]) == (0, [])


def _filled_in(text: str, database: str) -> dict[str, str]:
    given = {"SANDBOX_DATABASE": database, "SANDBOX_PASSWORD": PASSWORD, "SANDBOX_CONTROL_TOKEN": CONTROL_TOKEN}
    assert set(re.findall(r"(?m)^(\w+)=", text)) == set(given)
    return given


@contextmanager
def _started(unit: Any, port: int, credentials: Path, environment: dict[str, str]) -> Iterator[None]:
    """One process of the unit, stopped as systemd stops it."""
    _, *arguments = shlex.split(unit["ExecStart"].replace("%i", str(port)).replace("%d", str(credentials)))
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(f"The shared payments sandbox is listening at {BASE}/.")
        yield
        process.send_signal(signal.Signals[unit["KillSignal"]])
        said, _ = process.communicate(timeout=120)
        assert (process.returncode, said) == (0, "")
    finally:
        process.kill()
        process.communicate(timeout=60)


def _signs_in_here_and_looks_there(here: str, there: str, headers: dict[str, str]) -> None:
    page = visited(f"{here}/", headers)
    token = re.findall(r'name="token" value="(\w+)"', page.text)[0]
    form = {"token": token, "name": "anna", "password": "eight characters or more"}
    own = headers | {"Origin": BASE}
    signed_in = requests.post(
        f"{there}/inspector/sign-in", form, headers=own, allow_redirects=False, timeout=60
    ).headers["Set-Cookie"]
    assert signed_in.endswith("; Secure; HttpOnly; Path=/; SameSite=Lax")
    cookie = {"Cookie": signed_in.partition(";")[0]}
    for _ in turns("nobody is signed in"):
        seen = visited(f"{here}/inspector/webhooks", headers | cookie)
        if "Webhooks" in seen.text and "anna" in seen.text:
            break
    assert "zebra" not in seen.text
    poisoned = headers | {"X-Forwarded-Host": "evil.example"}
    assert visited(f"{here}/", poisoned).status_code == 400


def _secrets_of_the_containers(text: str, compose: str) -> None:
    """What the file of the environment names is what the compose file asks for."""
    file = ROOT / compose.split()[3]
    assert compose == f"docker compose --file {file.relative_to(ROOT)} up --detach"
    asked = re.findall(r"\$\{(\w+)(:[-?])", file.read_text())
    assert {name for name, sign in asked if sign == ":?"} == set(re.findall(r"(?m)^(\w+)=", text))
    assert {name for name, sign in asked if sign == ":-"} == set(re.findall(r"(?m)^# (\w+)=", text))
