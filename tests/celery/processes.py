"""The processes around a shop with Celery: a broker and a worker, which can die, and a service that can be slow."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from itertools import count
from pathlib import Path

from tests.optional_parts import redis
from tests.scripted import number, success
from tests.socket_service import Call, SocketService
from tests.waiting import eventually

ROOT = Path(__file__).parent.parent.parent


class Redis:
    """A Redis server on a socket in its own folder, which stores nothing on disk."""

    def __init__(self, folder: Path) -> None:
        socket = folder / "redis.sock"
        command = [redis(), "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder]
        self.url = f"redis+socket://{socket}"
        self._process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
        eventually(socket.exists)

    def hangs(self) -> None:
        """Let the server accept connections without answering."""
        self._process.send_signal(signal.SIGSTOP)

    def dies(self) -> None:
        self._process.kill()
        self._process.wait(timeout=60)


class Worker:
    """A Celery worker with one child process, loaded like a shop's worker."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        log = folder / f"worker-{time.monotonic_ns()}.log"
        command = f"{sys.executable} -m celery -A tests.celery.till:celery_app worker --concurrency 1 --loglevel INFO"
        with log.open("w") as written:
            # Its own process group, so that all its processes can be killed at once.
            self._process = subprocess.Popen(
                command.split(),
                cwd=ROOT,
                env=os.environ | environment,
                stdout=written,
                stderr=written,
                start_new_session=True,
            )
        eventually(lambda: " ready." in log.read_text())

    @property
    def children(self) -> list[int]:
        listed = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
        return [int(pid) for pid in listed.split()]

    def dies(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(timeout=60)


class Upstream(SocketService):
    """A service on which every deposit is completed; with `up` cleared, reads wait for their answer."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []
        self._ids = count(1)
        self.up = threading.Event()
        self.up.set()

    def creates(self, call: Call) -> bytes:
        checkout_id = f"chk-{next(self._ids)}"
        return success({"id": checkout_id, "url": f"https://pay.example/{checkout_id}"}, 201)

    def reads(self, call: Call) -> bytes:
        self.read.append(call.name)
        self.up.wait()
        paid = {"depositId": call.name, "status": "completed", "inputCurrency": "USD", "inputAmount": number("12.50")}
        return success(paid)
