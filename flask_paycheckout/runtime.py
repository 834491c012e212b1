"""The runtime of an app: every collaborator of the extension, made from the app's parts when it is first used."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from flask import Flask, current_app, has_app_context
from sqlalchemy import Connection, Engine, QueuePool
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.books.account_names import Merchants
from flask_paycheckout.books.ledger import Bookings
from flask_paycheckout.checkouts.decisions import Resolutions
from flask_paycheckout.checkouts.moves import Moves
from flask_paycheckout.checkouts.order_status import OrderStatuses
from flask_paycheckout.checkouts.part_payments import PartPayments
from flask_paycheckout.checkouts.requests import PaymentRequests
from flask_paycheckout.checkouts.settlement import Settlement
from flask_paycheckout.checkouts.shop_answers import OrderTotals, ShopAnswers
from flask_paycheckout.checkouts.start import Starter
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.checkouts.superseding import OrderSuperseding
from flask_paycheckout.checkouts.webhooks import Webhooks
from flask_paycheckout.client import PaymentsClient
from flask_paycheckout.clock import Clock, as_utc, utc_now
from flask_paycheckout.config import Settings
from flask_paycheckout.database.connections import (
    DatabaseClock,
    LockWaits,
    commits_each_statement,
    replace_read_only_connections,
)
from flask_paycheckout.database.deeds import record_look
from flask_paycheckout.database.models import Models
from flask_paycheckout.database.shop_session import ShopSessions
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.events.event_queue import EventQueue
from flask_paycheckout.events.event_writer import EventWriter
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.events.receiver_runs import ReceiverRuns
from flask_paycheckout.events.receivers import Receivers
from flask_paycheckout.events.shop_transaction import ShopTransactions
from flask_paycheckout.models import require_one_database
from flask_paycheckout.parts import Callbacks, Parts
from flask_paycheckout.parts.logs import FailureLog, about, prepare_logger
from flask_paycheckout.parts.observations import Observers
from flask_paycheckout.payouts.claims import RefundClaims
from flask_paycheckout.payouts.decisions import PayoutDecisions
from flask_paycheckout.payouts.paybacks import Paybacks, RefundLimits
from flask_paycheckout.payouts.payout_moves import PayoutMoves
from flask_paycheckout.payouts.requests import PayoutRequests
from flask_paycheckout.payouts.sealing import Sealing
from flask_paycheckout.payouts.stored import Payouts
from flask_paycheckout.security.signed_links import SignedLinks
from flask_paycheckout.service.accounts import Accounts, AccountUnavailable, Clients
from flask_paycheckout.service.calls import Service
from flask_paycheckout.service.limits import AccountLimits
from flask_paycheckout.service.record import ServiceRecord
from flask_paycheckout.shop_functions import shop_caller
from flask_paycheckout.text import first_line, visible

if TYPE_CHECKING:
    import httpx

    from flask_paycheckout.books.alarms import Look
    from flask_paycheckout.books.erasing import Erasing
    from flask_paycheckout.books.explain import Explanation
    from flask_paycheckout.books.export import Books
    from flask_paycheckout.books.pruning import Pruning
    from flask_paycheckout.payouts.calls import PayoutCalls
    from flask_paycheckout.payouts.sending import PayoutSender
    from flask_paycheckout.rounds.reconcile import Reconciler
    from flask_paycheckout.rounds.reminders import Reminders


KEY = "paycheckout"
# The settings that an `Account` may have of its own for its pages and links.
_OF_ACCOUNT = ("public_url", "shop_name", "languages", "time_zone")

Made = TypeVar("Made")


class made_once(Generic[Made]):  # noqa: N801 - used like `property`
    """A property that is made at first use, and then kept; threads that come at once get the same object.

    Without a lock, unlike `functools.cached_property` of Python 3.11: another thread may hold it when a process forks.
    """

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __get__(self, owner: Any, kind: type) -> Made:
        made: Made = vars(owner).setdefault(self._make.__name__, self._make(owner))
        return made


@dataclass(frozen=True, repr=False, eq=False)
class Runtime(Parts):
    """The parts of one app's extension, and the collaborators made of them, which pages, commands and tasks call.

    What only commands and background work need is imported when it is made.
    """

    clients: Clients

    client: PaymentsClient
    """The client of the PAYCHECKOUT_ settings."""

    queue: Callable[[str], None]
    """Takes the checkout id of a deferred webhook, whose read is stored as due already."""

    def looked(self, by: str, subject: str, order_id: str | None = None) -> None:
        """Record that a person looks at what tells of persons, who sees it also when that cannot be stored."""
        try:
            record_look(self.engine(), self.models.deeds, self.clock(), by, subject, order_id)
        except SQLAlchemyError as error:
            line = "who looked at %s was not recorded: %s"
            self.log.warning("looks", line, visible(subject), first_line(error), extra=about(order_id))

    def order_statuses(self, order_ids: list[str]) -> dict[str, str]:
        """The status of each order; inside a transaction of `db.session`, as that transaction sees it."""
        return self.checkouts.order_statuses(order_ids, self.sessions.open_connection())

    # The service

    @made_once
    def accounts(self) -> Accounts:
        return Accounts(
            self.client,
            self.clients.of_account,
            self.answers.account,
            self.settings.account_cache.total_seconds(),
            self.elapsed,
        )

    @made_once
    def record(self) -> ServiceRecord:
        return ServiceRecord(self)

    @made_once
    def service(self) -> Service:
        return Service(self, self.accounts, self.record)

    # The shop

    @made_once
    def answers(self) -> ShopAnswers:
        return ShopAnswers(self, self.shop_transactions, self.requests)

    @made_once
    def signed_links(self) -> SignedLinks:
        return SignedLinks(self.keys, self.clock, self.settings.token_max_age)

    @made_once
    def shop_transactions(self) -> ShopTransactions:
        return ShopTransactions(self, LockWaits(self.web_request))

    def origins_of(self, account: str) -> tuple[str, ...]:
        """The origins to which customers of a merchant account may be redirected."""
        own = self.accounts.find(account)
        return self.settings.checkout_origins if own is None or own.checkout_origins is None else own.checkout_origins

    def settings_of(self, account: str | None) -> Settings:
        """The settings by which a merchant account's pages and links are made; those of the shop while it is unknown.

        :param account: None for those of the shop.
        """
        try:
            own = self.accounts.find(account or "")
        except AccountUnavailable as error:
            told = "links and pages of account %r are the shop's: %s", account, error
            self.log.warning("settings of accounts", *told, extra=about(account=account))
            own = None
        given = {name: value for name in _OF_ACCOUNT if (value := getattr(own, name, None)) is not None}
        return replace(self.settings, **given) if given else self.settings

    def settings_of_order(self, order_id: str) -> Settings:
        """The settings by which an order's pages and links are made, which are those of its merchant account."""
        if not self.several_accounts():
            return self.settings
        try:
            account = self.answers.account_of(order_id)
        except Exception:
            self.log.exception("account_of", "account_of failed for order %s", order_id, extra=about(order_id))
            return self.settings
        return self.settings_of(account)

    # Events

    @made_once
    def receivers(self) -> Receivers:
        return Receivers(self)

    @made_once
    def event_writer(self) -> EventWriter:
        return EventWriter(self, self.receivers)

    @made_once
    def event_queue(self) -> EventQueue:
        return EventQueue(self.engine, self.models, self.checkouts, self.payouts, self.requests)

    @made_once
    def receiver_runs(self) -> ReceiverRuns:
        superseding = OrderSuperseding(self.checkouts, self.requests, self.answers)
        return ReceiverRuns(self, self.event_queue, self.receivers, superseding, self.shop_transactions)

    @made_once
    def outbox(self) -> Outbox:
        return Outbox(self, self.event_queue, self.receiver_runs, self.receivers)

    # Money in

    @made_once
    def bookings(self) -> Bookings:
        return Bookings(self.models, self.settings.payout_fees)

    @made_once
    def books(self) -> Books:
        from flask_paycheckout.books.export import Books

        return Books(self, lambda account: self.settings_of(account).time_zone)

    @made_once
    def checkouts(self) -> Checkouts:
        return Checkouts(self.engine, self.models, self, self.bookings.book_checkout)

    @made_once
    def requests(self) -> PaymentRequests:
        return PaymentRequests(self.engine, self.models, self)

    @made_once
    def moves(self) -> Moves:
        return Moves(self.checkouts, self.event_writer, self.shop_transactions)

    @made_once
    def order_totals(self) -> OrderTotals:
        return OrderTotals(self.checkouts, self.answers)

    @made_once
    def starter(self) -> Starter:
        collaborators = self.checkouts, self.moves, self.outbox, self.service, self.answers, self.part_payments
        return Starter(self, *collaborators, self.origins_of, self.statuses.has_moved)

    @made_once
    def part_payments(self) -> PartPayments:
        return PartPayments(self, self.checkouts, self.moves, self.outbox, self.order_totals)

    @made_once
    def settlement(self) -> Settlement:
        collaborators = self.checkouts, self.moves, self.outbox, self.service
        return Settlement(self, *collaborators, self.order_totals, self.part_payments)

    @made_once
    def resolutions(self) -> Resolutions:
        collaborators = self.checkouts, self.moves, self.outbox, self.order_totals
        return Resolutions(self, *collaborators, self.payout_requests.refund)

    @made_once
    def webhooks(self) -> Webhooks:
        defer = self.queue if self.settings.defer_webhooks else None
        return Webhooks(self, self.checkouts, self.settlement, self.service, defer)

    @made_once
    def statuses(self) -> OrderStatuses:
        return OrderStatuses(self, self.checkouts, self.settlement, self.service)

    @made_once
    def reconciler(self) -> Reconciler:
        from flask_paycheckout.rounds.reconcile import Reconciler

        limits = AccountLimits(self.settings.reconcile_readers)
        collaborators = self.settlement, self.outbox, self.reminders, self.payout_sender
        return Reconciler(self, *collaborators, limits)

    @made_once
    def reminders(self) -> Reminders:
        from flask_paycheckout.rounds.reminders import Reminders

        return Reminders(self, self.checkouts, self.requests, self.answers, self.event_writer, self.shop_transactions)

    # The books

    @made_once
    def merchants(self) -> Merchants:
        return Merchants(self, self.accounts)

    @made_once
    def pruning(self) -> Pruning:
        from flask_paycheckout.books.pruning import Pruning

        return Pruning(self)

    @made_once
    def erasing(self) -> Erasing:
        from flask_paycheckout.books.erasing import Erasing

        return Erasing(self, self.checkouts, self.requests, self.payouts, self.payout_calls, self.service)

    def explain(self, order_id: str) -> Explanation:
        """Explain an order; errors as for `PayCheckout.explain`."""
        # Late, like all reports: a web process seldom makes one, and would load them at its start.
        from flask_paycheckout.books.explain import explain

        self.sessions.allow_reading(f"explain({order_id!r})")
        self.requests.require_order(order_id)
        return explain(self.checkouts, self.payouts, self.event_queue, self.requests, order_id)

    def look(self, account: str | None = None) -> Look:
        """The rows, and the time, from which alarms are found.

        :param account: only what is about this merchant account.
        """
        from flask_paycheckout.books.alarms import Look

        return Look(self.engine(), self.models, self.clock(), account, self.merchants)

    # Money out

    @made_once
    def sealing(self) -> Sealing:
        return Sealing(self.settings.seal_key, self.keys)

    @made_once
    def paybacks(self) -> Paybacks:
        return Paybacks(self)

    @made_once
    def payouts(self) -> Payouts:
        return Payouts(self.engine, self.models, self)

    @made_once
    def refund_limits(self) -> RefundLimits:
        return RefundLimits(self.models)

    @made_once
    def payout_moves(self) -> PayoutMoves:
        collaborators = self.refund_limits, self.bookings.book_payout, self.event_writer, self.shop_transactions
        return PayoutMoves(self.payouts, *collaborators)

    @made_once
    def payout_requests(self) -> PayoutRequests:
        moves = self.moves, self.payout_moves
        return PayoutRequests(self, self.refund_limits, *moves, self.shop_transactions, self.sealing)

    @made_once
    def payout_decisions(self) -> PayoutDecisions:
        return PayoutDecisions(self, self.payout_moves, self.outbox)

    @made_once
    def refund_claims(self) -> RefundClaims:
        return RefundClaims(self, self.payouts, self.payout_decisions, self.service, self.record, self.sealing)

    @made_once
    def payout_calls(self) -> PayoutCalls:
        from flask_paycheckout.payouts.calls import PayoutCalls

        return PayoutCalls(self, self.accounts, self.payouts, self.sealing, self.record, self.service)

    @made_once
    def payout_sender(self) -> PayoutSender:
        from flask_paycheckout.payouts.following import Following
        from flask_paycheckout.payouts.sending import PayoutSender

        # Elapsed time goes by the app's clock where a test has given it one.
        database_clock = DatabaseClock(self.engine, None if self.elapsed is time.monotonic else self.clock)
        payouts, calls = self.payouts, self.payout_calls
        following = Following(self, payouts, calls, database_clock)
        return PayoutSender(self, payouts, calls, following, self.record, self.payout_moves, self.outbox)


def runtime(app: Flask = current_app) -> Runtime:
    """The runtime of an app, by default of the current one.

    :raises ConfigurationError: `init_app` was not called for this app.
    """
    found = app.extensions.get(KEY)
    if not isinstance(found, Runtime):
        raise ConfigurationError(
            f"PayCheckout is not set up on {app.name!r}. Call paycheckout.init_app(app, db) first, where it is made."
        )
    return found


def for_writing(call: str) -> Runtime:
    """The runtime of the current app, for a call that writes on a connection of its own, not on that of the session.

    :param call: named in the error.
    :raises UncommittedChanges: `db.session` holds changes that are not committed, and SQLite has one writer.
    """
    found = runtime()
    found.sessions.refuse_uncommitted(call)
    return found


def for_reading(call: str) -> Runtime:
    """The runtime of the current app, for a call that reads; end an open transaction of the shop that would block it.

    :param call: named in the error.
    :raises UncommittedChanges: that transaction has written something.
    """
    found = runtime()
    found.sessions.allow_reading(call)
    return found


def make_runtime(
    app: Flask,
    sessions: ShopSessions,
    settings: Settings,
    models: Models,
    callbacks: Callbacks,
    queue: Callable[[str], None],
    transport: httpx.BaseTransport | None,
    clock: Clock | None,
) -> Runtime:
    """Make the runtime of one app.

    :param transport: the httpx transport that replaces the client's own.
    :param clock: the clock that a test gives the app, which sets elapsed time too; None for the machine's.
    :raises ConfigurationError: the client refuses the service's address.
    """
    prepare_logger()
    given = clock or utc_now

    def now() -> datetime:
        # SQLite would store the local digits of another time zone as if they were UTC.
        return as_utc(given())

    elapsed = time.monotonic if clock is None else lambda: now().timestamp()
    log, call = FailureLog(now), shop_caller(app.ensure_sync)
    engine = _engine_of(app, sessions, settings, models)
    observers = Observers(log, call)
    clients = Clients(settings, transport, observers.record_call, app.debug or app.testing)
    parts = app, sessions, settings, models, engine, now, elapsed, log, observers, callbacks, call
    return Runtime(*parts, clients, clients.of_settings, queue)


def _engine_of(app: Flask, sessions: ShopSessions, settings: Settings, models: Models) -> Callable[[], Engine]:
    """A function that returns the engine of the payment tables."""

    @cache
    def engine() -> Engine:
        # At first use, because the shop may set up its database after this extension.
        strict = app.debug or app.testing
        held = sessions.open_connection() if has_app_context() and not strict else None
        # The configuration may have changed since `init_app`.
        require_one_database(models, app.config, separate=settings.separate_database)
        found = sessions.engine()
        if not strict:
            _require_transactions(found, held)
        replace_read_only_connections(found)
        return found

    return engine


def _require_transactions(engine: Engine, held: Connection | None) -> None:
    """Refuse an engine that commits every statement.

    :param held: the connection of the shop's session, which may be the last one of the pool.
    """
    pool = engine.pool
    none_open = held is None and isinstance(pool, QueuePool) and not pool.checkedin()
    with nullcontext(held) if held is not None else engine.connect() as connection:
        if commits_each_statement(connection):
            raise ConfigurationError(
                "the database engine commits every statement by itself (AUTOCOMMIT), so a payment could be half"
                " written. Remove that option, from SQLALCHEMY_ENGINE_OPTIONS with Flask-SQLAlchemy."
            )
    if none_open:
        # A program may fork after it has made its app.
        engine.dispose()
