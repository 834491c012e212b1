"""Prints response times of a shop under load: python -m tests.benchmarks.load

Customers press "Pay" while the service takes a tenth of a second for each call, and a thousand webhooks come within a
second while others look at the shop. Two workers of gunicorn have 16 threads each.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import sqlalchemy as sa

from tests.benchmarks.databases import KINDS, POSTGRESQL
from tests.benchmarks.serving import Server, exchanged, request_of
from tests.benchmarks.sites import Ours, running_ours
from tests.benchmarks.stub import running_stub
from tests.postgres import running_server
from tests.waiting import eventually

_SERVICE_TAKES = 0.1
_THREADS = ("--threads", "16")
_CUSTOMERS = 64
_PRESSES, _WEBHOOKS = 1280, 1000
_SETTLED_WITHIN = 120.0


def main() -> None:
    print("| Database | What | p50 | p99 | Most | Answers |\n|---|---|---|---|---|---|", flush=True)
    with running_stub(_SERVICE_TAKES) as service, running_server(durable=True) as postgresql:
        for kind, name in KINDS.items():
            with running_ours(postgresql if kind == POSTGRESQL else None, service, *_THREADS) as site:
                _presses(name, site)
                _burst(name, site)


def _presses(database: str, site: Ours) -> None:
    _all_answered(site.server, site.starts(range(_CUSTOMERS)))
    numbers = range(_CUSTOMERS, _CUSTOMERS + _PRESSES)
    _print(database, f"press on Pay, {_CUSTOMERS} customers", _all_answered(site.server, site.starts(numbers)))


def _burst(database: str, site: Ours) -> None:
    site.store("due", range(_WEBHOOKS))
    began = time.perf_counter()
    with _visitor(site.server) as visits:
        answers = _all_answered(site.server, site.webhooks("due", range(_WEBHOOKS)))
    sent = time.perf_counter() - began
    paid = sa.text("SELECT count(*) FROM paycheckout_checkout WHERE status = 'paid'")

    def settled() -> bool:
        # A shop runs reconcile each minute; it does the reads beyond the limit of web requests.
        site.reconcile()
        with site.engine.connect() as connection:
            return int(connection.execute(paid).scalar_one()) >= _WEBHOOKS

    eventually(settled, _SETTLED_WITHIN)
    seconds = time.perf_counter() - began
    _print(database, f"{_WEBHOOKS} webhooks, answered within {sent:.1f} s, settled within {seconds:.1f} s", answers)
    _print(database, "other pages meanwhile", visits)
    print(
        f"| {database} | memory of the two workers and gunicorn: {site.server.mebibytes():.0f} MiB | | | | |",
        flush=True,
    )


Answer = tuple[float, str]
"""The seconds that an answer took, and its status."""


def _all_answered(server: Server, requests: Sequence[bytes]) -> list[Answer]:
    with ThreadPoolExecutor(_CUSTOMERS) as customers:
        return list(customers.map(lambda request: _answer(server, request), requests))


def _answer(server: Server, request: bytes) -> Answer:
    began = time.perf_counter()
    answer = exchanged(server.port, request)
    return time.perf_counter() - began, answer[9:12].decode()


@contextmanager
def _visitor(server: Server) -> Iterator[list[Answer]]:
    """A visitor who loads a page of the shop's own again and again."""
    answers: list[Answer] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            answers.append(_answer(server, request_of("GET", "/login")))

    visitor = threading.Thread(target=look)
    visitor.start()
    yield answers
    ended.set()
    visitor.join()


def _print(database: str, what: str, answers: Sequence[Answer]) -> None:
    seconds = sorted(taken for taken, _ in answers)
    figures = statistics.median(seconds), seconds[len(seconds) * 99 // 100], seconds[-1]
    statuses = ", ".join(f"{count} {status}" for status, count in Counter(status for _, status in answers).items())
    times = " | ".join(f"{1000 * figure:.0f} ms" for figure in figures)
    print(f"| {database} | {what} | {times} | {statuses} |", flush=True)


if __name__ == "__main__":
    main()
