"""The soak's side of the launcher: which processes run, and how to kill one."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
ROOT = Path(__file__).parents[2]
WEB = ("web-1", "web-2")
RECONCILE = ("reconcile-1", "reconcile-2")
#: Where the shop's processes find their settings, a JSON file.
SETTINGS = "SOAK_SHOP_SETTINGS"


def reserve(port: int = 0) -> socket.socket:
    """A bound socket that does not listen, on any free port unless one is named; several may hold the same one.

    It keeps the port while the process that serves it is dead.
    """
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    found.bind((HOST, port))
    return found


@dataclass(frozen=True)
class Sandbox:
    """How to reach the payments service."""

    url: str
    token: str


class Processes:
    """Everything that a run starts; a context manager that leaves nothing behind.

    :param folder: for logs and settings.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._reserved = {name: reserve() for name in WEB}
        self._pids: dict[str, int] = {}
        self._lock = threading.Lock()
        self._launcher: subprocess.Popen[str] | None = None

    def __enter__(self) -> Processes:
        environment = {**os.environ, SETTINGS: str(self._folder / "settings.json")}
        self._launcher = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.launcher"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(self._folder / "launcher.log").open("wb"),
            text=True,
            # Ctrl-C on a terminal is for the soak alone, which then ends the others in order.
            start_new_session=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        launcher = self._launcher
        assert launcher is not None
        assert launcher.stdin is not None
        assert launcher.stdout is not None
        try:
            launcher.stdin.close()
            launcher.wait(30)
        finally:
            launcher.kill()
            launcher.wait()
            launcher.stdout.close()
            for held in self._reserved.values():
                held.close()

    def url(self, name: str) -> str:
        """Where a web process is reached, dead or alive."""
        return f"http://{HOST}:{self._reserved[name].getsockname()[1]}"

    def start_sandbox(self, *arguments: str) -> Sandbox:
        greeting = self._ask(do="sandbox", arguments=list(arguments), log=self._log("sandbox"))
        if "baseUrl" not in greeting:
            raise RuntimeError(f"the sandbox did not start: {(self._folder / 'sandbox.log').read_text()[-2000:]}")
        return Sandbox(greeting["baseUrl"], greeting["controlToken"])

    def make_tables(self) -> None:
        self._ask(do="start", role="tables", name="tables", log=self._log("tables"))
        ended = self._ask(do="look", wait="tables")["ended"]
        if any(end["code"] for end in ended):
            raise RuntimeError(f"the shop's tables were not made: {(self._folder / 'tables.log').read_text()[-2000:]}")

    def start(self, name: str) -> None:
        port = self._reserved[name].getsockname()[1] if name in WEB else 0
        role = name.partition("-")[0]
        self._pids[name] = self._ask(do="start", role=role, name=name, log=self._log(name), port=port)["pid"]

    def kill(self, name: str) -> None:
        """SIGKILL to the whole group, at once."""
        os.killpg(self._pids[name], signal.SIGKILL)

    def look(self) -> dict[str, Any]:
        """`running`: names by process id; `ended`: name and exit code of every process that is gone."""
        return self._ask(do="look")

    def _log(self, name: str) -> str:
        return str(self._folder / f"{name}.log")

    def _ask(self, **command: Any) -> dict[str, Any]:
        launcher = self._launcher
        assert launcher is not None
        assert launcher.stdin is not None
        assert launcher.stdout is not None
        with self._lock:
            launcher.stdin.write(json.dumps(command) + "\n")
            launcher.stdin.flush()
            line = launcher.stdout.readline()
        if not line:
            raise RuntimeError(f"the launcher ended: {(self._folder / 'launcher.log').read_text()[-2000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer
