"""The least that a reconcile round can do: the same reads and the same two transactions, without what keeps promises.

Rows that are due are claimed, each deposit is read by `http.client` in one of as many threads, and settled on one of a
few connections of the database's own driver: the row and its event in one transaction, the receiver's row and the
event's mark in another. Nothing is compared, retried, logged or told; whoever dies loses what it held.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from threading import local
from urllib.parse import urlsplit

from tests.benchmarks.floor import Store

_CONNECTIONS = 3
_TABLES = (
    "CREATE TABLE floor_checkout (id VARCHAR(64) PRIMARY KEY, status VARCHAR(16), due INTEGER)",
    "CREATE TABLE floor_event (id VARCHAR(64) PRIMARY KEY, told INTEGER)",
    "CREATE TABLE floor_shipped (id VARCHAR(64))",
)


class FloorRounds:
    """Rounds over so many due checkouts.

    :param database: an address of SQLAlchemy's; the tables are made in it.
    :param readers: deposits that are read at once.
    """

    def __init__(self, database: str, service: str, readers: int) -> None:
        self._single = database.startswith("sqlite")
        self._connections: SimpleQueue[Store] = SimpleQueue()
        for _ in range(1 if self._single else _CONNECTIONS):
            self._connections.put(Store(database))
        self._netloc = urlsplit(service).netloc
        self._readers = readers
        self._thread = local()
        self._services: list[http.client.HTTPConnection] = []
        with self._connection() as connection:
            for table in _TABLES:
                connection.run(table)

    def round(self, first: int, count: int) -> tuple[float, float]:
        """The seconds of a round, and those of processor time that this process spent."""
        ids = [f"floor-{number:09}" for number in range(first, first + count)]
        with self._connection() as connection:
            connection.run_all(*(("INSERT INTO floor_checkout VALUES (?, 'created', 1)", (each,)) for each in ids))
        began, spent = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(self._readers) as readers:
            if self._single:
                for checkout_id in readers.map(self._read, self._claimed(ids)):
                    self._settle(checkout_id)
            else:
                for _ in readers.map(lambda checkout_id: self._settle(self._read(checkout_id)), self._claimed(ids)):
                    pass
        took = time.perf_counter() - began, time.process_time() - spent
        while self._services:
            self._services.pop().close()
        return took

    def close(self) -> None:
        while not self._connections.empty():
            self._connections.get().close()

    @contextmanager
    def _connection(self) -> Iterator[Store]:
        connection = self._connections.get()
        try:
            yield connection
        finally:
            self._connections.put(connection)

    def _claimed(self, ids: list[str]) -> Iterator[str]:
        """Every id, claimed by halves of what is read at once."""
        half = max(1, self._readers // 2)
        for start in range(0, len(ids), half):
            some = ids[start : start + half]
            marks = ", ".join("?" for _ in some)
            with self._connection() as connection:
                connection.run(f"UPDATE floor_checkout SET due = 0 WHERE id IN ({marks})", *some)  # noqa: S608
            yield from some

    def _read(self, checkout_id: str) -> str:
        if not hasattr(self._thread, "service"):
            self._thread.service = http.client.HTTPConnection(self._netloc)
            self._services.append(self._thread.service)
        self._thread.service.request("GET", f"/v1/deposit/{checkout_id}")
        deposit = json.loads(self._thread.service.getresponse().read())["data"]
        assert deposit["status"] == "completed"
        return checkout_id

    def _settle(self, checkout_id: str) -> None:
        with self._connection() as connection:
            connection.run_all(
                ("UPDATE floor_checkout SET status = 'paid' WHERE id = ? AND status = 'created'", (checkout_id,)),
                ("INSERT INTO floor_event VALUES (?, 0)", (checkout_id,)),
            )
            connection.run_all(
                ("INSERT INTO floor_shipped VALUES (?)", (checkout_id,)),
                ("UPDATE floor_event SET told = 1 WHERE id = ? AND told = 0", (checkout_id,)),
            )
