"""What the extension holds for one application, and the only place where its parts are put together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from typing import Any

from flask import Flask, current_app, has_request_context, request
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Engine
from sqlalchemy.orm import scoped_session

from flask_paycheckout.checkouts.logs import prepare_logger
from flask_paycheckout.checkouts.order_status import Standing, Standings
from flask_paycheckout.checkouts.outbox import Delivery, Outbox
from flask_paycheckout.checkouts.payment_backfill import PaymentBackfill
from flask_paycheckout.checkouts.reconcile import Progress, Reconciler, ReconcileReport
from flask_paycheckout.checkouts.settlement import Settlement
from flask_paycheckout.checkouts.start import Checkouts
from flask_paycheckout.checkouts.webhooks import Notices
from flask_paycheckout.client import PaymentsClient
from flask_paycheckout.clock import Clock
from flask_paycheckout.config import Settings
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.reports.explain import Explanation, explain
from flask_paycheckout.reports.report import Report, report
from flask_paycheckout.rules.order_ids import require_order_id
from flask_paycheckout.rules.receivers import Receiver, is_unheard, receivers_of
from flask_paycheckout.rules.schedule import Schedule
from flask_paycheckout.security.signed_links import Tokens
from flask_paycheckout.service.calls import Service
from flask_paycheckout.service.record import ServiceRecord
from flask_paycheckout.service.server_threads import default_web_calls
from flask_paycheckout.store.checkouts import Attempts
from flask_paycheckout.store.models import CheckoutMixin, Models, require_one_database
from flask_paycheckout.store.paybacks import Paybacks
from flask_paycheckout.store.shop_session import allow_reading, own_session, refuse_uncommitted
from flask_paycheckout.store.shop_transaction import ShopTransactions
from flask_paycheckout.totals import Pay, Receive, Total

__all__ = ["KEY", "Runtime", "build_runtime", "runtime"]

KEY = "paycheckout"

_CLAIM = timedelta(seconds=60)

OrderTotal = Callable[[str], Total | None]
OrderUrl = Callable[[str], str | None]


@dataclass(frozen=True)
class Runtime:
    """What the extension holds for one application."""

    app: Flask
    db: SQLAlchemy
    settings: Settings
    clock: Clock
    models: Models
    client: PaymentsClient
    service: Service
    tokens: Tokens
    engine: Callable[[], Engine]
    attempts: Attempts
    ask_total: OrderTotal
    order_url: OrderUrl
    checkouts: Checkouts
    settlement: Settlement
    notices: Notices
    standings: Standings
    reconciler: Reconciler
    paybacks: Paybacks
    payment_backfill: PaymentBackfill
    record: ServiceRecord
    outbox: Outbox

    def start(self, order_id: str) -> CheckoutMixin:
        """The order's usable checkout; refuses to run inside the shop's uncommitted work."""
        require_order_id(order_id)
        refuse_uncommitted(self.db, f"start({order_id!r})")
        try:
            return self.checkouts.start(order_id)
        finally:
            self.record.write()

    def settle(self, checkout_id: str, via: str = "settle") -> CheckoutMixin:
        """Read the deposit now and apply what it says."""
        refuse_uncommitted(self.db, f"settle({checkout_id!r})", only_if_blocking=True)
        return self.settlement.settle(checkout_id, via)

    def resolve(self, checkout_id: str, accept: bool, by: str, why: str) -> CheckoutMixin:
        """A person's decision on a held payment."""
        refuse_uncommitted(self.db, f"resolve({checkout_id!r})", only_if_blocking=True)
        return self.settlement.resolve(checkout_id, accept, by, why)

    def mark_paid_back(self, checkout_id: str, by: str, why: str, kept: bool) -> CheckoutMixin:
        """Record what became of money that paid no order."""
        refuse_uncommitted(self.db, f"mark_paid_back({checkout_id!r})", only_if_blocking=True)
        self.paybacks.mark(checkout_id, by, why, kept)
        marked = self.attempts.find(checkout_id)
        assert marked is not None  # noqa: S101 - it was just marked, and no row is ever deleted
        return marked

    def reconcile(self, limit: int | None = None, progress: Progress | None = None) -> ReconcileReport:
        """One round over everything that is due."""
        refuse_uncommitted(self.db, "reconcile()", only_if_blocking=True)
        return self.reconciler.run(limit, progress)

    def deliver(
        self, order_id: str | None = None, *, now: bool = False, progress: Callable[[int], object] | None = None
    ) -> Delivery:
        """Tell the receivers of events that wait.

        :param order_id: only those of this order.
        :param now: also those whose next try is later.
        """
        refuse_uncommitted(self.db, "deliver()", only_if_blocking=True)
        return self.outbox.deliver_waiting(
            None if order_id is None else require_order_id(order_id), now=now, progress=progress
        )

    def standing(self, order_id: str) -> Standing:
        """How an order stands, for its customer."""
        require_order_id(order_id)
        refuse_uncommitted(self.db, "the status page", only_if_blocking=True)
        return self.standings.of(order_id)

    def receive_webhook(self, checkout_id: str) -> None:
        """Take in a webhook's hint."""
        refuse_uncommitted(self.db, "the webhook", only_if_blocking=True)
        self.notices.receive(checkout_id)

    def order_statuses(self, order_ids: Iterable[str]) -> dict[str, str]:
        """How these orders stand, each by its id."""
        wanted = [require_order_id(order_id) for order_id in order_ids]
        self.allow_reading("order_statuses()")
        return self.attempts.order_statuses(wanted)

    def explain(self, order_id: str) -> Explanation:
        """The story of an order."""
        require_order_id(order_id)
        self.allow_reading(f"explain({order_id!r})")
        return explain(self.engine(), self.models, self.attempts, order_id)

    def report(self, webhook_url: str) -> Report:
        """How payments stand in the whole shop, and what of it needs a person."""
        self.allow_reading("the report")
        return report(self.engine(), self.models, self.clock(), webhook_url)

    def allow_reading(self, call: str) -> None:
        """Let reads of ours through beside the shop's session; refuse where its uncommitted work stands in the way."""
        allow_reading(self.db, call, self.engine())


def runtime() -> Runtime:
    """The current app's runtime.

    :raises ConfigurationError: `init_app` was not called for this app.
    """
    found = current_app.extensions.get(KEY)
    if not isinstance(found, Runtime):
        raise ConfigurationError(
            f"PayCheckout is not set up on {current_app.name!r}. Call paycheckout.init_app(app, db) where it is made."
        )
    return found


def build_runtime(
    app: Flask,
    db: SQLAlchemy,
    settings: Settings,
    clock: Clock,
    models: Models,
    order_total: OrderTotal,
    order_url: OrderUrl,
    transport: Any,
    queue: Callable[[str], None],
    elapsed: Callable[[], float] = time.monotonic,
) -> Runtime:
    """Put the parts together for one app.

    :param queue: takes the checkout id of a deferred webhook, whose read is stored as due already.
    :param elapsed: seconds that only move forward.
    """

    @cache
    def engine() -> Engine:
        # Late: the shop may set its database up after this extension.
        with scope():
            # Its configuration may be another one by now.
            require_one_database(models, app.config, separate=settings.separate_database)
            return db.engines[models.bind_key]

    def scope() -> AbstractContextManager[scoped_session[Any]]:
        return own_session(db, app.app_context)

    def ask_here(order_id: str) -> Total | None:
        total = order_total(order_id)
        if total is not None and not isinstance(total, (Pay, Receive)):
            raise TypeError(
                f"order_total must return Pay, Receive or None, not {type(total).__name__}."
                " Write for instance: return Pay(order.total, 'USD')"
            )
        return total

    def ask_total(order_id: str) -> Total | None:
        with shop.ask() as transaction:
            return transaction.call(ask_here, order_id)

    def keys() -> list[bytes]:
        listed = [*(app.config.get("SECRET_KEY_FALLBACKS") or []), app.secret_key or ""]
        return [key.encode() if isinstance(key, str) else key for key in listed]

    prepare_logger()
    client = _client(settings, transport)
    record = ServiceRecord(engine, models.services, clock)
    service = Service(
        client,
        settings.timeout,
        min(settings.web_timeout, settings.timeout),
        lambda: settings.web_calls or default_web_calls(),
        # The WSGI environment lives as long as the request, and is its own.
        lambda: request.environ if has_request_context() else None,
        now=elapsed,
    )
    # A read that takes all of its time, and as long again for what is done with its answer.
    claim = max(_CLAIM, timedelta(seconds=2 * settings.timeout))
    shop = ShopTransactions(scope, models.checkouts, app, lambda: app.debug or app.testing)

    def receivers(name: str) -> list[Receiver]:
        found = receivers_of(name, app)
        # A transaction reaches one database only: in two of them, what is atomic runs after the move as others do.
        return [replace(one, atomic=False) for one in found] if settings.separate_database else found

    def unheard(name: str) -> bool:
        return is_unheard(name, app, settings.unheard)

    attempts = Attempts(engine, models, claim, receivers, unheard, shop)
    outbox = Outbox(engine, models, clock, scope, app, settings.unheard, settings.separate_database)
    settlement = Settlement(
        attempts,
        outbox,
        service,
        clock,
        ask_here,
        Schedule(settings.pending_for, settings.watch_for),
        settings.closed_deposit_statuses,
    )
    return Runtime(
        app=app,
        db=db,
        settings=settings,
        clock=clock,
        models=models,
        client=client,
        service=service,
        tokens=Tokens(keys, clock, settings.token_max_age),
        engine=engine,
        attempts=attempts,
        ask_total=ask_total,
        order_url=order_url,
        checkouts=Checkouts(attempts, outbox, service, clock, ask_total, settings.checkout_origins, record, elapsed),
        settlement=settlement,
        notices=Notices(
            attempts, settlement, service, clock, settings.webhook_cooldown, queue if settings.defer_webhooks else None
        ),
        standings=Standings(attempts, settlement, service, clock),
        reconciler=Reconciler(attempts, settlement, outbox, clock, settings.reconcile_readers),
        paybacks=Paybacks(engine, models, clock),
        payment_backfill=PaymentBackfill(engine, models, settlement.read, settings.reconcile_readers),
        record=record,
        outbox=outbox,
    )


def _client(settings: Settings, transport: Any) -> PaymentsClient:
    try:
        return PaymentsClient(
            settings.base_url,
            client_id=settings.client_id,
            client_secret=settings.client_secret,
            access_token=settings.access_token,
            signer=settings.signer,
            timeout=settings.timeout,
            transport=transport,
        )
    except ValueError as fault:
        # The client is stricter about addresses than the settings are; it never quotes them.
        raise ConfigurationError(f"PAYCHECKOUT_BASE_URL cannot be used: {fault}") from None
