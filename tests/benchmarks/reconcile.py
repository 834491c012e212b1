"""What a reconcile round costs: settled checkouts a second, and how that depends on how many are stored.

python -m tests.benchmarks.reconcile --database postgresql --stored 10000 100000 1000000 --latency 0 --plans
python -m tests.benchmarks.reconcile --stored 1000 --due 1000 --floor
python -m tests.benchmarks.reconcile --database postgresql --stored 1000 --due 1000 --receiver atomic --processes 2 4
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count, islice
from multiprocessing import get_context
from typing import Any

import sqlalchemy as sa

from flask_paycheckout import Pay, ReconcileReport
from flask_paycheckout.store.checkout_model import total_columns
from flask_paycheckout.store.history import Entry, line
from tests.benchmarks.databases import database_kinds, fresh_database
from tests.benchmarks.reconcile_floor import FloorRounds, RawRounds, SameStackRounds
from tests.benchmarks.shop import open_shop
from tests.benchmarks.stub import running_stub
from tests.scripted import Shop

NOW = datetime.now(UTC)
CHUNK = 20_000

Took = tuple[float, float]
"""The seconds of a round, and the seconds of processor time."""


def rows(kind: str, first: int, count: int) -> Iterator[dict[str, Any]]:
    """Stored checkouts: `paid` long ago, `open` and not due yet, or `due` now."""
    total = Pay("12.50", "USD")
    for number in range(first, first + count):
        made = NOW - timedelta(seconds=count + first - number)
        checkout_id, order_id = f"chk-{kind}-{number:09}", f"ord-{kind}-{number:09}"
        read = line(made, Entry.READ, via="reconcile", deposit="not found")
        yield {
            "checkout_id": checkout_id,
            "order_id": order_id,
            "current_order_id": order_id,
            "paid_order_id": order_id if kind == "paid" else None,
            "url": f"https://pay.example/checkout/{checkout_id}",
            "status": "paid" if kind == "paid" else "created",
            "created_at": made,
            "moved_at": made,
            "next_read_at": {"paid": None, "open": NOW + timedelta(days=1), "due": NOW - timedelta(minutes=1)}[kind],
            "revision": int(kind == "paid"),
            "reads": 4,
            "not_found_reads": 0,
            "failed_reads": 0,
            "webhooks": 0,
            "history": line(made, Entry.CREATED, total=total) + 3 * read,
            **total_columns(total),
        }


def events(first: int, count: int) -> Iterator[dict[str, Any]]:
    for number in range(first, first + count):
        yield {
            "event_id": f"evt-{number:032}",
            "once": f"order_paid:order:ord-paid-{number:09}",
            "name": "order_paid",
            "checkout_id": f"chk-paid-{number:09}",
            "order_id": f"ord-paid-{number:09}",
            "occurred_at": NOW,
            "delivered_at": NOW,
            "attempts": 1,
            "receivers_done": "[]",
        }


def store(shop: Shop, table: Any, made: Iterator[dict[str, Any]]) -> None:
    with shop.runtime.engine().begin() as connection:
        while chunk := list(islice(made, CHUNK)):
            connection.execute(table.insert(), chunk)


def plan_of_a_claim(shop: Shop) -> list[str]:
    engine = shop.runtime.engine()
    seen: list[tuple[str, Any]] = []
    record = lambda connection, cursor, statement, parameters, *others: seen.append((statement, parameters))  # noqa: E731
    sa.event.listen(engine, "before_cursor_execute", record)
    shop.runtime.due_reads.claim_due(NOW - timedelta(days=9), NOW, 16)
    sa.event.remove(engine, "before_cursor_execute", record)
    statement, parameters = seen[0]
    explain = "EXPLAIN QUERY PLAN " if engine.dialect.name == "sqlite" else "EXPLAIN "
    with engine.connect() as connection:
        found = connection.exec_driver_sql(explain + statement, parameters).all()
        connection.rollback()
    return [str(row[-1]) for row in found]


def reconcile(shop: Shop) -> tuple[ReconcileReport, float, float]:
    """The report of a round, its seconds, and the seconds of processor time that this process spent on it."""
    with shop.app.app_context():
        began, spent = time.perf_counter(), time.process_time()
        report = shop.paycheckout.reconcile()
        return report, time.perf_counter() - began, time.process_time() - spent


def open_receiving(receiver: str, database: str, base_url: str, readers: int) -> AbstractContextManager[Shop]:
    """The shop, whose receiver is atomic or plain."""
    return open_shop(database, base_url, PAYCHECKOUT_RECONCILE_READERS=readers, ATOMIC=receiver == "atomic")


def measure(options: argparse.Namespace, stored: int, receiver: str, server: str | None, base_url: str) -> None:
    """Print what rounds cost with so many stored checkouts, a tenth of them open."""
    with fresh_database(server) as database, ExitStack() as stack:
        shop = stack.enter_context(open_receiving(receiver, database, base_url, options.readers))
        waiting = fill(shop, stored, options.due)
        print(f"{options.database}, {receiver} receiver: {stored} stored, {waiting} open", flush=True)
        contenders: dict[str, Callable[[int], Took]] = {"ours": partial(_ours, shop, options.due)}
        for floor in (RawRounds, SameStackRounds) if options.floor else ():
            rounds = floor(database, base_url, options.readers, atomic=receiver == "atomic")
            stack.enter_context(closing(rounds))
            contenders[floor.name] = partial(_least, rounds, options.due)
        for processes in options.processes:
            team = stack.enter_context(Team(processes, receiver, database, base_url, options.readers))
            contenders[f"{processes} processes"] = partial(_shared, shop, team, options.due)
        _in_turns(contenders, options.rounds, options.due)
        if options.plans:
            print(*(f"    {step}" for step in plan_of_a_claim(shop)), sep="\n")


def fill(shop: Shop, stored: int, due: int) -> int:
    """Store checkouts that are paid, and those that are open; gives the number of the open ones."""
    checkouts, told = shop.runtime.models.checkouts, shop.runtime.models.events
    not_due = max(0, stored - due)
    waiting = min(not_due, stored // 10)
    store(shop, checkouts, rows("paid", 0, not_due - waiting))
    store(shop, told, events(0, not_due - waiting))
    store(shop, checkouts, rows("open", 0, waiting))
    with shop.runtime.engine().connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")
    return waiting


def _in_turns(contenders: dict[str, Callable[[int], Took]], rounds: int, due: int) -> None:
    """Every contender once in each round; the first round, which opens connections, does not count."""
    taken: dict[str, list[Took]] = {name: [] for name in contenders}
    numbers = count()
    for contender in contenders.values():
        contender(next(numbers))
    for _ in range(rounds):
        for name, contender in contenders.items():
            taken[name].append(contender(next(numbers)))
            print(f"    {name:12} {_pace([taken[name][-1]], due)}", flush=True)
    for name, took in taken.items():
        over = statistics.median(ours[1] / its[1] for ours, its in zip(taken["ours"], took, strict=True))
        print(f"  {name:12} {_pace(took, due)}" + (f"; ours {over:.2f}x its" if name != "ours" else ""), flush=True)


def _ours(shop: Shop, due: int, number: int) -> Took:
    store(shop, shop.runtime.models.checkouts, rows("due", number * due, due))
    report, *took = reconcile(shop)
    assert (report.checked, report.changed, report.delivered) == (due,) * 3, report
    return took[0], took[1]


def _least(rounds: FloorRounds, due: int, number: int) -> Took:
    return rounds.round(number * due, due)


def _shared(shop: Shop, team: Team, due: int, number: int) -> Took:
    store(shop, shop.runtime.models.checkouts, rows("due", number * due, due))
    took = team.round()
    with shop.runtime.engine().connect() as connection:
        left = shop.runtime.models.checkouts.c.status == "created", shop.runtime.models.checkouts.c.next_read_at < NOW
        assert connection.execute(sa.select(sa.func.count()).where(*left)).scalar_one() == 0
    return took


class Team:
    """Processes that reconcile one database, each with a shop of its own."""

    def __init__(self, processes: int, *shop: Any) -> None:
        context = get_context("spawn")
        self._size = processes
        opening: Any = (context.Barrier(processes), *shop)
        self._pool = ProcessPoolExecutor(processes, context, _open, opening)

    def round(self) -> Took:
        """The seconds until the last of them has ended, and the processor time of all."""
        took = list(self._pool.map(_reconcile_beside, range(self._size)))
        return max(end for _, end, _ in took) - min(begin for begin, _, _ in took), sum(spent for *_, spent in took)

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool.shutdown()


_member: dict[str, Any] = {}


def _open(barrier: Any, receiver: str, database: str, base_url: str, readers: int) -> None:
    _member.update(barrier=barrier, shop=open_receiving(receiver, database, base_url, readers).__enter__())


def _reconcile_beside(_: int) -> tuple[float, float, float]:
    """When this process began and ended its round, and its processor time."""
    _member["barrier"].wait(timeout=60)
    began = time.monotonic()
    spent = reconcile(_member["shop"])[2]
    return began, time.monotonic(), spent


def _pace(rounds: Sequence[Took], due: int) -> str:
    """The medians of rounds, each given by its seconds and those of processor time."""
    seconds, spent = (statistics.median(part) for part in zip(*rounds, strict=True))
    return f"{due} due: {due / seconds:.1f} settled/s, {1000 * spent / due:.3f} ms of processor each"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--stored", type=int, nargs="+", default=[10_000], help="checkouts in the table")
    parser.add_argument("--due", type=int, default=500, help="of those, due in each round")
    parser.add_argument("--latency", type=float, default=0.05, help="seconds that the service takes to answer")
    parser.add_argument("--readers", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--receiver", choices=["atomic", "plain"], nargs="+", default=["atomic", "plain"])
    parser.add_argument("--floor", action="store_true", help="in turns with the least possible work")
    parser.add_argument("--processes", type=int, nargs="+", default=[], help="in turns with so many at once")
    parser.add_argument("--plans", action="store_true", help="print the query plan of a claim")
    options = parser.parse_args(argv)
    with database_kinds((options.database,)) as servers, running_stub(options.latency) as base_url:
        for stored in options.stored:
            for receiver in options.receiver:
                print(f"storing {stored} checkouts ...", file=sys.stderr)
                measure(options, stored, receiver, servers[options.database], base_url)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as failed:
        sys.exit(f"PostgreSQL could not be started: {failed}")
