"""A shop with Celery beside a real broker, real workers and a service on a socket."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.runtime import KEY
from tests.celery import till
from tests.celery.processes import Redis, Upstream, Worker


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    service = Upstream()
    with service.running():
        yield service
        service.go_on()


@pytest.fixture
def broker() -> Iterator[Redis]:
    # A socket's path is short; pytest's folders are not.
    with tempfile.TemporaryDirectory(prefix="tests-redis-") as folder:
        server = Redis(Path(folder))
        yield server
        server.dies()


class Till:
    """The web process of the shop: takes webhooks and leaves the reads to a worker."""

    def __init__(self, app: Flask) -> None:
        self.app = app

    def starts(self, order_id: str = "o-1") -> str:
        with self.app.app_context():
            return str(till.paycheckout.start(order_id).checkout_id)

    def hears_of(self, checkout_id: str) -> int:
        answer = self.app.test_client().post("/paycheckout/webhook", json={"orderId": checkout_id})
        return answer.status_code

    def reconciles(self) -> Any:
        with self.app.app_context():
            return till.paycheckout.reconcile()

    def attempt(self, checkout_id: str) -> Any:
        return self.app.extensions[KEY].checkouts.find(checkout_id)

    def is_paid(self, checkout_id: str) -> bool:
        return bool(self.attempt(checkout_id).status == "paid")

    def told(self) -> list[tuple[str, bool]]:
        """The events that `order_paid` was fired for, and whether each is delivered."""
        event = till.paycheckout.Event
        with self.app.app_context():
            rows = till.db.session.scalars(till.db.select(event).where(event.name == "order_paid")).all()
            return [(row.order_id, row.delivered_at is not None) for row in rows]

    def shipped(self) -> list[str]:
        """An order for each time that the receiver's work was committed."""
        with self.app.app_context():
            return list(till.db.session.scalars(till.db.select(till.Shipment.order_id)))


@pytest.fixture
def shop(each_database: str, upstream: Upstream, broker: Redis) -> Iterator[Till]:
    app = till.create_app(each_database, upstream.url, broker.url)
    with app.app_context():
        till.db.create_all()
    yield Till(app)
    app.extensions["celery"].close()
    with app.app_context():
        till.db.engine.dispose()


StartWorker = Callable[[], Worker]


@pytest.fixture
def start_worker(tmp_path: Path, each_database: str, upstream: Upstream, broker: Redis) -> Iterator[StartWorker]:
    """Starts workers of the shop; stops what is left of them."""
    workers: list[Worker] = []
    environment = {"TILL_DATABASE": each_database, "TILL_SERVICE": upstream.url, "TILL_BROKER": broker.url}

    def start() -> Worker:
        workers.append(Worker(tmp_path, "tests.celery.till:celery_app", environment))
        return workers[-1]

    yield start
    upstream.go_on()
    for worker in workers:
        worker.stops()
