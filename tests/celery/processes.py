"""The processes around a shop with Celery, each of which can die: broker, worker; and a service that can be slow."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec

from tests.optional_parts import redis
from tests.scripted import success

ROOT = Path(__file__).parent.parent.parent


def eventually(condition: Callable[[], object], seconds: float = 60) -> None:
    """Waits until it holds; fails when it does not in so many seconds."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


class Redis:
    """A server on a socket in a folder of its own, which keeps nothing on the disk."""

    def __init__(self, folder: Path) -> None:
        socket = folder / "redis.sock"
        command = [redis(), "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder]
        self.url = f"redis+socket://{socket}"
        self._process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
        eventually(socket.exists)

    def hangs(self) -> None:
        """Takes connections, and says nothing any more."""
        self._process.send_signal(signal.SIGSTOP)

    def dies(self) -> None:
        self._process.kill()
        self._process.wait(timeout=60)


class Worker:
    """A Celery worker with one child process, loaded as a shop's would be."""

    def __init__(self, folder: Path, app: str, environment: dict[str, str], *options: str, cwd: Path = ROOT) -> None:
        self._log = folder / f"worker-{time.monotonic_ns()}.log"
        command = [sys.executable, "-m", "celery", "-A", app, "worker", "--concurrency", "1", "--loglevel", "INFO"]
        with self._log.open("w") as log:
            # A group of its own, so that all of it can be killed at once.
            self._process = subprocess.Popen(
                [*command, *options],
                cwd=cwd,
                env=os.environ | environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        eventually(lambda: " ready." in self.log)

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def children(self) -> list[int]:
        listed = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
        return [int(pid) for pid in listed.split()]

    def dies(self) -> None:
        """Worker and children, at whatever instruction they are."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=60)

    def stops(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.dies()


class Upstream:
    """The payments service: every deposit is completed, and `hold` lets reads wait for their answer."""

    def __init__(self) -> None:
        self.reads: list[str] = []
        self._go_on = threading.Event()
        self._go_on.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def hold(self) -> None:
        self._go_on.clear()

    def go_on(self) -> None:
        self._go_on.set()

    def close(self) -> None:
        self.go_on()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        upstream = self
        created: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                created.append(f"chk-{len(created) + 1}")
                self.answer(success({"id": created[-1], "url": f"https://pay.example/{created[-1]}"}, 201))

            def do_GET(self) -> None:
                checkout_id = self.path.rsplit("/", 1)[1]
                upstream.reads.append(checkout_id)
                upstream._go_on.wait()
                paid = {"depositId": checkout_id, "status": "completed", "inputCurrency": "USD"}
                self.answer(success(paid | {"inputAmount": msgspec.Raw(b"12.50")}))

            def answer(self, body: bytes) -> None:
                try:
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    # Who asked was killed meanwhile.
                    self.close_connection = True

            def log_message(self, *words: object) -> None:
                pass

        return Handler
