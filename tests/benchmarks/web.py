"""The rows of a shop's web routes: a start, a first and a repeated webhook, and the status of an order in JSON."""

from __future__ import annotations

from collections.abc import Mapping

from tests.benchmarks.databases import KINDS, POSTGRESQL, SQLITE
from tests.benchmarks.measuring import CPU_MS, FLOOR, PER_SECOND, SAME_STACK, Goal
from tests.benchmarks.row import Row
from tests.benchmarks.sites import Requests, Site, web_contenders

# They write nothing, so that the journal mode hardly matters.
_OF_READS = (SQLITE, POSTGRESQL)


def _starts(site: Site, first: int, count: int) -> list[bytes]:
    return site.starts(first, count)


def _first_webhooks(site: Site, first: int, count: int) -> list[bytes]:
    site.stored("due", first, count)
    return site.webhooks("due", first, count)


def _repeated_webhooks(site: Site, first: int, count: int) -> list[bytes]:
    site.stored("paid", first, count)
    return site.webhooks("paid", first, count)


def _questions(site: Site, first: int, count: int) -> list[bytes]:
    site.stored("paid", first, count)
    return site.questions(first, count)


def _row(
    name: str,
    title: str,
    requests: Requests,
    *goals: Goal,
    count: int,
    status: int = 200,
    atomic: bool = True,
    databases: tuple[str, ...] = tuple(KINDS),
    peers: Mapping[str, int] | None = None,
) -> Row:
    return Row(
        name=name,
        title=title,
        goals=goals,
        contenders=web_contenders(requests, status=status, count=count, atomic=atomic, peers=peers or {}),
        databases=databases,
    )


ROWS = (
    _row(
        "start",
        "`start` + redirect (store, then show)",
        _starts,
        Goal(PER_SECOND, over="django-payments", at_least=1.3),
        Goal(CPU_MS, over=SAME_STACK, at_most=1.8),
        count=600,
        status=303,
        peers={"django-payments": 600},
    ),
    _row(
        "first_webhook",
        "webhook that settles an order, with its event and an atomic receiver",
        _first_webhooks,
        Goal(PER_SECOND, over="django-payments", at_least=1.3),
        Goal(PER_SECOND, over="dj-stripe", at_least=4),
        Goal(CPU_MS, over="django-payments", at_most=0.95),
        count=500,
        peers={"django-payments": 500, "dj-stripe": 150},
    ),
    _row(
        "first_webhook_plain",
        "webhook that settles an order, with its event and a plain receiver",
        _first_webhooks,
        Goal(CPU_MS),
        Goal(CPU_MS, over=SAME_STACK),
        count=500,
        atomic=False,
    ),
    _row(
        "repeated_webhook",
        "repeated webhook of a settled order, to a bare view with one SELECT",
        _repeated_webhooks,
        Goal(PER_SECOND, over=FLOOR, at_least=0.75),
        Goal(PER_SECOND, over=SAME_STACK, at_least=0.75),
        Goal(PER_SECOND, over="dj-stripe", at_least=2),
        count=1500,
        databases=_OF_READS,
        peers={"dj-stripe": 300},
    ),
    _row(
        "status",
        "status JSON, to a bare view with one SELECT",
        _questions,
        Goal(PER_SECOND, over=FLOOR, at_least=0.7),
        Goal(PER_SECOND, over=SAME_STACK, at_least=0.7),
        count=1500,
        databases=_OF_READS,
    ),
)
