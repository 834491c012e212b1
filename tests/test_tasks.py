"""The Celery tasks: thin, found under fixed names, and they lose and repeat nothing. `tests/celery` tests workers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery  # type: ignore[import-untyped]

from flask_paycheckout import ConfigurationError, tasks
from flask_paycheckout.events import receiver_runs
from tests.celery.till import celery_init_app
from tests.conftest import OpenShop
from tests.payouts.shop import pays_out
from tests.scripted import Shop


@pytest.fixture
def shop(open_shop: OpenShop) -> Iterator[Shop]:
    """A shop that defers webhooks to Celery."""
    shop = open_shop(PAYCHECKOUT_DEFER_WEBHOOKS=True)
    celery_app = celery_init_app(shop.app, "memory://")
    celery_app.conf.update(task_always_eager=True, task_eager_propagates=True)
    yield shop
    celery_app.close()


def run(shop: Shop, name: str, *arguments: Any) -> Any:
    """The result of a task of this name, run as a worker runs it."""
    return shop.app.extensions["celery"].tasks[name].apply(arguments).get()


def test_a_deferred_webhook_becomes_a_task(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed")
    assert shop.hears_of(checkout_id) == 200
    attempt = shop.attempt(checkout_id)
    assert (attempt.status, attempt.found_by) == ("paid", "webhook")


def test_a_shop_without_a_celery_app_stores_and_leaves_the_read_to_reconcile(
    open_shop: OpenShop, caplog: pytest.LogCaptureFixture
) -> None:
    shop = open_shop(PAYCHECKOUT_DEFER_WEBHOOKS=True)
    checkout_id = shop.has_deposit("completed")
    assert shop.hears_of(checkout_id) == 200
    assert (shop.service.reads, caplog.text) == ([], ""), "as it is meant to be: nothing to warn of"
    assert shop.reconciles().changed == 1


def test_a_queue_that_fails_costs_nothing_but_time(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.app.extensions["celery"] = "no Celery app"
    checkout_id = shop.has_deposit("completed")
    assert shop.hears_of(checkout_id) == 200
    [record] = caplog.records
    assert (record.levelno, record.exc_info) == (logging.WARNING, None)
    assert "not read now, reconcile will" in record.getMessage()
    assert shop.reconciles().changed == 1


def test_settle_settles(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed")
    assert run(shop, "flask_paycheckout.settle", checkout_id) == "paid"
    assert shop.attempt(checkout_id).found_by == "settle"


def test_settle_does_not_ask_again_when_the_service_fails(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    """The next read is stored with back-off; a retried task would add load to a failing service."""
    checkout_id = shop.starts()
    shop.service.fails(checkout_id)
    assert run(shop, "flask_paycheckout.settle", checkout_id) is None
    assert shop.service.reads == [checkout_id]
    assert [record.levelno for record in caplog.records if "by its task" in record.message] == [logging.WARNING]
    assert shop.attempt(checkout_id).next_read_at > shop.clock()


def test_settle_of_a_checkout_that_is_not_stored_is_no_error(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    assert run(shop, "flask_paycheckout.settle", "chk-404") is None
    assert "chk-404 was not settled" in caplog.text


def test_reconcile_is_a_round(shop: Shop) -> None:
    shop.has_deposit("completed")
    shop.starts("o-2")
    first = run(shop, "flask_paycheckout.reconcile", 1)
    assert first["checked"] == 1
    assert run(shop, "flask_paycheckout.reconcile")["checked"] == 1


def test_send_payouts_is_a_round_of_payouts(shop: Shop) -> None:
    pays_out(shop)
    assert run(shop, "flask_paycheckout.send_payouts")["left"] == 1


def test_a_task_outside_of_the_shop_says_how_to_bring_it_in(shop: Shop) -> None:
    plain = Celery("plain", broker="memory://", set_as_current=False)
    with pytest.raises(ConfigurationError, match="without an application context"):
        plain.tasks["flask_paycheckout.settle"].apply(("chk-1",)).get()
    plain.close()


def test_no_task_outlives_the_lease_of_the_event_that_it_delivers(shop: Shop) -> None:
    """The lease is renewed while a receiver works, but not for ever."""
    settle = shop.app.extensions["celery"].tasks["flask_paycheckout.settle"]
    assert settle.soft_time_limit < settle.time_limit < receiver_runs.LONGEST
    assert settle.time_limit <= 180, "as docs/production.md says"
    assert all(shop.app.extensions["celery"].tasks[name].ignore_result for name in (tasks.SETTLE, tasks.RECONCILE))
