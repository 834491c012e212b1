"""A shop on PostgreSQL with Celery, a real broker, real workers and a service on a socket."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.celery.processes import Redis, Upstream, Worker
from tests.celery.till import create_till
from tests.scripted import Shop


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    service = Upstream()
    with service.running():
        yield service
        service.up.set()


@pytest.fixture
def broker() -> Iterator[Redis]:
    # A socket's path is short; pytest's folders are not.
    with tempfile.TemporaryDirectory(prefix="tests-redis-") as folder:
        server = Redis(Path(folder))
        yield server
        server.dies()


@pytest.fixture
def shop(postgres_database: str, upstream: Upstream, broker: Redis) -> Iterator[Shop]:
    """The shop's web process, which takes webhooks and leaves the reads to a worker."""
    shop = create_till(postgres_database, upstream.url, broker.url)
    with shop.app.app_context():
        shop.db.create_all()
    yield shop
    shop.app.extensions["celery"].close()
    with shop.app.app_context():
        shop.db.engine.dispose()


StartWorker = Callable[[], Worker]


@pytest.fixture
def start_worker(tmp_path: Path, postgres_database: str, upstream: Upstream, broker: Redis) -> Iterator[StartWorker]:
    """Starts workers of the shop, and kills the remaining ones at the end."""
    workers: list[Worker] = []
    environment = {"TILL_DATABASE": postgres_database, "TILL_SERVICE": upstream.url, "TILL_BROKER": broker.url}

    def start() -> Worker:
        workers.append(Worker(tmp_path, environment))
        return workers[-1]

    yield start
    upstream.up.set()
    for worker in workers:
        worker.dies()
