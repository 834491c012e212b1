"""The rows of a shop's web routes: a start, a first and a repeated webhook, and the status of an order in JSON."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from tests.benchmarks.measuring import (
    CPU_MS,
    OURS,
    PEER,
    PER_SECOND,
    SAME_PROMISES,
    SAME_STACK,
    Contender,
    Figure,
    Options,
    Row,
)
from tests.benchmarks.peers.sites import running_peer
from tests.benchmarks.sites import Site, running_floor, running_ours, running_same_promises
from tests.benchmarks.stub import running_stub

Requests = Callable[[Site, range], list[bytes]]
"""A function that makes a request for each number, and stores the rows that it needs."""


def _first_webhooks(site: Site, numbers: range) -> list[bytes]:
    site.store("due", numbers)
    return site.webhooks("due", numbers)


def _repeated_webhooks(site: Site, numbers: range) -> list[bytes]:
    site.store("paid", numbers)
    return site.webhooks("paid", numbers)


def _questions(site: Site, numbers: range) -> list[bytes]:
    site.store("paid", numbers)
    return site.questions(numbers)


def _row(name: str, title: str, requests: Requests, *shown: Figure, full: int, status: int = 200) -> Row:
    """
    :param full: the number of requests of a full round.
    :param status: the status of every answer.
    """

    @contextmanager
    def contenders(options: Options, database: str | None) -> Iterator[dict[str, Contender]]:
        count = options.amount(full)

        def contender(site: Site) -> Contender:
            numbers = (range(first, first + count) for first in itertools.count(0, count))
            return lambda: site.server.asked(requests(site, next(numbers)), status)

        with ExitStack() as stack:
            service = stack.enter_context(running_stub())
            # Each has its own database, and all run at the same time.
            sites = {
                OURS: stack.enter_context(running_ours(database, service)),
                SAME_STACK: stack.enter_context(running_floor(database, service)),
            }
            if any(figure.over == SAME_PROMISES for figure in shown):
                sites[SAME_PROMISES] = stack.enter_context(running_same_promises(database, service))
            if options.peers is not None and any(figure.over == PEER for figure in shown):
                sites[PEER] = stack.enter_context(running_peer(database, service, options.peers))
            yield {name: contender(site) for name, site in sites.items()}

    return Row(name, title, shown, contenders, on_databases=True)


ROWS = (
    _row(
        "start",
        "`start` + redirect (store, then show)",
        lambda site, numbers: site.starts(numbers),
        Figure(PER_SECOND, over=PEER),
        Figure(CPU_MS, over=SAME_STACK),
        Figure(CPU_MS, over=SAME_PROMISES),
        full=600,
        status=303,
    ),
    _row(
        "first_webhook",
        "webhook that settles an order, with its event and an atomic receiver",
        _first_webhooks,
        Figure(PER_SECOND, over=PEER),
        Figure(CPU_MS, over=PEER),
        Figure(CPU_MS, over=SAME_PROMISES),
        full=500,
    ),
    _row(
        "repeated_webhook",
        "repeated webhook of a settled order",
        _repeated_webhooks,
        Figure(PER_SECOND, over=SAME_STACK),
        full=1500,
    ),
    _row("status", "status JSON", _questions, Figure(PER_SECOND, over=SAME_STACK), full=1500),
)
