"""Settle and reconcile as Celery tasks, for shops that run Celery; imported only by them.

The shop's Celery app is the one in `app.extensions["celery"]`, made as Flask's documentation shows: with a task class
that opens an application context. Workers learn of the tasks when this module is among its `include` or `imports`.

No task is needed for a payment to be found. The read that a queued `settle` would do is stored as due before it is
queued, so reconcile does it when the broker, the queue or the worker is lost.
"""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Any

from celery import Celery, shared_task  # type: ignore[import-untyped]
from flask import has_app_context

from flask_paycheckout.client import PaymentsError
from flask_paycheckout.errors import ConfigurationError, UnknownCheckout
from flask_paycheckout.runtime import Runtime, runtime

__all__ = ["RECONCILE", "SETTLE", "ask_broker", "queue_settle", "reconcile", "settle"]

SETTLE = "flask_paycheckout.settle"
RECONCILE = "flask_paycheckout.reconcile"

_PATIENCE = 1.0
# A webhook's sender waits for the answer, and nothing is lost without the task: one try, a second for each step of it.
# The names are those of Redis and of AMQP; each transport leaves the other's alone.
_IMPATIENT = {
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0,
    "interval_max": 0,
    "retry_on_timeout": False,
    "socket_timeout": _PATIENCE,
    "socket_connect_timeout": _PATIENCE,
    "connect_timeout": _PATIENCE,
    "read_timeout": _PATIENCE,
    "write_timeout": _PATIENCE,
}

_log = logging.getLogger("flask_paycheckout")


@shared_task(  # type: ignore[untyped-decorator]  # Celery has no types
    name=SETTLE,
    ignore_result=True,
    # Acknowledged when done: the task of a worker that was killed runs again.
    acks_late=True,
    reject_on_worker_lost=True,
    # Less than the lease of an event is renewed for, so that no task is still delivering what somebody else may deliver
    # again. The lease of a task that was killed ends within a minute.
    soft_time_limit=120,
    time_limit=180,
)
def settle(checkout_id: str, webhook: bool = False) -> str | None:
    """Read one deposit and apply what it says, as `PayCheckout.settle` does; gives the checkout's status.

    A service that does not answer is not asked again by the task: the next read is stored, and reconcile does it.

    :param webhook: a webhook hinted at this read.
    """
    try:
        shop = _shop()
        return (shop.settle_for_webhook if webhook else shop.settle)(checkout_id).status
    except (PaymentsError, UnknownCheckout) as error:
        _log.warning("checkout %s was not settled by its task: %s", checkout_id, error)
        return None


@shared_task(  # type: ignore[untyped-decorator]  # Celery has no types
    name=RECONCILE,
    ignore_result=True,
    # A round that hangs must not keep a worker for ever; what it leaves undone is due for the next one.
    time_limit=900,
)
def reconcile(limit: int | None = None) -> dict[str, int]:
    """One reconcile round, as `PayCheckout.reconcile` does; gives its counts. Rounds may overlap."""
    return asdict(_shop().reconcile(limit))


def queue_settle(celery_app: Celery, checkout_id: str) -> None:
    """Queue `settle` for a webhook, in about a second or not at all.

    :raises Exception: the broker could not be reached, in whatever words its transport has for that.
    """
    # A connection of its own, since those of the shop's pool wait as long as the shop configured.
    with _connection(celery_app) as connection:
        celery_app.tasks[SETTLE].apply_async((checkout_id, True), connection=connection, retry=False)


def ask_broker(celery_app: Celery) -> None:
    """Connect to the broker, in about a second or not at all.

    :raises Exception: it could not be reached.
    """
    with _connection(celery_app) as connection:
        connection.default_channel.close()


def _connection(celery_app: Celery) -> Any:
    return celery_app.connection_for_write(connect_timeout=_PATIENCE, transport_options=_IMPATIENT)


def _shop() -> Runtime:
    if not has_app_context():
        raise ConfigurationError(
            "the task runs without an application context. Make the Celery app with a task class that opens one,"
            " as flask_paycheckout's README and Flask's documentation show."
        )
    return runtime()
