"""Web applications under gunicorn with two sync workers, what their workers spend, and somebody who asks them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.measuring import CPU_MS, PER_SECOND

WORKERS = 2
_CUSTOMERS = 4
_ROOT = Path(__file__).parent.parent.parent
_PATIENCE = 30.0


@dataclass(frozen=True)
class Server:
    """A web application that runs.

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
        before = self._spent()
        began = time.perf_counter()
        ask(self.port, requests, status)
        seconds = time.perf_counter() - began
        spent = self._spent() - before
        return {PER_SECOND: len(requests) / seconds, CPU_MS: 1000 * spent / len(requests)}

    def _spent(self) -> float:
        return sum(processor_seconds(pid) for pid in self.workers())


def processor_seconds(pid: int) -> float:
    """The processor time that a process has spent, threads that ended included."""
    # Linux' number of the clock that clock_getcpuclockid(3) gives for a process.
    return time.clock_gettime((~pid << 3) | 2)


@contextmanager
def running_server(
    application: str, environment: Mapping[str, str], *, python: str = sys.executable, folder: Path = _ROOT
) -> Iterator[Server]:
    """Gunicorn with `application`, written `module:factory()`.

    :param python: of the environment that has it.
    :param folder: where its module is imported from.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listening, tempfile.TemporaryFile("w+") as errors:
        listening.set_inheritable(True)
        descriptor = listening.fileno()
        command = [python, "-m", "gunicorn", "-w", str(WORKERS), "-b", f"fd://{descriptor}", application]
        process = subprocess.Popen(
            [*command, "--timeout", "120", "--log-level", "warning"],
            cwd=folder,
            env=os.environ | dict(environment),
            pass_fds=[descriptor],
            stderr=errors,
        )
        server = Server(listening.getsockname()[1], process.pid)
        try:
            _wait(server, process)
            yield server
        except BaseException:
            errors.seek(0)
            sys.stderr.write(errors.read()[-4000:])
            raise
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(server: Server, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _PATIENCE
    while len(server.workers()) < WORKERS:
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError("gunicorn did not start")
        time.sleep(0.05)
    ask(server.port, [request_of("GET", "/ready")] * 4 * WORKERS, None)


def request_of(method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
    """A request as it goes over the wire; sync workers end the connection after each."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if method == "POST":
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def ask(port: int, requests: Sequence[bytes], status: int | None) -> None:
    """Send every request once, by several customers at the same time."""
    waiting = iter(requests)
    one_at_a_time = threading.Lock()

    def customer(_: int) -> None:
        while True:
            with one_at_a_time:
                request = next(waiting, None)
            if request is None:
                return
            answer = _exchange(port, request)
            if status is not None and not answer.startswith(b"HTTP/1.1 %d " % status):
                raise RuntimeError(f"{request[:200]!r} was answered {answer[:300]!r}")

    with ThreadPoolExecutor(_CUSTOMERS) as customers:
        list(customers.map(customer, range(_CUSTOMERS)))


def _exchange(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE) as connection:
        connection.sendall(request)
        answer = bytearray()
        while chunk := connection.recv(65536):
            answer += chunk
    return bytes(answer)
