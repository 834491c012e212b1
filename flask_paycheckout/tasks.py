"""Celery tasks for `settle`, `reconcile` and `send_payouts`.

The shop's Celery app must be in `app.extensions["celery"]`, made as Flask's documentation shows: with a task class that
opens an application context. Workers know the tasks if its `include` or `imports` lists this module.

Payments are found without the tasks too. The read of a queued `settle` is stored as due before the task is queued, so
reconcile makes it if the broker, the queue or the worker fails.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from celery import Celery, shared_task  # type: ignore[import-untyped]
from flask import has_app_context

from flask_paycheckout.checkouts.states import FoundBy
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.errors import ConfigurationError, UnknownCheckout
from flask_paycheckout.runtime import Runtime, for_writing, runtime
from flask_paycheckout.wiring.logs import about

__all__ = ["RECONCILE", "SEND_PAYOUTS", "SETTLE", "queue_settle", "reconcile", "send_payouts", "settle"]

SETTLE = "flask_paycheckout.settle"
RECONCILE = "flask_paycheckout.reconcile"
SEND_PAYOUTS = "flask_paycheckout.send_payouts"

_PATIENCE = 1.0
# One try, with a timeout of a second for each step: a webhook's sender waits for the answer, and without the task
# nothing is lost. Some names are Redis's and some AMQP's; each transport ignores the other names.
_ONE_QUICK_TRY = {
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


@shared_task(  # type: ignore[untyped-decorator]  # Celery has no types
    name=SETTLE,
    ignore_result=True,
    # Acknowledge after the task, so that the task of a killed worker runs again.
    acks_late=True,
    reject_on_worker_lost=True,
    # Shorter than the time for which an event's lease is renewed, so that no other process delivers the same event
    # meanwhile. The lease of a killed task ends within a minute.
    soft_time_limit=120,
    time_limit=180,
)
def settle(checkout_id: str, webhook: bool = False) -> str | None:
    """Read one deposit and apply the result, like `PayCheckout.settle`; returns the checkout's status.

    If the service does not answer, the task does not retry: the next read is stored as due for reconcile.

    :param webhook: whether a webhook caused this read.
    """
    try:
        settlement = _shop(f"settle({checkout_id!r})").settlement
        return settlement.settle(checkout_id, FoundBy.WEBHOOK if webhook else FoundBy.SETTLE).status
    except (PaymentsError, UnknownCheckout) as error:
        fields, text = about(checkout_id=checkout_id), "checkout %s was not settled by its task: %s"
        runtime().log.warning("tasks", text, checkout_id, error, extra=fields)
        return None


@shared_task(  # type: ignore[untyped-decorator]  # Celery has no types
    name=RECONCILE,
    ignore_result=True,
    # A round that hangs must not occupy a worker forever; the next round does the rest of its work.
    time_limit=900,
)
def reconcile(limit: int | None = None) -> dict[str, Any]:
    """Run one reconcile round, like `PayCheckout.reconcile`, and return its counts. Rounds may overlap."""
    return asdict(_shop("reconcile()").reconciler.run(limit))


@shared_task(  # type: ignore[untyped-decorator]  # Celery has no types
    name=SEND_PAYOUTS,
    ignore_result=True,
    # The claims of a killed round expire, and the next round looks up the payouts that it was sending.
    time_limit=900,
)
def send_payouts() -> dict[str, int]:
    """Send and follow payouts, like `PayCheckout.send_payouts`, and return the counts. Rounds may overlap.

    `reconcile` does this too; this task is for a shop with separate workers for payouts.
    """
    return asdict(_shop("send_payouts()").payout_sender.run()[0])


def queue_settle(celery_app: Celery, checkout_id: str) -> None:
    """Queue `settle` for a webhook, or fail after about a second.

    :raises Exception: the broker could not be reached; the type depends on its transport.
    """
    # A connection of our own, because the connections in the shop's pool have the shop's timeouts.
    opened = celery_app.connection_for_write(connect_timeout=_PATIENCE, transport_options=_ONE_QUICK_TRY)
    with opened as connection:
        celery_app.tasks[SETTLE].apply_async((checkout_id, True), connection=connection, retry=False)


def _shop(call: str) -> Runtime:
    if not has_app_context():
        raise ConfigurationError(
            "the task runs without an application context. Make the Celery app with a task class that opens one,"
            " as docs/production.md of flask_paycheckout and Flask's documentation show."
        )
    return for_writing(call)
