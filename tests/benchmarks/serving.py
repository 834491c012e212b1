"""Web applications under gunicorn with two sync workers, their use of processor and memory, and a client for them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.benchmarks.measuring import CPU_MS, PER_SECOND
from tests.waiting import eventually

_WORKERS, _CUSTOMERS = 2, 4
_ROOT = Path(__file__).parent.parent.parent
_PATIENCE = 30.0


@dataclass(frozen=True)
class Server:
    """A running web application.

    :ivar port: on the loopback interface.
    :ivar pid: of gunicorn's own process.
    """

    port: int
    pid: int

    def workers(self) -> list[int]:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        return [int(child) for child in children.split()]

    def asked(self, requests: Sequence[bytes], status: int) -> dict[str, float]:
        """The pace of these requests, and the workers' processor time for each; every answer must have this status."""
        before, began = self._spent(), time.perf_counter()
        with ThreadPoolExecutor(_CUSTOMERS) as customers:
            for answer in customers.map(partial(exchanged, self.port), requests):
                assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:300]
        seconds, spent = time.perf_counter() - began, self._spent() - before
        return {PER_SECOND: len(requests) / seconds, CPU_MS: 1000 * spent / len(requests)}

    def mebibytes(self) -> float:
        """The memory of gunicorn and its workers; shared memory counts once."""
        rolls = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in (self.pid, *self.workers())]
        return sum(int(roll.partition("Pss:")[2].split()[0]) for roll in rolls) / 1024

    def _spent(self) -> float:
        return sum(processor_seconds(pid) for pid in self.workers())


def processor_seconds(pid: int) -> float:
    """The processor time that a process has used, including ended threads."""
    # The number that clock_getcpuclockid(3) returns for a process on Linux.
    return time.clock_gettime((~pid << 3) | 2)


@contextmanager
def running_server(
    application: str,
    environment: Mapping[str, str],
    *options: str,
    python: str = sys.executable,
    folder: Path = _ROOT,
) -> Iterator[Server]:
    """Run gunicorn with `application`, written `module:factory()`.

    :param options: further options of gunicorn.
    :param python: the Python of the environment that has the application.
    :param folder: the folder from which its module is imported.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listening:
        descriptor = listening.fileno()
        command = [python, "-m", "gunicorn", "-w", str(_WORKERS), "-b", f"fd://{descriptor}", application]
        process = subprocess.Popen(
            [*command, "--timeout", "120", "--log-level", "warning", *options],
            cwd=folder,
            env=os.environ | dict(environment),
            pass_fds=[descriptor],
        )
        server = Server(listening.getsockname()[1], process.pid)
        try:
            eventually(lambda: len(server.workers()) == _WORKERS, _PATIENCE)
            yield server
        finally:
            process.terminate()
            process.wait(_PATIENCE)


def request_of(method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
    """A request as it goes over the wire; sync workers end the connection after each."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if method == "POST":
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def exchanged(port: int, request: bytes) -> bytes:
    """The answer to a request, over a connection of its own."""
    with socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))
