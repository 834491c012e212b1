"""The wiring of an app: the objects that most of its services need, made once and passed together.

Observations report calls, reads, webhooks, deliveries, payouts and circuits to functions of the app, such as
`flask_paycheckout.metrics`; `PayCheckout.observe` connects a function.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from flask import Flask, has_request_context, request
from flask.ctx import RequestContext
from sqlalchemy import Engine

from flask_paycheckout.client import (
    NotFound,
    PaymentsError,
    RateLimited,
    RequestRefused,
    ServiceFault,
    Unauthorized,
)
from flask_paycheckout.clock import Clock
from flask_paycheckout.config import Settings
from flask_paycheckout.config.accounts import Account
from flask_paycheckout.database.models import Models
from flask_paycheckout.database.shop_session import ShopSessions
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.shop_functions import CallShop, shop_caller
from flask_paycheckout.text import require_account_name
from flask_paycheckout.totals import Total
from flask_paycheckout.wiring.logs import FailureLog, about

if TYPE_CHECKING:
    from flask.ctx import AppContext


class Observed(StrEnum):
    """The kinds of observations."""

    CALL = "call"
    """A call to the service; the subject is its operation: "POST /v1/checkout"."""

    READ = "read"
    """A deposit was read for a checkout; the subject is the cause: webhook, status_page, reconcile or settle."""

    WEBHOOK = "webhook"
    """A webhook arrived; it has no subject."""

    DELIVERY = "delivery"
    """An event was delivered, or could not be; the subject is the signal's name."""

    PAYOUT = "payout"
    """A payout or refund moved after a call to the service; the subject is its kind, the outcome its new state."""

    CIRCUIT = "circuit"
    """Web requests for an operation are refused because it fails, or are allowed again: opened or closed."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Something measurable that happened."""

    kind: Observed
    subject: str
    """One of few values, so that it can be a label; never an id."""

    outcome: str
    """The result, one of few values too."""

    seconds: float | None = None
    """The duration; None if nothing was measured."""

    account: str = ""
    """The merchant account; "" if it is unknown, or the settings' account. There may be very many accounts."""


Observer = Callable[[Observation], object]


@dataclass(eq=False)
class Observers:
    """The functions that get the observations of one app. An error that a function raises is only logged."""

    log: FailureLog
    call: CallShop
    _observers: tuple[Observer, ...] = field(default=(), init=False)

    def add(self, observer: Observer) -> None:
        """Call this function with each observation from now on."""
        self._observers = (*self._observers, observer)

    def record(
        self, kind: Observed, subject: str, outcome: str, seconds: float | None = None, account: str = ""
    ) -> None:
        """Pass an observation to each function."""
        for observer in self._observers:
            try:
                self.call(observer, Observation(kind, subject, outcome, seconds, account))
            except Exception:
                # A payment must not fail because it cannot be counted.
                self.log.exception("observers", "an observer raised", extra=about(account=account))

    def record_call(self, operation: str, error: PaymentsError | None, seconds: float) -> None:
        """Record the end of a call to the service."""
        if error is None:
            outcome = "answered"
        elif isinstance(error, RequestRefused):
            outcome = _REFUSALS.get(type(error), "refused")
        else:
            outcome = "no_answer"
        self.record(Observed.CALL, operation, outcome, seconds)


_REFUSALS: dict[type[RequestRefused], str] = {
    NotFound: "not_found",
    Unauthorized: "unauthorized",
    RateLimited: "rate_limited",
    ServiceFault: "failed",
}


# Each may be a coroutine function.
OrderTotal = Callable[[str], Total | Awaitable[Total | None] | None]
OrderUrl = Callable[[str], str | Awaitable[str | None] | None]
AccountOf = Callable[[str], str | Awaitable[str]]
AccountKeys = Callable[[str], Account | Awaitable[Account | None] | None]

_CLAIM = timedelta(seconds=60)


@dataclass(eq=False)
class Callbacks:
    """The functions that a shop has registered for one app."""

    order_total: OrderTotal | None = None
    order_url: OrderUrl = lambda order_id: None
    account_of: AccountOf | None = None
    account: AccountKeys | None = None
    tell_owner: Callable[[list[Any], list[Any]], object] | None = None
    """Gets the alarms that have begun, and the alarms that are over."""

    claim_url: Callable[[Any], str] = lambda payout: ""
    """Makes the link for a payout's receiver; set by the extension, because the modules here must not import pages."""

    describe_orders: Callable[[list[str]], Any] | None = None
    """Returns a `Described` for each order that the shop knows, by id."""

    find_orders: Callable[[str, int], Any] | None = None
    """Returns the ids of the orders that match a text, limited to a number."""

    registered: set[str] = field(default_factory=set)
    """The names of the functions that were registered since the app was set up."""

    @property
    def pricing(self) -> OrderTotal:
        """The function that returns an order's present total."""
        if self.order_total is None:
            raise ConfigurationError(
                "no order_total is registered."
                " Decorate the function that prices an order with @paycheckout.order_total."
            )
        return self.order_total


@dataclass(frozen=True, repr=False, eq=False)
class Wiring:
    """The settings, tables, clock and log of one app, and the functions of its shop."""

    app: Flask
    sessions: ShopSessions
    settings: Settings
    models: Models

    engine: Callable[[], Engine]
    """Returns the engine of the payment tables; called when it is first needed."""

    clock: Clock
    elapsed: Callable[[], float]
    """A monotonic clock, in seconds."""

    log: FailureLog
    observers: Observers

    callbacks: Callbacks
    """The shop's functions, which it may register later."""

    call_shop: CallShop
    """Calls a function of the shop."""

    @property
    def strict(self) -> bool:
        """Whether the app is in debug or testing mode, in which mistakes are errors."""
        return self.app.debug or self.app.testing

    @cached_property
    def claim(self) -> timedelta:
        """The time for which a process claims a call: twice the timeout, to make the call and to apply its result."""
        return max(_CLAIM, timedelta(seconds=2 * self.settings.timeout))

    def several_accounts(self) -> bool:
        """Whether the shop has several merchant accounts."""
        return self.callbacks.account is not None

    def require_account(self, name: str) -> str:
        """Return the name of a merchant account that the shop may have.

        :raises TypeError: the name is not a string.
        :raises ValueError: the name is invalid, or the shop has only the account of the settings.
        """
        name = require_account_name(name)
        if name and not self.several_accounts():
            raise ValueError(
                f"account {name[:80]!r} is not known, since no @paycheckout.account function gives its keys;"
                " '' is the account of the PAYCHECKOUT_ settings"
            )
        return name

    def web_request(self) -> dict[str, Any] | None:
        """A dictionary that lives as long as the current web request; None outside of one."""
        # Every request has its own WSGI environment.
        return request.environ if has_request_context() else None

    def keys(self) -> list[bytes]:
        """The app's secret keys; the last one encrypts, and each of them decrypts."""
        listed = [*(self.app.config.get("SECRET_KEY_FALLBACKS") or []), self.app.secret_key or ""]
        return [key.encode() if isinstance(key, str) else key for key in listed]


def context_opener(app: Flask) -> Callable[[], AppContext]:
    """A function that opens application contexts that may also end inside an event loop.

    Flask cannot call a coroutine function there, but Flask-SQLAlchemy-Lite registers one for the end of each context.
    """
    call, functions = shop_caller(app.ensure_sync), app.teardown_appcontext_funcs

    def open_context() -> AppContext:
        # Each time, because the shop may set up its database after this extension.
        functions[:] = [partial(call, each) if inspect.iscoroutinefunction(each) else each for each in functions]
        return app.app_context()

    return open_context


def without_request(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a copy of the running context without Flask's request."""
    if not has_request_context():
        return function(*arguments)
    own = Context()
    for variable, value in copy_context().items():
        if not isinstance(value, RequestContext):
            own.run(variable.set, value)
    return own.run(function, *arguments)
