"""The runtime of an app: everything that the extension keeps for that app, and how its parts are put together."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from flask import Flask, current_app, has_request_context, request
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Connection, Engine, QueuePool
from sqlalchemy.orm import scoped_session

from flask_paycheckout.books.ledger import Bookings
from flask_paycheckout.checkouts.due_reads import DueReads
from flask_paycheckout.checkouts.moves import Moves
from flask_paycheckout.checkouts.order_status import OrderStatuses
from flask_paycheckout.checkouts.order_totals import OrderTotals
from flask_paycheckout.checkouts.resolutions import Resolutions
from flask_paycheckout.checkouts.schedule import Schedule
from flask_paycheckout.checkouts.settlement import Settlement
from flask_paycheckout.checkouts.start import AskedOrder, Starter
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.checkouts.superseded import Superseding
from flask_paycheckout.checkouts.webhooks import Webhooks
from flask_paycheckout.client import BearerToken, PaymentsClient
from flask_paycheckout.clock import Clock
from flask_paycheckout.config import Settings
from flask_paycheckout.database.autocommit import commits_each_statement
from flask_paycheckout.database.database_clock import DatabaseClock
from flask_paycheckout.database.failover import replace_read_only_connections
from flask_paycheckout.database.lock_limit import LockWaits
from flask_paycheckout.database.shop_session import open_connection, own_session
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.events.event_queue import EventQueue
from flask_paycheckout.events.event_writer import EventWriter
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.events.receiver_runs import ReceiverRuns
from flask_paycheckout.events.receivers import Receiver, is_unheard, receivers_of
from flask_paycheckout.events.shop_transaction import ShopTransaction, ShopTransactions
from flask_paycheckout.events.slow_receivers import SlowReceivers
from flask_paycheckout.events.transactions import Transactions
from flask_paycheckout.models import Models, require_one_database
from flask_paycheckout.payouts.claim_counts import ClaimCounts
from flask_paycheckout.payouts.claims import RefundClaims
from flask_paycheckout.payouts.decisions import PayoutDecisions
from flask_paycheckout.payouts.paybacks import Paybacks
from flask_paycheckout.payouts.payout_hints import PayoutHints
from flask_paycheckout.payouts.payout_moves import PayoutMoves
from flask_paycheckout.payouts.refund_limits import RefundLimits
from flask_paycheckout.payouts.refunds import Refunds
from flask_paycheckout.payouts.requests import PayoutRequests
from flask_paycheckout.payouts.sealing import Sealing
from flask_paycheckout.payouts.stored import Payouts
from flask_paycheckout.security.signed_links import SignedLinks
from flask_paycheckout.service.accounts import SETTINGS, Account, Accounts, require_account_name
from flask_paycheckout.service.calls import Service
from flask_paycheckout.service.limits import MOST_WEB_CALLS
from flask_paycheckout.service.logs import FailureLog, prepare_logger
from flask_paycheckout.service.observations import Observers
from flask_paycheckout.service.record import ServiceRecord
from flask_paycheckout.shop_functions import shop_caller
from flask_paycheckout.totals import Pay, Receive, Total

if TYPE_CHECKING:
    import httpx

    from flask_paycheckout.payouts.calls import PayoutCalls
    from flask_paycheckout.payouts.payout_queue import PayoutQueue
    from flask_paycheckout.payouts.rounds import PayoutSender
    from flask_paycheckout.rounds.background import Background
    from flask_paycheckout.rounds.reconcile import Reconciler

__all__ = [
    "KEY",
    "AccountKeys",
    "AccountOf",
    "Callbacks",
    "OrderTotal",
    "OrderUrl",
    "Runtime",
    "build_runtime",
    "runtime",
]

KEY = "paycheckout"

_CLAIM = timedelta(seconds=60)

# Each may be a coroutine function.
OrderTotal = Callable[[str], Total | Awaitable[Total | None] | None]
OrderUrl = Callable[[str], str | Awaitable[str | None] | None]
AccountOf = Callable[[str], str | Awaitable[str]]
AccountKeys = Callable[[str], Account | Awaitable[Account | None] | None]


def _no_url(order_id: str) -> str | None:
    return None


class Callbacks(msgspec.Struct):
    """The functions that a shop has registered."""

    order_total: OrderTotal | None = None
    order_url: OrderUrl = _no_url
    account_of: AccountOf | None = None
    account: AccountKeys | None = None

    @property
    def pricing(self) -> OrderTotal:
        """The function that says what an order costs now."""
        if self.order_total is None:
            raise ConfigurationError(
                "no order_total is registered."
                " Decorate the function that prices an order with @paycheckout.order_total."
            )
        return self.order_total


class Runtime(msgspec.Struct, frozen=True):
    """Everything that the extension keeps for one app; pages, commands and tasks call its `operations`."""

    app: Flask
    db: SQLAlchemy
    settings: Settings
    clock: Clock
    log: FailureLog
    observers: Observers
    models: Models
    client: PaymentsClient
    service: Service
    signed_links: SignedLinks
    engine: Callable[[], Engine]
    checkouts: Checkouts
    due_reads: DueReads
    bookings: Bookings
    moves: Moves
    accounts: Accounts
    callbacks: Callbacks
    ask_order: Callable[[str], AskedOrder]
    ask_account_of: Callable[[str], str]
    origins_of: Callable[[str], tuple[str, ...]]
    order_url: Callable[[str], str | None]
    starter: Starter
    settlement: Settlement
    resolutions: Resolutions
    webhooks: Webhooks
    statuses: OrderStatuses
    paybacks: Paybacks
    record: ServiceRecord
    outbox: Outbox
    payouts: Payouts
    payout_moves: PayoutMoves
    payout_requests: PayoutRequests
    payout_decisions: PayoutDecisions
    refund_claims: RefundClaims
    refunds: Refunds
    payout_hints: PayoutHints
    background: Callable[[], Background]
    """Returns the part that reconciles and sends payouts.

    The first call imports it, since most web processes need none of it.
    """

    @property
    def reconciler(self) -> Reconciler:
        """Runs reconcile rounds."""
        return self.background().reconciler

    @property
    def payout_calls(self) -> PayoutCalls:
        """The calls of the service about payouts."""
        return self.background().payout_calls

    @property
    def payout_queue(self) -> PayoutQueue:
        """The payouts that are ready to be sent, or to be followed."""
        return self.background().payout_queue

    @property
    def payout_sender(self) -> PayoutSender:
        """Sends payouts, and follows them."""
        return self.background().payout_sender


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
    callbacks: Callbacks,
    transport: httpx.BaseTransport | None,
    queue: Callable[[str], None],
    elapsed: Callable[[], float] = time.monotonic,
) -> Runtime:
    """Put the parts together for one app.

    :param callbacks: the shop's functions, which it may register later.
    :param queue: takes the checkout id of a deferred webhook, whose read is stored as due already.
    :param elapsed: seconds that only move forward.
    """

    @cache
    def engine() -> Engine:
        # At first use, because the shop may set up its database after this extension.
        held = None if strict() else open_connection(db, models.Checkout)
        with scope():
            # The configuration may have changed since `init_app`.
            require_one_database(models, app.config, separate=settings.separate_database)
            found = db.engines[models.bind_key]
            if not strict():
                _require_transactions(found, held)
            replace_read_only_connections(found)
            return found

    def current_request() -> dict[str, Any] | None:
        # Every request has a WSGI environment of its own, which lives as long as the request.
        return request.environ if has_request_context() else None

    def strict() -> bool:
        return app.debug or app.testing

    def scope() -> AbstractContextManager[scoped_session[Any]]:
        return own_session(db, app.app_context)

    def ask_in(transaction: ShopTransaction, order_id: str) -> Total | None:
        total = transaction.call(callbacks.pricing, order_id)
        if total is not None and not isinstance(total, (Pay, Receive)):
            raise TypeError(
                f"order_total must return Pay, Receive or None, not {type(total).__name__}."
                " Write for instance: return Pay(order.total, 'USD')"
            )
        return total

    def ask_order(order_id: str) -> AskedOrder:
        with shop.open() as transaction:
            total = ask_in(transaction, order_id)
            # The shop may know no account of an order that cannot be paid, or no such order at all.
            return AskedOrder(total, "" if total is None else account_of(transaction, order_id))

    def ask_account_of(order_id: str) -> str:
        with shop.open() as transaction:
            return account_of(transaction, order_id)

    def account_of(transaction: ShopTransaction, order_id: str) -> str:
        named = "" if callbacks.account_of is None else transaction.call(callbacks.account_of, order_id)
        return require_account_name(named)

    def ask_account(name: str) -> Account | None:
        if callbacks.account is None:
            return None
        with shop.open() as transaction:
            account: Account | None = transaction.call(callbacks.account, name)
            return account

    def several_accounts() -> bool:
        return callbacks.account is not None

    def origins_of(account: str) -> tuple[str, ...]:
        own = accounts.origins_of(account)
        return settings.checkout_origins if own is None else own

    def keys() -> list[bytes]:
        listed = [*(app.config.get("SECRET_KEY_FALLBACKS") or []), app.secret_key or ""]
        return [key.encode() if isinstance(key, str) else key for key in listed]

    prepare_logger()
    log = FailureLog(clock)
    call = shop_caller(app.ensure_sync)
    observers = Observers(log, call)
    # Elapsed time goes by the app's clock where a test has given it one.
    database_clock = DatabaseClock(engine, None if elapsed is time.monotonic else clock)
    client = _client(settings, transport, observers)
    accounts = Accounts(
        client,
        lambda account: _client_of(account, settings, client, transport, observers),
        ask_account,
        settings.account_cache.total_seconds(),
        2 * settings.timeout,
        now=elapsed,
    )
    record = ServiceRecord(engine, models.services, clock, log)
    service = Service(
        accounts,
        settings.timeout,
        min(settings.web_timeout, settings.timeout),
        settings.web_calls or MOST_WEB_CALLS,
        several_accounts,
        current_request,
        record,
        log,
        observers,
        now=elapsed,
    )
    # The longest that a read takes, and as long again for applying its answer.
    claim = max(_CLAIM, timedelta(seconds=2 * settings.timeout))
    shop = ShopTransactions(
        scope,
        models.checkouts,
        app,
        call,
        strict,
        SlowReceivers(engine, models.services, clock, log, elapsed),
        LockWaits(current_request),
        one_database=not settings.separate_database,
    )

    def receivers(name: str) -> list[Receiver]:
        found = receivers_of(name, app)
        # A transaction covers one database: with two, atomic receivers run after the commit like all others.
        return [msgspec.structs.replace(one, atomic=False) for one in found] if settings.separate_database else found

    def unheard(name: str) -> bool:
        return is_unheard(name, app, settings.unheard)

    checkouts = Checkouts(engine, models)
    payouts = Payouts(engine, models)
    bookings = Bookings(models, settings.payout_fees)
    due_reads = DueReads(engine, models, bookings, claim)
    events = EventWriter(models, shop, receivers, unheard)
    transactions = Transactions(engine, shop)
    moves = Moves(engine, models, checkouts, bookings, events, transactions)
    event_queue = EventQueue(engine, models, checkouts, payouts)
    runs = ReceiverRuns(
        engine,
        models.events,
        event_queue,
        Superseding(models.checkouts, checkouts),
        clock,
        shop,
        app,
        log,
        observers,
        settings.unheard,
        settings.separate_database,
    )
    outbox = Outbox(event_queue, runs, clock, app, log, observers, settings.unheard)
    limits = RefundLimits(models)
    payout_moves = PayoutMoves(engine, models, payouts, limits, bookings, events, transactions)
    sealing = Sealing(settings.seal_key, keys)
    payout_requests = PayoutRequests(
        db, models, limits, moves, payout_moves, shop, sealing, clock, settings.approve_over, several_accounts
    )
    totals = OrderTotals(checkouts, ask_in)
    settlement = Settlement(
        checkouts,
        due_reads,
        moves,
        outbox,
        service,
        clock,
        totals,
        Schedule(settings.pending_for, settings.watch_for),
        settings.closed_deposit_statuses,
        log,
        observers,
    )
    made: dict[str, Background] = {}

    def background() -> Background:
        if (found := made.get("background")) is not None:
            return found
        from flask_paycheckout.rounds.background import make_background

        # setdefault and not a lock, which another thread may hold at the moment of a fork.
        return made.setdefault(
            "background",
            make_background(
                engine,
                models,
                settings,
                clock,
                database_clock,
                log,
                observers,
                scope,
                claim,
                due_reads,
                settlement,
                outbox,
                accounts,
                several_accounts,
                sealing,
                record,
                payouts,
                payout_moves,
            ),
        )

    return Runtime(
        app=app,
        db=db,
        settings=settings,
        clock=clock,
        log=log,
        observers=observers,
        models=models,
        client=client,
        service=service,
        signed_links=SignedLinks(keys, clock, settings.token_max_age),
        engine=engine,
        checkouts=checkouts,
        due_reads=due_reads,
        bookings=bookings,
        moves=moves,
        accounts=accounts,
        callbacks=callbacks,
        ask_order=ask_order,
        ask_account_of=ask_account_of,
        origins_of=origins_of,
        order_url=lambda order_id: call(callbacks.order_url, order_id),
        starter=Starter(checkouts, moves, outbox, service, clock, ask_order, origins_of, record, elapsed),
        settlement=settlement,
        resolutions=Resolutions(checkouts, moves, outbox, totals, clock, log),
        webhooks=Webhooks(
            checkouts,
            due_reads,
            settlement,
            service,
            clock,
            settings.webhook_cooldown,
            queue if settings.defer_webhooks else None,
            log,
        ),
        statuses=OrderStatuses(checkouts, due_reads, settlement, service, clock, log),
        paybacks=Paybacks(engine, models, clock),
        record=record,
        outbox=outbox,
        payouts=payouts,
        payout_moves=payout_moves,
        payout_requests=payout_requests,
        payout_decisions=PayoutDecisions(engine, models, payouts, payout_moves, outbox, clock),
        payout_hints=PayoutHints(engine, models, clock, settings.webhook_cooldown),
        refund_claims=RefundClaims(
            payouts, ClaimCounts(engine, models), payout_moves, outbox, service, record, sealing, clock
        ),
        refunds=Refunds(scope, models, checkouts, payouts, payout_requests),
        background=background,
    )


def _require_transactions(engine: Engine, held: Connection | None) -> None:
    """Refuse an engine that commits every statement.

    :param held: the connection of the shop's session, which may be the last one of the pool.
    """
    with nullcontext(held) if held is not None else engine.connect() as connection:
        if held is None and isinstance(engine.pool, QueuePool):
            # Not into the pool, since a program may fork after it has made its app.
            connection.detach()
        if commits_each_statement(connection):
            raise ConfigurationError(
                "the database engine commits every statement by itself (AUTOCOMMIT), so a payment could be half"
                " written. Remove that option from SQLALCHEMY_ENGINE_OPTIONS."
            )


def _client_of(
    account: Account,
    settings: Settings,
    default: PaymentsClient,
    transport: httpx.BaseTransport | None,
    observers: Observers,
) -> PaymentsClient:
    """The client of a merchant account, which has its own keys, and what it leaves out from the settings."""
    names = ("client_id", "client_secret", "base_url", "signer")
    own = {name: value for name in names if (value := getattr(account, name)) is not None}
    token = settings.access_token if account.access_token is SETTINGS else account.access_token
    used = replace(settings, **own, access_token=token)
    if used.base_url != settings.base_url:
        return _client(used, transport, observers)
    # All accounts of one service share its connections, so that many accounts are not as many TLS handshakes.
    return default.of_account(
        account.client_id, account.client_secret, access_token=_authorization(used), signer=used.signer
    )


def _authorization(settings: Settings) -> BearerToken | None:
    """The access token as the client takes it; one that a function returns is asked for in each call."""
    if settings.access_token is None:
        return None
    return BearerToken(settings.access_token, settings.authorization_scheme)


def _client(settings: Settings, transport: httpx.BaseTransport | None, observers: Observers) -> PaymentsClient:
    try:
        return PaymentsClient(
            settings.base_url,
            client_id=settings.client_id,
            client_secret=settings.client_secret,
            access_token=_authorization(settings),
            signer=settings.signer,
            timeout=settings.timeout,
            transport=transport,
            observe=observers.tell_call,
        )
    except ValueError as fault:
        # The client refuses some addresses that the settings accept. Its message never quotes the address.
        raise ConfigurationError(f"PAYCHECKOUT_BASE_URL cannot be used: {fault}") from None
