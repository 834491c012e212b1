"""What a reconcile round costs: settled checkouts a second, and how that depends on how many are stored.

python -m tests.benchmarks.reconcile --database postgresql --stored 10000 100000 1000000 --due 500
python -m tests.benchmarks.reconcile --database sqlite --stored 5000 --due 5000 --latency 0.05
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import sqlalchemy as sa

from flask_paycheckout import Pay, ReconcileReport
from flask_paycheckout.store.checkout_model import total_columns
from flask_paycheckout.store.history import Entry, line
from tests.benchmarks.databases import database_kinds, fresh_database
from tests.benchmarks.reconcile_floor import FloorRounds
from tests.benchmarks.shop import open_shop
from tests.benchmarks.stub import running_stub
from tests.scripted import Shop

NOW = datetime.now(UTC)
CHUNK = 20_000


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


def measure(options: argparse.Namespace, stored: int, server: str | None, base_url: str) -> None:
    """Print what rounds cost with so many stored checkouts, a tenth of them open."""
    with fresh_database(server) as database, ExitStack() as stack:
        shop = stack.enter_context(open_shop(database, base_url, PAYCHECKOUT_RECONCILE_READERS=options.readers))
        checkouts, told = shop.runtime.models.checkouts, shop.runtime.models.events
        not_due = max(0, stored - options.due)
        waiting = min(not_due, stored // 10)
        store(shop, checkouts, rows("paid", 0, not_due - waiting))
        store(shop, told, events(0, not_due - waiting))
        store(shop, checkouts, rows("open", 0, waiting))
        with shop.runtime.engine().connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("ANALYZE")
        floor = None
        if options.floor:
            floor = stack.enter_context(closing(FloorRounds(database, base_url, options.readers)))
        ours, least = [], []
        for number in range(options.rounds):
            store(shop, checkouts, rows("due", number * options.due, options.due))
            report, *took = reconcile(shop)
            assert (report.checked, report.changed, report.delivered) == (options.due,) * 3, report
            ours.append(took)
            if floor is not None:
                least.append(floor.round(number * options.due, options.due))
        print(f"{options.database}: {stored} stored, {waiting} open, {_pace(ours, options.due)}")
        print("    rounds", *(f"{seconds:.3f}" for seconds, _ in ours), "s")
        if least:
            print(f"    the least possible work: {_pace(least, options.due)}")
        print(*(f"    {step}" for step in plan_of_a_claim(shop)), sep="\n")


def _pace(rounds: Sequence[Sequence[float]], due: int) -> str:
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
    parser.add_argument("--floor", action="store_true", help="in turns with the least possible work")
    options = parser.parse_args(argv)
    with database_kinds((options.database,)) as servers, running_stub(options.latency) as base_url:
        for stored in options.stored:
            print(f"storing {stored} checkouts ...", file=sys.stderr)
            measure(options, stored, servers[options.database], base_url)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as failed:
        sys.exit(f"PostgreSQL could not be started: {failed}")
