"""Observations for metrics: calls, reads, webhooks, deliveries, payouts and circuits, told to functions of the app.

`flask_paycheckout.metrics` counts them for Prometheus; `PayCheckout.observe` connects a function of the shop's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from flask_paycheckout.client import (
    NotFound,
    PaymentsError,
    RateLimited,
    RequestRefused,
    ServiceFault,
    Unauthorized,
)
from flask_paycheckout.shop_functions import CallShop
from flask_paycheckout.wiring.logs import FailureLog, about


class Observed(StrEnum):
    """The kinds of observations."""

    CALL = "call"
    """A call of the service; the subject is its operation: "POST /v1/checkout"."""

    READ = "read"
    """A deposit was read for a checkout; the subject says by what: webhook, status_page, reconcile or settle."""

    WEBHOOK = "webhook"
    """A webhook arrived; it has no subject."""

    DELIVERY = "delivery"
    """An event was delivered, or could not be; the subject is the signal's name."""

    PAYOUT = "payout"
    """A payout or refund moved after a call of the service; the subject is its kind, the outcome its new state."""

    CIRCUIT = "circuit"
    """Web requests for an operation are refused, since it fails, or are allowed again: opened or closed."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Something measurable that happened."""

    kind: Observed
    subject: str
    """One of few values, so that it can be a label; never an id."""

    outcome: str
    """How it ended, one of few values as well."""

    seconds: float | None = None
    """How long it took; None where nothing was measured."""

    account: str = ""
    """The merchant account, where it is known; "" is also the one of the settings. There may be very many accounts."""


Observer = Callable[[Observation], object]


@dataclass(eq=False)
class Observers:
    """The functions that are told what happens in one app. One that raises is logged, and does no other harm."""

    log: FailureLog
    call: CallShop
    _observers: tuple[Observer, ...] = field(default=(), init=False)

    def add(self, observer: Observer) -> None:
        """Call this function with each observation from now on."""
        self._observers = (*self._observers, observer)

    def record(
        self, kind: Observed, subject: str, outcome: str, seconds: float | None = None, account: str = ""
    ) -> None:
        """Give an observation to each function."""
        for observer in self._observers:
            try:
                self.call(observer, Observation(kind, subject, outcome, seconds, account))
            except Exception:
                # A payment must not fail because it cannot be counted.
                self.log.exception("observers", "an observer raised", extra=about(account=account))

    def record_call(self, operation: str, error: PaymentsError | None, seconds: float) -> None:
        """Record the end of a call of the service."""
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
