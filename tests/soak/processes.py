"""The processes of a run: starts, kills and watches them, and records their ends.

Each is forked from one process that has imported the shop, like with gunicorn's `--preload`, so that five hundred
restarts do not need five hundred imports.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Collection
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tests.ports import free_port
from tests.soak.roles import HOST, become

WEB = ("web-1", "web-2")
RECONCILE = ("reconcile-1", "reconcile-2")
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([become.__module__])


@dataclass(frozen=True)
class Sandbox:
    """The address of the payments service, and its control token."""

    url: str
    token: str


class Processes:
    """Everything that a run starts; a context manager that leaves nothing behind.

    :param folder: for logs and settings.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = {name: free_port() for name in WEB}
        self._running: dict[str, BaseProcess] = {}
        #: The processes that ended by themselves before their kill, with their exit codes.
        self._ended: list[tuple[str, int | None]] = []

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running.values():
            process.kill()
            process.join()

    def url(self, name: str) -> str:
        """The address of a web process, also while it does not run."""
        return f"http://{HOST}:{self._ports[name]}"

    def start_sandbox(self, token: str, *arguments: str) -> Sandbox:
        port = free_port()
        self._fork("sandbox", "--port", str(port), "--control-token", token, *arguments)
        return Sandbox(f"http://{HOST}:{port}", token)

    def make_tables(self) -> None:
        self._wait_for("tables")

    def run(self, out: Path, *arguments: str, codes: Collection[int] = (0,)) -> None:
        """Run `flask paycheckout` with these arguments, and write its output to a file.

        :param codes: the exit codes that mean success.
        """
        self._wait_for(f"command-{arguments[0]}", str(out), *arguments, codes=codes)

    def _wait_for(self, name: str, *arguments: str, codes: Collection[int] = (0,)) -> None:
        process = self._fork(name, *arguments)
        process.join()
        if process.exitcode not in codes:
            raise RuntimeError(f"{name} failed: {(self._folder / f'{name}.log').read_text()[-2000:]}")
        del self._running[name]

    def start(self, name: str) -> None:
        self._fork(name, *([self._ports[name]] if name in WEB else []))

    def kill(self, name: str) -> None:
        """Kill a process with SIGKILL, unless it has ended by itself."""
        process = self._running.pop(name)
        process.kill()
        process.join()
        if process.exitcode != -signal.SIGKILL:
            self._ended.append((name, process.exitcode))

    def ended(self) -> list[tuple[str, int | None]]:
        """The processes that ended by themselves, with their exit codes."""
        codes = [(name, process.exitcode) for name, process in self._running.items()]
        return self._ended + [(name, code) for name, code in codes if code is not None]

    def _fork(self, name: str, *arguments: Any) -> BaseProcess:
        folder, role = self._folder, name.partition("-")[0]
        start = (role, arguments, str(folder / "settings.json"), str(folder / f"{name}.log"))
        process = self._running[name] = _FORKS.Process(target=become, args=start, name=name, daemon=True)
        process.start()
        return process
