"""A real worker and a real broker, either of which dies: the order is paid once, and its receiver runs once."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

from tests.celery.conftest import StartWorker
from tests.celery.processes import Redis, Upstream, Worker
from tests.celery.till import VISIBLE_AGAIN
from tests.races.effects import counts
from tests.scripted import Shop
from tests.waiting import eventually


def hears_of(shop: Shop, checkout_id: str) -> int:
    return shop.browser.post("/paycheckout/webhook", json={"orderId": checkout_id}).status_code


def paid_once(shop: Shop, checkout_id: str) -> bool:
    """Whether the order is paid and its receiver ran once, also after further reads."""
    shop.reconciles()
    [event] = shop.events("order_paid")
    assert (event.order_id, event.delivered_at is not None, counts(shop, "o-1")) == ("o-1", True, {"ship": 1})
    return bool(shop.attempt(checkout_id).status == "paid")


def works_on_a_webhook(shop: Shop, start_worker: StartWorker, upstream: Upstream) -> tuple[str, Worker]:
    """Start a worker that reads a checkout in a task, which the service has not answered yet; returns both."""
    checkout_id = shop.starts()
    upstream.up.clear()
    hears_of(shop, checkout_id)
    worker = start_worker()
    eventually(lambda: upstream.read)
    return checkout_id, worker


def test_a_worker_killed_in_the_middle_of_a_task(shop: Shop, start_worker: StartWorker, upstream: Upstream) -> None:
    checkout_id, worker = works_on_a_webhook(shop, start_worker, upstream)
    worker.dies()
    died = time.monotonic()
    upstream.up.set()
    assert shop.attempt(checkout_id).status == "created"
    # A worker looks for such tasks at its start; older versions of kombu look again only after more than a minute.
    eventually(lambda: time.monotonic() > died + VISIBLE_AGAIN)
    start_worker()
    eventually(lambda: counts(shop, "o-1"))
    assert shop.attempt(checkout_id).found_by == "webhook", "the task ran again; reconcile did not run"
    assert paid_once(shop, checkout_id)


def test_a_child_killed_in_the_middle_of_a_task(shop: Shop, start_worker: StartWorker, upstream: Upstream) -> None:
    """The kernel kills it like this when memory runs out: the worker itself continues, and the task runs again."""
    checkout_id, worker = works_on_a_webhook(shop, start_worker, upstream)
    for pid in worker.children:
        os.kill(pid, signal.SIGKILL)
    upstream.up.set()
    eventually(lambda: counts(shop, "o-1"))
    assert shop.attempt(checkout_id).found_by == "webhook"
    assert paid_once(shop, checkout_id)


def test_a_broker_that_dies_with_the_task_in_it(shop: Shop, broker: Redis) -> None:
    checkout_id = shop.starts()
    assert hears_of(shop, checkout_id) == 200
    broker.dies()
    assert paid_once(shop, checkout_id)
    assert shop.attempt(checkout_id).found_by == "reconcile"


@pytest.mark.parametrize("happens", [Redis.dies, Redis.hangs])
def test_a_webhook_while_the_broker_is_gone(shop: Shop, broker: Redis, happens: Callable[[Redis], None]) -> None:
    checkout_id = shop.starts()
    happens(broker)
    assert answers_soon(shop, checkout_id)
    assert paid_once(shop, checkout_id)


def answers_soon(shop: Shop, checkout_id: str) -> bool:
    """Whether the webhook is answered within a minute; by default, Celery waits for a hanging broker for ever."""
    answers: list[int] = []
    web = threading.Thread(target=lambda: answers.append(hears_of(shop, checkout_id)), daemon=True)
    web.start()
    web.join(60)
    assert shop.attempt(checkout_id).webhooks == 1, "stored, though not queued"
    return answers == [200]
