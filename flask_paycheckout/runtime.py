"""The runtime of an app: every service of the extension, made from the app's wiring when it is first used."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from flask import Flask, current_app, has_app_context, has_request_context, request
from sqlalchemy import Engine, QueuePool
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.books.account_names import Merchants
from flask_paycheckout.books.accounting import require_line_kinds
from flask_paycheckout.books.alarms import Alarm, AlarmContext
from flask_paycheckout.books.audit.months import MonthAudits
from flask_paycheckout.books.customers import Customers
from flask_paycheckout.books.erasing import Erasing
from flask_paycheckout.books.explain import Explain
from flask_paycheckout.books.export import Books
from flask_paycheckout.books.ledger import Bookings
from flask_paycheckout.books.pruning import Pruning
from flask_paycheckout.books.telling import OwnerTelling
from flask_paycheckout.checkouts.decisions import Resolutions
from flask_paycheckout.checkouts.due_reading import AccountLimits
from flask_paycheckout.checkouts.failed_reads import FailedReads
from flask_paycheckout.checkouts.moves import Moves
from flask_paycheckout.checkouts.order_problems import OrderProblems
from flask_paycheckout.checkouts.order_status import OrderStatuses
from flask_paycheckout.checkouts.part_payments import PartPayments
from flask_paycheckout.checkouts.requests import PaymentRequests
from flask_paycheckout.checkouts.schedule import Schedule
from flask_paycheckout.checkouts.settlement import Settlement
from flask_paycheckout.checkouts.shop_answers import OrderTotals, ShopAnswers
from flask_paycheckout.checkouts.start import Starter
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.checkouts.superseding import OrderSuperseding
from flask_paycheckout.checkouts.webhooks import Webhooks
from flask_paycheckout.client import PaymentsClient
from flask_paycheckout.clock import Clock, utc_clock, utc_now
from flask_paycheckout.config import Settings
from flask_paycheckout.database.connections import watch
from flask_paycheckout.database.database_clock import DatabaseClock
from flask_paycheckout.database.deeds import record_deed, record_hourly
from flask_paycheckout.database.models import Models
from flask_paycheckout.database.shop_session import ShopSessions
from flask_paycheckout.database.transactions import LockWaits, ShopTransactions
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.events.event_queue import EventQueue
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.events.receiver_runs import ReceiverRuns
from flask_paycheckout.events.receivers import EventWriter, Receivers
from flask_paycheckout.payouts.banks import Banks
from flask_paycheckout.payouts.calls import PayoutCalls
from flask_paycheckout.payouts.claims import RefundClaims
from flask_paycheckout.payouts.decisions import PayoutDecisions
from flask_paycheckout.payouts.destinations import Sealing
from flask_paycheckout.payouts.due_payouts import DuePayouts
from flask_paycheckout.payouts.following import Following
from flask_paycheckout.payouts.paybacks import Paybacks
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_moves import PayoutMoves
from flask_paycheckout.payouts.payout_requests import PayoutRequests
from flask_paycheckout.payouts.payout_table import Payouts
from flask_paycheckout.payouts.refund_limits import RefundLimits
from flask_paycheckout.payouts.refunds import Refunds
from flask_paycheckout.payouts.sending import PayoutSender
from flask_paycheckout.rounds.problem_checks import ProblemChecks
from flask_paycheckout.rounds.reconcile import Reconciler, RefusedKeys
from flask_paycheckout.rounds.reminders import Reminders
from flask_paycheckout.security.signed_links import SignedLinks
from flask_paycheckout.service.accounts import Accounts, AccountUnavailable, Clients
from flask_paycheckout.service.calls import Service
from flask_paycheckout.service.record import ServiceRecord
from flask_paycheckout.shop_functions import shop_caller
from flask_paycheckout.text import first_line, visible
from flask_paycheckout.wiring import Callbacks, Observers, Wiring
from flask_paycheckout.wiring.host import refuse_unsupported
from flask_paycheckout.wiring.installation import Installation
from flask_paycheckout.wiring.logs import FailureLog, about, prepare_logger

if TYPE_CHECKING:
    import httpx


KEY = "paycheckout"
STATUSES = "flask_paycheckout.statuses"
"""The key of the order statuses that a web request has queried, in its WSGI environment."""

# The names in the runtime, by the type of a service's parameter.
_NAMES = {field.type: field.name for field in fields(Wiring)}

# The settings that an `Account` may override for its pages and links.
_OF_ACCOUNT = ("public_url", "shop_name", "logo", "accent", "contact", "seller", "languages", "time_zone")

Made = TypeVar("Made")


class made_once(Generic[Made]):  # noqa: N801 - used like `property`
    """A service that is made at first use, and then kept; concurrent threads get the same object.

    It uses no lock, unlike `functools.cached_property` of Python 3.11: another thread may hold it when a process forks.

    :param make: the service's class, if `Runtime.make` can find all of its arguments; else a method that makes it.
    """

    def __init__(self, make: Callable[..., Made]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        service_class = self._make if isinstance(self._make, type) else self._make.__annotations__["return"]
        _NAMES[getattr(service_class, "__name__", service_class)] = name

    def __get__(self, owner: Runtime, kind: type) -> Made:
        service = owner.make(self._make) if isinstance(self._make, type) else self._make(owner)
        first: Made = vars(owner).setdefault(self._name, service)
        return first


@dataclass(frozen=True, repr=False, eq=False)
class Runtime(Wiring):
    """The wiring of one app's extension, and the services made from it, which pages, commands and tasks call."""

    clients: Clients

    client: PaymentsClient
    """The client of the PAYCHECKOUT_ settings."""

    queue: Callable[[str], None]
    """Queues the read of a deferred webhook, given its checkout id; the read is already stored as due."""

    owner_url: Callable[[Alarm], str]
    """Returns the address of the owner's page that deals with an alarm; "" without such pages."""

    @made_once
    def wiring(self) -> Wiring:
        return self

    def make(self, kind: Callable[..., Made], **others: Any) -> Made:
        """Make a service; each parameter gets the service, or the part of the wiring, with exactly its type.

        :param others: the other arguments, by name.
        """
        for name, parameter in signature(kind).parameters.items():
            if name not in others and parameter.annotation in _NAMES:
                others[name] = getattr(self, _NAMES[parameter.annotation])
        return kind(**others)

    def viewed(self, by: str, subject: str, order_id: str | None) -> None:
        """Record that a person views personal data; if this cannot be stored, a warning is logged.

        :param subject: the order id or the payout's reference, else the name of the page or command.
        """
        try:
            record_hourly(self.engine(), self.models.deeds, self.clock(), by, "viewed", subject, order_id)
        except SQLAlchemyError as error:
            line = "who viewed %s was not recorded: %s"
            self.log.warning("views", line, visible(subject), first_line(error), extra=about(order_id))

    def linked(self, by: str, payout: PayoutMixin) -> None:
        """Record that a person was shown the link to a payout's claim page.

        If the shop's session has uncommitted changes, the deed joins its transaction, which may create the payout.
        """
        connection = self.sessions.open_connection() if self.sessions.uncommitted() else None
        deed = self.models.deeds, self.clock(), by, "linked", payout.reference
        if connection is None:
            # If each transaction of the shop takes SQLite's lock, an open one that has only read would block the deed.
            self.sessions.refuse_uncommitted("claim_url")
            record_hourly(self.engine(), *deed, payout.order_id)
        else:
            record_deed(connection, *deed, order_id=payout.order_id)

    def order_statuses(self, order_ids: list[str]) -> dict[str, str]:
        """The status of each order; inside a transaction of `db.session`, from that transaction's view."""
        return self.checkouts.order_statuses(order_ids, self.sessions.open_connection())

    installation = made_once(Installation)

    # The service

    @made_once
    def accounts(self) -> Accounts:
        return Accounts(
            self.client,
            self.clients.of_account,
            self.answers.account,
            self.settings.account_cache.total_seconds(),
            self.elapsed,
            self.settings.authorization_scheme,
        )

    record = made_once(ServiceRecord)
    service = made_once(Service)

    # The shop

    answers = made_once(ShopAnswers)
    customers = made_once(Customers)
    order_problems = made_once(OrderProblems)

    @made_once
    def signed_links(self) -> SignedLinks:
        return SignedLinks(self.keys, self.clock, self.settings.token_max_age)

    @made_once
    def shop_transactions(self) -> ShopTransactions:
        waits, separate = LockWaits(self.web_request), self.settings.separate_database
        return ShopTransactions(self.sessions, self.engine, self.call_shop, waits, separate)

    def origins_of(self, account: str) -> tuple[str, ...]:
        """The origins to which customers of a merchant account may be redirected."""
        own = self.accounts.find(account)
        return self.settings.checkout_origins if own is None or own.checkout_origins is None else own.checkout_origins

    def settings_of(self, account: str | None) -> Settings:
        """The settings for a merchant account's pages and links; the shop's settings while the account is unavailable.

        :param account: None for the shop's settings.
        """
        if not account:
            return self.settings
        try:
            own = self.accounts.find(account)
        except AccountUnavailable as error:
            message = "links and pages of account %r are the shop's: %s", account, error
            self.log.warning("settings of accounts", *message, extra=about(account=account))
            own = None
        values = {name: value for name in _OF_ACCOUNT if (value := getattr(own, name, None)) is not None}
        return replace(self.settings, **values) if values else self.settings

    def settings_of_order(self, order_id: str) -> Settings:
        """The settings for an order's pages and links: the settings of its merchant account."""
        if not self.several_accounts():
            return self.settings
        try:
            account = self.answers.account_of(order_id)
        except Exception:
            self.log.exception("account_of", "account_of failed for order %s", order_id, extra=about(order_id))
            return self.settings
        return self.settings_of(account)

    # Events

    receivers = made_once(Receivers)
    event_writer = made_once(EventWriter)

    @made_once
    def event_queue(self) -> EventQueue:
        return EventQueue(self.engine, self.models, self.checkouts, self.payouts, self.requests)

    @made_once
    def receiver_runs(self) -> ReceiverRuns:
        superseding = OrderSuperseding(self.checkouts, self.requests, self.answers)
        return self.make(ReceiverRuns, superseding=superseding)

    outbox = made_once(Outbox)

    # Money in

    @made_once
    def bookings(self) -> Bookings:
        return Bookings(self.models, self.settings.payout_fees)

    @made_once
    def books(self) -> Books:
        return Books(self, lambda account: self.settings_of(account).time_zone, self.customers)

    @made_once
    def checkouts(self) -> Checkouts:
        return self.make(Checkouts, claim=self.claim, book=self.bookings.book_checkout)

    requests = made_once(PaymentRequests)
    moves = made_once(Moves)
    order_totals = made_once(OrderTotals)

    @made_once
    def starter(self) -> Starter:
        return self.make(Starter, origins_of=self.origins_of, refreshed=self.statuses.refreshed)

    part_payments = made_once(PartPayments)

    @made_once
    def schedule(self) -> Schedule:
        return Schedule(self.settings.pending_for, self.settings.watch_for)

    failed_reads = made_once(FailedReads)
    settlement = made_once(Settlement)

    @made_once
    def resolutions(self) -> Resolutions:
        return self.make(Resolutions, refund=self.refunds.refund)

    @made_once
    def webhooks(self) -> Webhooks:
        return self.make(Webhooks, defer=self.queue if self.settings.defer_webhooks else None)

    statuses = made_once(OrderStatuses)

    @made_once
    def reconciler(self) -> Reconciler:
        return self.make(Reconciler, limits=AccountLimits(self.settings.reconcile_readers))

    @made_once
    def owner_telling(self) -> OwnerTelling:
        return self.make(OwnerTelling, context=self.alarm_context, url_of=self.owner_url)

    month_audits = made_once(MonthAudits)
    refused_keys = made_once(RefusedKeys)
    problem_checks = made_once(ProblemChecks)
    reminders = made_once(Reminders)

    # The books

    merchants = made_once(Merchants)
    pruning = made_once(Pruning)
    erasing = made_once(Erasing)
    explain = made_once(Explain)

    def alarm_context(self, account: str | None = None) -> AlarmContext:
        """The tables and the time with which alarms are found.

        :param account: only alarms about this merchant account; None for all.
        """
        return AlarmContext(self.engine(), self.models, self.clock(), account, self.merchants)

    # Money out

    @made_once
    def sealing(self) -> Sealing:
        return Sealing(self.settings.seal_key, self.keys)

    paybacks = made_once(Paybacks)
    payouts = made_once(Payouts)

    @made_once
    def due_payouts(self) -> DuePayouts:
        # Elapsed time follows the app's clock if a test has set one.
        database_clock = DatabaseClock(self.engine, None if self.elapsed is time.monotonic else self.clock)
        return self.make(DuePayouts, database_clock=database_clock)

    refund_limits = made_once(RefundLimits)

    @made_once
    def payout_moves(self) -> PayoutMoves:
        return self.make(PayoutMoves, book=self.bookings.book_payout)

    payout_requests = made_once(PayoutRequests)
    refunds = made_once(Refunds)
    payout_decisions = made_once(PayoutDecisions)
    refund_claims = made_once(RefundClaims)
    payout_calls = made_once(PayoutCalls)
    banks = made_once(Banks)
    following = made_once(Following)
    payout_sender = made_once(PayoutSender)


def runtime(app: Flask = current_app) -> Runtime:
    """The runtime of an app, by default the current app.

    :raises ConfigurationError: `init_app` was not called for this app.
    """
    shop = app.extensions.get(KEY)
    if not isinstance(shop, Runtime):
        raise ConfigurationError(
            f"PayCheckout is not set up on {app.name!r}. Call paycheckout.init_app(app, db) first, where it is made."
        )
    return shop


def for_writing(call: str) -> Runtime:
    """The runtime of the current app, for a call that writes on its own connection, not on the session's.

    :param call: the name of the call for the error.
    :raises UncommittedChanges: `db.session` holds changes that are not committed, and SQLite has one writer.
    """
    shop = runtime()
    shop.sessions.refuse_uncommitted(call)
    if has_request_context():
        # The pay buttons of this request must query the statuses again.
        request.environ.pop(STATUSES, None)
    return shop


def for_reading(call: str) -> Runtime:
    """The runtime of the current app, for a call that reads; end an open transaction of the shop that would block it.

    :param call: the name of the call for the error.
    :raises UncommittedChanges: that transaction has written.
    """
    shop = runtime()
    shop.sessions.allow_reading(call)
    return shop


def make_runtime(
    app: Flask,
    sessions: ShopSessions,
    settings: Settings,
    models: Models,
    callbacks: Callbacks,
    queue: Callable[[str], None],
    owner_url: Callable[[Alarm], str],
    transport: httpx.BaseTransport | None,
    clock: Clock | None,
) -> Runtime:
    """Make the runtime of one app.

    :param transport: the httpx transport that replaces the client's own.
    :param clock: the clock that a test gives the app, which also sets elapsed time; None for the machine's clock.
    :raises ConfigurationError: the client refuses the service's address.
    """
    require_line_kinds(settings.account_codes)
    prepare_logger()
    now, elapsed = utc_now, time.monotonic
    if clock is not None:
        now = utc_clock(clock)
        elapsed = _elapsed_by(now)
    log, call = FailureLog(now), shop_caller(app.ensure_sync)
    engine = _engine_of(app, sessions, settings, models)
    observers = Observers(log, call)
    clients = Clients(settings, transport, observers.record_call, app.debug or app.testing)
    wiring = app, sessions, settings, models, engine, now, elapsed, log, observers, callbacks, call
    return Runtime(*wiring, clients, clients.of_settings, queue, owner_url)


def _elapsed_by(clock: Clock) -> Callable[[], float]:
    """Elapsed seconds by a clock that a test moves."""
    return lambda: clock().timestamp()


def _engine_of(app: Flask, sessions: ShopSessions, settings: Settings, models: Models) -> Callable[[], Engine]:
    """A function that returns the engine of the payment tables."""

    @cache
    def engine() -> Engine:
        # At first use, because the shop may set up its database after this extension.
        bound = sessions.engine()
        # Watch the engine before the session begins a savepoint.
        watch(bound, strict=app.debug or app.testing)
        open_connection = sessions.open_connection() if has_app_context() else None
        # Check before connecting, because an unsupported database may refuse the connection.
        refuse_unsupported(app, models, settings, bound)
        # Use the session's open connection, because it may be the last one of the pool.
        with nullcontext(open_connection) if open_connection is not None else bound.connect() as connection:
            refuse_unsupported(app, models, settings, bound, connection)
            if bound.dialect.name == "postgresql":
                schema = connection.exec_driver_sql("SELECT current_schema()").scalar_one()
                sessions.require_same("schema", str(schema))
            if open_connection is None and isinstance(bound.pool, QueuePool):
                # Do not leave the connection in the pool, because a program may fork after it has made its app.
                connection.detach()
        return bound

    return engine
