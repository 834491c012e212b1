"""What commands and pages take in a shop that has grown, with the plans of their statements; exit code 1 over a bound.

python -m tests.benchmarks.growth --database postgresql --checkouts 1000000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from flask_paycheckout.cli import load_commands, paycheckout
from flask_paycheckout.clock import as_utc
from tests.benchmarks.databases import database_kinds, fresh_database
from tests.benchmarks.growth.stored import paid_order, store_year
from tests.benchmarks.growth.work import open_shop
from tests.benchmarks.stub import running_stub

_PAGE, _REPORT = 0.3, 2.0
_MIB = 150
_STATUSES = ("created", "pending", "paid", "held", "rejected", "abandoned")
_OWNER = "/paycheckout/owner"


@dataclass(frozen=True)
class Work:
    """A command or page, with the most seconds that it may take; None where only its memory is bounded."""

    name: str
    arguments: tuple[str, ...]
    seconds: float | None = None

    @property
    def is_page(self) -> bool:
        """Whether it is done by the one process that serves all pages; a command has a process of its own."""
        return self.arguments[0].startswith(("/", "order ", "status "))


def works(count: int, now: datetime, known: Sequence[str]) -> Iterator[Work]:
    """All that is measured.

    :param known: the names of the commands that there are.
    """
    order_id = paid_order(count)
    month = (now.replace(day=1) - timedelta(days=45)).replace(day=1)
    following = (month + timedelta(days=31)).replace(day=1)
    day = now - timedelta(days=40)
    yield Work("report", ("report",), _REPORT)
    yield Work("report of an account", ("report", "--account", "brand-1"), _REPORT)
    yield Work("doctor", ("doctor",), _REPORT)
    yield Work("show", ("show", order_id), _PAGE)
    for path in _pages(order_id):
        yield Work(path, (path,), _PAGE)
    yield Work("status page", (f"order {order_id}",), _PAGE)
    yield Work("status JSON", (f"status {order_id}",), _PAGE)
    if "export" in known:
        yield Work(
            "export of a month", ("export", "--from", month.date().isoformat(), "--to", following.date().isoformat())
        )
        yield Work(f"{_OWNER}/books", (f"{_OWNER}/books",), _PAGE)
    if "audit" in known:
        days = (day.date().isoformat(), (day + timedelta(days=1)).date().isoformat())
        yield Work("audit of a day", ("audit", "--from", days[0], "--to", days[1]))
    yield Work("prune --dry-run", ("prune", "--older-than", "90", "--dry-run"))


def _pages(order_id: str) -> Iterator[str]:
    yield _OWNER
    for status in _STATUSES:
        yield f"{_OWNER}?status={status}"
    yield f"{_OWNER}?account=brand-1"
    for status in ("paid", "abandoned", "held"):
        yield f"{_OWNER}?account=brand-1&status={status}"
    yield f"{_OWNER}/order?id={order_id}"
    yield f"{_OWNER}/paybacks"
    yield f"{_OWNER}/payouts"
    for status in ("ready", "sent", "completed", "failed", "cancelled"):
        yield f"{_OWNER}/payouts?status={status}"
    yield f"{_OWNER}/payouts?kind=refund"
    yield f"{_OWNER}/payouts?kind=refund&status=failed"
    yield f"{_OWNER}/payouts?account=brand-1"
    yield f"{_OWNER}/payouts?account=brand-1&status=completed&kind=refund"
    yield f"{_OWNER}/payout?reference=pay-40"


def _deep(database: str, service: str, now: datetime) -> Iterator[Work]:
    """Pages far down in the lists, and among the rows that came at one time."""
    from flask_paycheckout.reports.order_list import page_of_orders
    from flask_paycheckout.rules.states import Status

    shop = open_shop(database, service)
    runtime = shop.runtime
    c = runtime.models.checkouts.c
    with runtime.engine().connect() as connection:
        began, last = connection.execute(sa.select(sa.func.min(c.moved_at), sa.func.max(c.id))).one()
    start = round(as_utc(began).timestamp() * 1_000_000)
    middle = round((now - timedelta(days=180)).timestamp() * 1_000_000)
    for name, place in (
        ("in the middle", f"{middle}-{last // 2}"),
        ("among rows of one time", f"{start}-{last // 40}"),
    ):
        statuses = runtime.checkouts.order_statuses
        assert page_of_orders(runtime.engine(), runtime.models, statuses, Status.PAID, place).orders
        yield Work(f"paid, {name}", (f"{_OWNER}?status=paid&after={place}",), _PAGE)
        yield Work(f"paid of brand-1, {name}", (f"{_OWNER}?status=paid&account=brand-1&after={place}",), _PAGE)
    yield Work("all, in the middle", (f"{_OWNER}?after={last // 2}",), _PAGE)
    runtime.engine().dispose()


def measure(together: Sequence[Work], database: str, service: str, rounds: int, *, show_plans: bool) -> bool:
    """Print the figures of works that one process does; whether their bounds are held."""
    command = [sys.executable, "-m", "tests.benchmarks.growth.work", database, service]
    command += [str(rounds if together[0].seconds else 1), json.dumps([work.arguments for work in together])]
    ran = subprocess.run(command, capture_output=True, text=True)
    lines = ran.stdout.splitlines()
    for work, line in zip(together, lines, strict=False):
        _show(work, json.loads(line), show_plans=show_plans)
    if ran.returncode:
        print(f"{together[len(lines)].name:<60} FAILED\n{ran.stderr[-2000:]}", flush=True)
        return False
    return not any(_faults(work, json.loads(line)) for work, line in zip(together, lines, strict=True))


def _faults(work: Work, found: Any) -> str:
    """The bounds that are not held."""
    # The least of some rounds, since the machine has other work too.
    seconds = min(seconds for seconds, _ in found["took"])
    slow = " TOO SLOW" if work.seconds is not None and seconds > work.seconds else ""
    return slow + (" TOO LARGE" if found["mib"] > _MIB else "")


def _show(work: Work, found: Any, *, show_plans: bool) -> None:
    seconds, processor = (1000 * min(part) for part in zip(*found["took"], strict=True))
    bound = "" if work.seconds is None else f" of {1000 * work.seconds:.0f}"
    first = 1000 * found["took"][0][0]
    print(
        f"{work.name:<60}{seconds:9.1f}{bound} ms (first {first:.0f}, CPU {processor:.0f}),"
        f" {found['mib']:.0f} MiB{_faults(work, found)}",
        flush=True,
    )
    for statement, *steps in found["plans"] if show_plans else ():
        print(f"    {statement}")
        print(*(f"        {step}" for step in steps), sep="\n", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = ["sqlite", "postgresql"]
    parser.add_argument("--database", choices=kinds, nargs="+", default=kinds)
    parser.add_argument(
        "--checkouts", type=int, default=1_000_000, help="3 times as many events, a fifth as many payouts"
    )
    parser.add_argument("--rounds", type=int, default=5, help="the least of so many counts")
    parser.add_argument("--only", metavar="TEXT", help="works whose names contain this")
    parser.add_argument("--stored", metavar="ADDRESS", help="measure a shop again that an earlier run has stored there")
    parser.add_argument("--no-plans", action="store_true", help="print the figures only")
    options = parser.parse_args(argv)
    held = True
    if options.stored is not None:
        with running_stub(0.0) as service:
            return 0 if measure_all("stored", options.stored, service, options) else 1
    with database_kinds(tuple(options.database)) as servers, running_stub(0.0) as service:
        for kind, server in servers.items():
            with fresh_database(server) as database:
                held &= measure_all(kind, database, service, options)
    return 0 if held else 1


def measure_all(kind: str, database: str, service: str, options: argparse.Namespace) -> bool:
    """Store a shop, and print the figures of all works; whether all bounds are held."""

    def say(what: str) -> None:
        print(f"\r\x1b[K{kind}: {what}", end="", file=sys.stderr, flush=True)

    # To the second, which both databases store exactly.
    now, began = datetime.now(UTC).replace(microsecond=0), time.perf_counter()
    shop = open_shop(database, service)
    if options.stored is None:
        with shop.app.app_context():
            shop.db.create_all()
        store_year(shop.runtime.engine(), shop.runtime.models, options.checkouts, now, say)
        print(file=sys.stderr)
        print(f"{kind}: {options.checkouts} checkouts, stored in {time.perf_counter() - began:.0f} s", flush=True)
    shop.runtime.engine().dispose()
    load_commands()
    known = sorted(paycheckout.commands)
    every = (*works(options.checkouts, now, known), *_deep(database, service, now))
    wanted = [work for work in every if options.only is None or options.only in work.name]
    pages = [work for work in wanted if work.is_page]
    groups = [[work] for work in wanted if not work.is_page] + ([pages] if pages else [])
    # A list, so that all are measured.
    held = [measure(group, database, service, options.rounds, show_plans=not options.no_plans) for group in groups]
    return all(held)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as failed:
        sys.exit(f"PostgreSQL could not be started: {failed}")
