"""A payments service on a socket: every deposit is completed, and it watches who reads what at the same time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread

from tests.races.crowds import PATIENCE

__all__ = ["WatchingService", "watching_service"]


class WatchingService(ThreadingHTTPServer):
    """Answers nobody before it has heard from so many processes, told apart by their client ids."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, processes: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._processes = processes
        self._changed = Condition()
        self._under_way: Counter[str] = Counter()
        #: How often each deposit was read.
        self.reads: Counter[str] = Counter()
        #: How many reads each process made.
        self.readers: Counter[str] = Counter()
        #: Deposits that were read while another read of them was under way.
        self.overlapping: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def read(self, process: str, checkout_id: str) -> None:
        with self._changed:
            self.reads[checkout_id] += 1
            self.readers[process] += 1
            self._under_way[checkout_id] += 1
            if self._under_way[checkout_id] > 1:
                self.overlapping.append(checkout_id)
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: len(self.readers) >= self._processes, PATIENCE)

    def answered(self, checkout_id: str) -> None:
        with self._changed:
            self._under_way[checkout_id] -= 1


class _Handler(BaseHTTPRequestHandler):
    server: WatchingService

    def do_GET(self) -> None:
        checkout_id = self.path.rsplit("/", 1)[1]
        self.server.read(self.headers["X-Client-ID"], checkout_id)
        deposit = {
            "depositId": checkout_id,
            "status": "completed",
            "inputCurrency": "USD",
            "inputAmount": 12.5,
            "outputCurrency": "USD",
            "outputAmount": 12.5,
        }
        body = json.dumps({"statusCode": 200, "message": "ok", "data": deposit}).encode()
        # Before the answer is on its way: the next read of a process that has it overlaps nothing.
        self.server.answered(checkout_id)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Nothing is printed."""


@contextmanager
def watching_service(processes: int) -> Iterator[WatchingService]:
    with WatchingService(processes) as service:
        thread = Thread(target=service.serve_forever, daemon=True)
        thread.start()
        try:
            yield service
        finally:
            service.shutdown()
            thread.join(PATIENCE)
