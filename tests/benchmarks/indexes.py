"""Prints the use of each index of the checkout table: python -m tests.benchmarks.indexes

A shop with very many checkouts runs the calls of a shop and its owner. Each query on the table is then timed with all
indexes, and without each index that its plan uses, on PostgreSQL, which can roll back the drop of an index.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx
import sqlalchemy as sa

from flask_paycheckout import Account
from flask_paycheckout.clock import utc_now
from tests.benchmarks.databases import fresh_database
from tests.benchmarks.shop import open_shop
from tests.postgres import running_server
from tests.scripted import BASE_URL, Service, Shop
from tests.views.owner import opens, opens_view

_TABLE = "paycheckout_checkout"
_ACCOUNTS = 10
_LONGEST = "30s"
# The number of checkouts with each status in a hundred. Each order has two checkouts.
_STATES = {"paid": 70, "abandoned": 24, "held": 1, "rejected": 2, "pending": 2, "created": 1}


@dataclass
class Query:
    """A statement on the table, as the shop ran it."""

    text: str
    parameters: Any
    caller: str
    plain: float = 0.0
    """Milliseconds with all indexes."""

    without: dict[str, float] = field(default_factory=dict)
    """Milliseconds without one of the indexes that its plan uses."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.indexes", description=__doc__)
    parser.add_argument("--checkouts", type=int, default=1_000_000, metavar="N", help="stored (%(default)s)")
    stored = parser.parse_args().checkouts
    with running_server(durable=True) as server, fresh_database(server) as address:
        service = Service()
        with open_shop(address, BASE_URL, httpx.MockTransport(service), PAYCHECKOUT_REMIND_AFTER=[3600]) as shop:
            shop.service = service
            _store(shop, stored)
            queries = _asked(opens_view(shop))
            with shop.engine.connect() as connection:
                for query in queries:
                    _measure(connection, query)
                _print(connection, queries)


def _store(shop: Shop, stored: int) -> None:
    """Store checkouts of two years, which the database itself copies from one row."""
    shop.has_paid()
    shop.paycheckout.account(lambda name: Account(f"client-{name}", "s" * 32))
    columns = [column.name for column in shop.runtime.models.checkouts.c if column.name != "id"]
    states = [state for state, many in _STATES.items() for _ in range(many)]
    created_at = f"now() - n * interval '1 second' * {timedelta(days=730).total_seconds() / stored:f}"
    paid = "state IN ('paid', 'held', 'rejected')"
    values = {
        "checkout_id": "'made-' || n",
        "order_id": "'order-' || n / 2",
        # One account has old checkouts only, so that no other index leads to its newest ones.
        "account": (
            f"CASE WHEN n % 2 = 0 THEN '' WHEN n > {0.9 * stored} THEN 'old' ELSE 'account-' || n % {_ACCOUNTS} END"
        ),
        "current_order_id": "NULL",
        "paid_order_id": "CASE WHEN state = 'paid' AND n % 2 = 0 THEN 'order-' || n / 2 END",
        "status": "state",
        "created_at": created_at,
        "moved_at": created_at,
        "next_read_at": "CASE WHEN state IN ('pending', 'created') THEN now() + interval '1 day' END",
        "remind_at": "CASE WHEN n % 200 = 0 THEN now() + interval '1 day' END",
        "payment_completed_at": f"CASE WHEN {paid} THEN {created_at} END",
        "problem_since": "CASE WHEN n % 5000 = 0 THEN now() END",
        "payback": "CASE WHEN state <> 'held' THEN 'kept' END",
    }
    chosen = ", ".join(values.get(name, name) for name in columns)
    kept = ", ".join(set(columns) - {*values})
    # No outside text: all parts of the statement are made here.
    statement = f"""
        INSERT INTO {_TABLE} ({", ".join(columns)})
        SELECT {chosen}
        FROM generate_series(1, {stored}) AS n,
            LATERAL (SELECT ('{{{",".join(states)}}}'::text[])[1 + n % 100] AS state) AS in_state,
            (SELECT {kept} FROM {_TABLE} LIMIT 1) AS like_it
    """  # noqa: S608
    with shop.engine.begin() as connection:
        connection.execute(sa.text(statement))
    with shop.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")


def _asked(shop: Shop) -> list[Query]:
    """Run all calls of a shop and its owner; returns each statement on the table once."""
    queries: dict[str, Query] = {}

    def note(connection: Any, cursor: Any, text: str, parameters: Any, *_: object) -> None:
        if _TABLE in text and text.lstrip()[:6].upper() in ("SELECT", "UPDATE", "WITH  "):
            queries.setdefault(text, Query(text, parameters, _caller()))

    sa.event.listen(shop.engine, "before_cursor_execute", note)
    for ask in _questions(shop):
        with suppress(Exception):
            ask()
    sa.event.remove(shop.engine, "before_cursor_execute", note)
    return list(queries.values())


def _questions(shop: Shop) -> Iterator[Callable[[], object]]:
    month = f"{utc_now() - timedelta(days=60):%Y-%m}"
    for path, query in (
        ("", {}),
        ("orders", {}),
        *(("orders", {"status": status}) for status in _STATES),
        ("orders", {"account": "old"}),
        ("orders", {"account": "old", "status": "paid"}),
        ("orders", {"since": f"{month}-01", "until": f"{month}-28"}),
        ("orders", {"q": "order-77"}),
        ("order", {"order_id": "order-77"}),
        ("tasks", {}),
        ("books", {}),
        ("books", {"month": month}),
    ):
        yield lambda path=path, query=query: opens(shop, path, **query)  # type: ignore[misc]
    for command in (
        ("report",),
        ("report", "--account", "old"),
        ("doctor",),
        ("export", "--from", f"{month}-01", "--to", f"{month}-02"),
        ("audit", "--from", f"{month}-01", "--to", f"{month}-02"),
        ("audit", "--from", f"{month}-01", "--to", f"{month}-02", "--account", "old"),
        ("prune", "--older-than", "365", "--dry-run"),
        ("show", "order-77"),
    ):
        yield lambda command=command: shop.runs(*command)  # type: ignore[misc]
    yield shop.reconciles
    yield lambda: shop.starts("o-2")
    yield lambda: shop.settles(shop.has_deposit("completed", "o-2"))
    yield lambda: shop.runtime.order_statuses(["order-77", "order-78"])


def _caller() -> str:
    """The function of the extension that runs the statement."""
    ours = [frame for frame in traceback.extract_stack() if "/flask_paycheckout/" in frame.filename]
    above = next((frame for frame in reversed(ours) if "/database/" not in frame.filename), ours[-1])
    return f"{above.filename.split('/flask_paycheckout/')[1].removesuffix('.py')}: {above.name}"


def _measure(connection: sa.Connection, query: Query) -> None:
    _explained(connection, query)
    query.plain, used = _explained(connection, query)
    for index in used:
        query.without[index], _ = _explained(connection, query, f'DROP INDEX "{index}"')


def _explained(connection: sa.Connection, query: Query, before: str = "SELECT 1") -> tuple[float, set[str]]:
    """The milliseconds of a statement, and the indexes that its plan uses; its changes are rolled back."""
    transaction = connection.begin()
    try:
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = '{_LONGEST}'")
        connection.exec_driver_sql(before)
        explained = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {query.text}", query.parameters)
        (plan,) = explained.scalar_one()
    except sa.exc.DBAPIError as error:
        # The index of a unique column cannot be dropped; a timeout counts as infinite time.
        return (float("inf") if "timeout" in str(error) else float("nan")), set()
    finally:
        transaction.rollback()
    return plan["Execution Time"], set(_indexes_in(plan["Plan"]))


def _indexes_in(plan: dict[str, Any]) -> Iterator[str]:
    if plan.get("Index Name", "").startswith(f"ix_{_TABLE}"):
        yield plan["Index Name"]
    for inner in plan.get("Plans", ()):
        yield from _indexes_in(inner)


def _dropable(connection: sa.Connection) -> set[str]:
    return {
        name for index in sa.inspect(connection).get_indexes(_TABLE) if not index["unique"] and (name := index["name"])
    }


def _print(connection: sa.Connection, queries: list[Query]) -> None:
    size = sa.text("SELECT pg_relation_size(CAST(:name AS regclass)) / 1048576.0")
    print(
        "| Index | MiB | Query that needs it most | With it, ms | Without it, ms | Queries |\n|---|---|---|---|---|---|"
    )
    for name in sorted({index for query in queries for index in query.without} | _dropable(connection)):
        users = sorted((q for q in queries if name in q.without), key=lambda q: q.plain - q.without[name])
        megabytes = connection.execute(size, {"name": name}).scalar_one()
        most = f"{users[0].caller} | {users[0].plain:.1f} | {users[0].without[name]:.1f}" if users else "none | | "
        print(f"| {name} | {megabytes:.0f} | {most} | {len(users)} |", flush=True)
    slow = sorted(queries, key=lambda query: -query.plain)[:5]
    print("\nSlowest:", *(f"{query.caller} {query.plain:.0f} ms" for query in slow), sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main()
