"""Metrics for Prometheus, by `prometheus-client` (the extra `metrics`).

    from flask_paycheckout import metrics

    paycheckout.init_app(app, db)
    metrics.init_app(app)

With PAYCHECKOUT_METRICS_TOKEN set, `GET /paycheckout/metrics` answers requests that carry it as
`Authorization: Bearer <token>`. Without it there is no such page, and the metrics join a registry of the
shop's own. Counters and histograms cover this process, or, with PROMETHEUS_MULTIPROC_DIR, all processes that
share that folder. Gauges are read from the database during a scrape, and cached to limit the load.

No label is an id: operations, signals, states and outcomes have few values each, and accounts beyond the first 50
share one label.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter as Sums
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from flask import Blueprint, Flask, Response, request
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from flask_paycheckout.books.report import Gauges, read_gauges
from flask_paycheckout.checkouts.states import FoundBy
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.payouts.payout_states import PayoutKind
from flask_paycheckout.per_process import PerProcess
from flask_paycheckout.runtime import Runtime, runtime
from flask_paycheckout.security.comparing import is_one_of
from flask_paycheckout.service.calls import CREATE, READ
from flask_paycheckout.signals import BY_NAME
from flask_paycheckout.views.headers import harden
from flask_paycheckout.wiring import Observation, Observed
from flask_paycheckout.wiring.logs import about

__all__ = ["OTHERS", "collector", "init_app"]

OTHERS = "(others)"
"""The label of all accounts without their own label."""

_KEY = "paycheckout_metrics"
_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30)
# The seconds that a scrape waits for another scrape; Prometheus gives up after ten.
_PATIENCE = 5.0
# Gauges are cached for this many times the duration of their last read.
_SHARE = 20
_MULTIPROCESS = ("PROMETHEUS_MULTIPROC_DIR", "prometheus_multiproc_dir")


def init_app(
    app: Flask,
    *,
    registry: CollectorRegistry | None = None,
    accounts: int | Sequence[str] = 50,
    cache: float = 10.0,
) -> None:
    """Collect the metrics of an app; call it after `paycheckout.init_app(app, db)`.

    :param registry: the registry that collects them together with the shop's own metrics, for instance
        `prometheus_client.REGISTRY`; by default they have their own registry. Two apps in one process need two
        registries.
    :param accounts: the merchant accounts with their own label: their names, or their number, counted in
        alphabetical order. All other accounts share the label `(others)`.
    :param cache: the minimum seconds between two reads of the database; longer while it answers slowly.
    :raises ConfigurationError: `paycheckout.init_app` was not called before, or this function was called already.
    """
    shop = runtime(app)
    if _KEY in app.extensions:
        raise ConfigurationError(f"The metrics of {app.name!r} are collected already. Call metrics.init_app once.")
    registry = CollectorRegistry() if registry is None else registry
    database = app.extensions[_KEY] = _Database(shop, accounts, cache)
    registry.register(database)
    shop.observers.add(_Counting(registry))
    if shop.settings.metrics_token:
        _add_view(app, shop.settings.url_prefix, registry, database)


def collector(app: Flask) -> Collector:
    """The gauges that are read from the database, for a registry that the shop makes for each scrape.

    :raises ConfigurationError: `init_app` was not called for this app.
    """
    gauges = app.extensions.get(_KEY)
    if not isinstance(gauges, _Database):
        raise ConfigurationError(f"The metrics of {app.name!r} are not collected. Call metrics.init_app(app).")
    return gauges


# The view


def _add_view(app: Flask, url_prefix: str, registry: CollectorRegistry, database: _Database) -> None:
    blueprint = Blueprint(_KEY, __name__, url_prefix=url_prefix)

    def view() -> Response:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not is_one_of(token.strip(), runtime().settings.metrics_token):
            response = Response("a token is needed\n", 401, mimetype="text/plain")
            response.headers["WWW-Authenticate"] = "Bearer"
            return response
        return Response(generate_latest(_scraped(registry, database)), content_type=CONTENT_TYPE_LATEST)

    blueprint.add_url_rule("/metrics", "metrics", view, methods=["GET"])
    blueprint.after_request(harden)
    app.register_blueprint(blueprint)


def _scraped(registry: CollectorRegistry, database: _Database) -> CollectorRegistry:
    """The registry of one scrape: this process's, or one of all processes that share a folder."""
    if not any(os.environ.get(name) for name in _MULTIPROCESS):
        return registry
    shared = CollectorRegistry()
    MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
    shared.register(database)
    return shared


# Counters and histograms


class _Counted(NamedTuple):
    """The metrics of one kind of observations."""

    name: str
    text: str
    labels: Mapping[str, Iterable[str]]
    """The labels with their values, exported from zero, because `increase()` ignores the first value of a series."""

    seconds: tuple[str, str] | None = None
    """The name and text of a histogram of their seconds, by the first label."""


_COUNTED = {
    Observed.CALL: _Counted(
        "calls",
        "Calls of the payment service.",
        {
            "operation": (CREATE, READ),
            "outcome": (
                "answered",
                "not_found",
                "refused",
                "unauthorized",
                "rate_limited",
                "failed",
                "no_answer",
                "not_asked",
            ),
        },
        ("call_seconds", "Seconds of a call, retries included."),
    ),
    Observed.READ: _Counted(
        "reads",
        "Reads of deposits that were applied to checkouts.",
        {
            "via": [via.name.lower() for via in FoundBy],
            "outcome": ("moved", "unchanged", "no_answer", "failed"),
        },
    ),
    Observed.WEBHOOK: _Counted(
        "webhooks",
        "Webhooks that arrived.",
        {
            "outcome": (
                "read",
                "later",
                "queued",
                "useless",
                "payout",
                "malformed",
                "too_large",
                "refused",
                "not_stored",
            )
        },
    ),
    Observed.DELIVERY: _Counted(
        "deliveries",
        "Deliveries of events to receivers.",
        {"signal": BY_NAME, "outcome": ("delivered", "failed", "superseded", "unheard")},
        ("delivery_seconds", "Seconds of an event's receivers."),
    ),
    Observed.PAYOUT: _Counted(
        "payout_moves",
        "Moves of payouts and refunds by calls.",
        {
            "kind": [kind.value for kind in PayoutKind],
            "status": ("sent", "completed", "failed", "unknown", "ready"),
        },
    ),
}


class _Counting:
    """Counts the observations of this process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counters: dict[Observed, Counter] = {}
        self._seconds: dict[Observed, Histogram] = {}
        for kind, counted in _COUNTED.items():
            name = f"paycheckout_{counted.name}"
            names = tuple(counted.labels)
            counter = self._counters[kind] = Counter(name, counted.text, names, registry=registry)
            for labels in product(*counted.labels.values()):
                counter.labels(*labels)
            if counted.seconds is not None:
                timed, text = counted.seconds
                self._seconds[kind] = Histogram(
                    f"paycheckout_{timed}", text, names[:1], registry=registry, buckets=_BUCKETS
                )
        self._circuits = Gauge(
            "paycheckout_circuits_open",
            "Merchant accounts whose web requests are refused now, since the service fails; of all processes together.",
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._open: PerProcess[set[tuple[str, str]]] = PerProcess(set)

    def __call__(self, observation: Observation) -> None:
        if observation.kind is Observed.CIRCUIT:
            circuits, circuit = self._open(), (observation.account, observation.subject)
            (circuits.add if observation.outcome == "opened" else circuits.discard)(circuit)
            self._circuits.set(len(circuits))
            return
        labels = (observation.subject, observation.outcome)[-len(_COUNTED[observation.kind].labels) :]
        self._counters[observation.kind].labels(*labels).inc()
        if observation.seconds is not None and observation.kind in self._seconds:
            self._seconds[observation.kind].labels(observation.subject).observe(observation.seconds)


# Gauges of the database


@dataclass
class _Kept:
    """The gauges that one process keeps."""

    gauges: Gauges | None = None
    """None if the last read failed."""

    until: float = float("-inf")
    """The time, by the app's elapsed seconds, until which these gauges need not be read again."""

    reading: threading.Lock = field(default_factory=threading.Lock)
    """Held by the scrape that reads the database."""


class _Database(Collector):
    """Gauges that are read by one scrape at a time, and then cached.

    Other scrapes wait at most five seconds, so that a database that hangs blocks only one thread of the server.
    """

    def __init__(self, shop: Runtime, accounts: int | Sequence[str], cache: float) -> None:
        self._shop = shop
        self._accounts = accounts
        self._cache = cache
        self._here = PerProcess(_Kept)

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """The gauges without values, so that registering them does not query the database."""
        return _families(None)

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The present or cached gauges; without a database, only the gauge that reports this."""
        return _families(self._gauges())

    def _gauges(self) -> Gauges | None:
        state = self._here()
        if not state.reading.acquire(timeout=_PATIENCE):
            return None
        try:
            if self._shop.elapsed() >= state.until:
                self._read(state)
            return state.gauges
        finally:
            state.reading.release()

    def _read(self, state: _Kept) -> None:
        began, state.gauges = time.perf_counter(), None
        try:
            state.gauges = read_gauges(self._shop.alarm_context(), self._accounts)
        except Exception:
            self._shop.log.exception(
                "reads of metrics", "the gauges could not be read from the database", extra=about()
            )
        state.until = self._shop.elapsed() + max(self._cache, _SHARE * (time.perf_counter() - began))


def _families(gauges: Gauges | None) -> Iterator[GaugeMetricFamily]:
    """The gauges in the form of prometheus-client."""

    def family(name: str, text: str, *labels: str) -> GaugeMetricFamily:
        return GaugeMetricFamily(f"paycheckout_{name}", text, labels=labels)

    up = family("database_up", "Whether the gauges could be read from the database; without it the others are missing.")
    up.add_metric([], float(gauges is not None))
    yield up
    checkouts = family("checkouts", "Stored checkouts.", "account", "status")
    payouts = family("payouts", "Stored payouts and refunds.", "account", "status")
    alarms = family("alarms", "How many things each kind of alarm of the report counts.", "kind", "severity")
    if gauges is not None:
        for counts, by_account in ((checkouts, gauges.checkouts), (payouts, gauges.payouts)):
            # An account whose name equals the shared label must not create the series twice.
            labelled: Sums[tuple[str, str]] = Sums()
            for account, states in by_account.items():
                for state, count in states.items():
                    labelled[OTHERS if account is None else account, state] += count
            for labels, count in labelled.items():
                counts.add_metric(labels, count)
        for (kind, severity), count in gauges.alarms.items():
            alarms.add_metric([kind, severity], count)
    yield from (checkouts, payouts, alarms)
