"""The least that a reconcile round can do: the same reads and the same transactions, without what keeps promises.

Rows that are due are claimed, each deposit is read in one of as many threads, and settled on one of a few connections.
With an atomic receiver one transaction has the row, its event and the receiver's row; with a plain one a second
transaction has the receiver's row and the event's mark. Nothing is compared, signed, retried, logged or told; whoever
dies loses what it held.

The raw floor uses `http.client` and the database's own driver, the same-stack floor httpx and SQLAlchemy Core.
"""

from __future__ import annotations

import http.client
import json
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlsplit

import httpx
import sqlalchemy as sa

from tests.benchmarks.floor import Store

_CONNECTIONS = 3
_TABLES = sa.MetaData()
_CHECKOUTS = sa.Table(
    "floor_checkout",
    _TABLES,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("status", sa.String(16)),
    sa.Column("due", sa.Integer),
)
_EVENTS = sa.Table(
    "floor_event", _TABLES, sa.Column("id", sa.String(64), primary_key=True), sa.Column("told", sa.Integer)
)
_SHIPPED = sa.Table("floor_shipped", _TABLES, sa.Column("id", sa.String(64)))

_CLAIM = sa.update(_CHECKOUTS).where(_CHECKOUTS.c.id.in_(sa.bindparam("ids", expanding=True))).values(due=0)
_PAY = (
    sa.update(_CHECKOUTS)
    .where(_CHECKOUTS.c.id == sa.bindparam("of"), _CHECKOUTS.c.status == "created")
    .values(status="paid")
)
_TELL, _SHIP = sa.insert(_EVENTS), sa.insert(_SHIPPED)
_MARK = sa.update(_EVENTS).where(_EVENTS.c.id == sa.bindparam("of"), _EVENTS.c.told == 0).values(told=1)


class FloorRounds(ABC):
    """Rounds over so many due checkouts.

    :param database: an address of SQLAlchemy's; the tables are made in it.
    :param readers: deposits that are read at once.
    :param atomic: whether the receiver's row is in the transaction of the move.
    """

    def __init__(self, database: str, service: str, readers: int, *, atomic: bool) -> None:
        self._single = database.startswith("sqlite")
        self._service = service
        self._readers = readers
        self._atomic = atomic
        # Kept from round to round, as the extension keeps its own.
        self._services: deque[Any] = deque(self._connect() for _ in range(readers))
        self._engine = sa.create_engine(database, pool_size=1 if self._single else _CONNECTIONS, max_overflow=0)
        _TABLES.create_all(self._engine)

    def round(self, first: int, count: int) -> tuple[float, float]:
        """The seconds of a round, and those of processor time that this process spent."""
        ids = [f"{type(self).__name__}-{number:09}" for number in range(first, first + count)]
        with self._engine.begin() as connection:
            connection.execute(sa.insert(_CHECKOUTS), [{"id": each, "status": "created", "due": 1} for each in ids])
        began, spent = time.perf_counter(), time.process_time()
        with ThreadPoolExecutor(self._readers) as readers:
            if self._single:
                for checkout_id in readers.map(self._read, self._claimed(ids)):
                    self._settle(checkout_id)
            else:
                for _ in readers.map(lambda checkout_id: self._settle(self._read(checkout_id)), self._claimed(ids)):
                    pass
        return time.perf_counter() - began, time.process_time() - spent

    def close(self) -> None:
        while self._services:
            self._services.pop().close()
        self._engine.dispose()

    def _claimed(self, ids: list[str]) -> Iterator[str]:
        """Every id, claimed by halves of what is read at once."""
        half = max(1, self._readers // 2)
        for start in range(0, len(ids), half):
            some = ids[start : start + half]
            self._claim(some)
            yield from some

    def _read(self, checkout_id: str) -> str:
        service = self._services.pop()
        deposit = json.loads(self._answer(service, f"/v1/deposit/{checkout_id}"))["data"]
        self._services.append(service)
        assert deposit["status"] == "completed"
        return checkout_id

    name: str

    @abstractmethod
    def _connect(self) -> Any:
        """A connection to the service, for one thread at a time."""

    @abstractmethod
    def _answer(self, service: Any, path: str) -> bytes: ...

    @abstractmethod
    def _claim(self, ids: list[str]) -> None: ...

    @abstractmethod
    def _settle(self, checkout_id: str) -> None: ...


class RawRounds(FloorRounds):
    """With `http.client` and the driver."""

    name = "raw floor"

    def __init__(self, database: str, service: str, readers: int, *, atomic: bool) -> None:
        super().__init__(database, service, readers, atomic=atomic)
        self._connections: SimpleQueue[Store] = SimpleQueue()
        for _ in range(1 if self._single else _CONNECTIONS):
            self._connections.put(Store(database))

    def close(self) -> None:
        while not self._connections.empty():
            self._connections.get().close()
        super().close()

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(urlsplit(self._service).netloc)

    def _answer(self, service: http.client.HTTPConnection, path: str) -> bytes:
        service.request("GET", path)
        return service.getresponse().read()

    @contextmanager
    def _connection(self) -> Iterator[Store]:
        connection = self._connections.get()
        try:
            yield connection
        finally:
            self._connections.put(connection)

    def _claim(self, ids: list[str]) -> None:
        marks = ", ".join("?" for _ in ids)
        with self._connection() as connection:
            connection.run(f"UPDATE floor_checkout SET due = 0 WHERE id IN ({marks})", *ids)  # noqa: S608

    def _settle(self, checkout_id: str) -> None:
        pay = ("UPDATE floor_checkout SET status = 'paid' WHERE id = ? AND status = 'created'", (checkout_id,))
        tell = "INSERT INTO floor_event VALUES (?, ?)"
        ship = ("INSERT INTO floor_shipped VALUES (?)", (checkout_id,))
        mark = ("UPDATE floor_event SET told = 1 WHERE id = ? AND told = 0", (checkout_id,))
        with self._connection() as connection:
            if self._atomic:
                connection.run_all(pay, (tell, (checkout_id, 1)), ship)
            else:
                connection.run_all(pay, (tell, (checkout_id, 0)))
                connection.run_all(ship, mark)


class SameStackRounds(FloorRounds):
    """With httpx, a client for each reader, and SQLAlchemy Core."""

    name = "same stack"

    def _connect(self) -> httpx.Client:
        return httpx.Client(base_url=self._service, trust_env=False)

    def _answer(self, service: httpx.Client, path: str) -> bytes:
        return service.get(path).content

    def _claim(self, ids: list[str]) -> None:
        with self._engine.begin() as connection:
            connection.execute(_CLAIM, {"ids": ids})

    def _settle(self, checkout_id: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(_PAY, {"of": checkout_id})
            connection.execute(_TELL, {"id": checkout_id, "told": int(self._atomic)})
            if self._atomic:
                connection.execute(_SHIP, {"id": checkout_id})
        if not self._atomic:
            with self._engine.begin() as connection:
                connection.execute(_SHIP, {"id": checkout_id})
                connection.execute(_MARK, {"of": checkout_id})
