"""The programs of compose.yaml, started by its commands, in the tests' own environment instead of containers."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import requests
import yaml

from tests.ports import free_port
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def services(database: str) -> tuple[dict[str, Any], str]:
    """The services of compose.yaml with free ports and this database, and the shop's address."""
    text = re.sub(r"\$\{\w+:-(.*?)\}", r"\1", (ROOT / "compose.yaml").read_text())
    text, count = re.subn(r"postgresql\+psycopg://\S+", database, text)
    assert count == 1
    ports = {port: str(free_port()) for port in ("5000", "8790")}
    for port, free in ports.items():
        text = text.replace(port, free)
    services_: dict[str, Any] = yaml.safe_load(text)["services"]
    return services_, f"http://127.0.0.1:{ports['5000']}/"


def answers(address: str) -> bool:
    try:
        return requests.get(address, timeout=10).ok
    except requests.RequestException:
        return False


def test_shop_sandbox_and_reconcile_work_together(postgres_database: str) -> None:
    described, shop = services(postgres_database)
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"} | described["shop"]["environment"]
    running = {}
    with ExitStack() as stack:
        for name in ("sandbox", "shop", "reconcile"):
            command = shlex.split(described[name]["command"])
            running[name] = stack.enter_context(
                # The sandbox prints its credentials.
                subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL)
            )
            stack.callback(running[name].terminate)
            if name == "shop":
                eventually(lambda: answers(shop))
        doctor = ["flask", "--app", "example_shop", "paycheckout", "doctor"]
        report = subprocess.run(doctor, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120).stdout
        failures = [line for line in report.splitlines() if line.startswith("failure")]
        assert failures == []
        assert "accepted a signed read" in report
        assert {name: process.poll() for name, process in running.items()} == dict.fromkeys(running)
