"""The rows of a shop's web routes: a start, a first and a repeated webhook, and the status of an order in JSON."""

from __future__ import annotations

from tests.benchmarks.databases import KINDS
from tests.benchmarks.measuring import CPU_MS, PEER, PER_SECOND, SAME_STACK, Figure
from tests.benchmarks.row import Row
from tests.benchmarks.sites import Requests, Site, web_contenders


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
    *shown: Figure,
    count: int,
    status: int = 200,
    has_peer: bool = False,
) -> Row:
    return Row(
        name=name,
        title=title,
        shown=shown,
        contenders=web_contenders(requests, status=status, count=count, has_peer=has_peer),
        databases=tuple(KINDS),
    )


ROWS = (
    _row(
        "start",
        "`start` + redirect (store, then show)",
        _starts,
        Figure(PER_SECOND, over=PEER),
        Figure(CPU_MS, over=SAME_STACK),
        count=600,
        status=303,
        has_peer=True,
    ),
    _row(
        "first_webhook",
        "webhook that settles an order, with its event and an atomic receiver",
        _first_webhooks,
        Figure(PER_SECOND, over=PEER),
        Figure(CPU_MS, over=PEER),
        count=500,
        has_peer=True,
    ),
    _row(
        "repeated_webhook",
        "repeated webhook of a settled order",
        _repeated_webhooks,
        Figure(PER_SECOND, over=SAME_STACK),
        count=1500,
    ),
    _row(
        "status",
        "status JSON",
        _questions,
        Figure(PER_SECOND, over=SAME_STACK),
        count=1500,
    ),
)
