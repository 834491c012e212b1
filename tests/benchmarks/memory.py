"""Memory of one web worker after its first requests, beside a bare Flask-SQLAlchemy + httpx app; and after many more.

The bare app is the same-stack floor; it stores nothing and has one route.

The worker's share of what both workers and their parent have in common counts as its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask, Response, jsonify
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import text

from tests.benchmarks.databases import fresh_database
from tests.benchmarks.measuring import MIB, OURS, SAME_STACK, Contender, Goal, Options
from tests.benchmarks.row import Row
from tests.benchmarks.serving import request_of, running_server
from tests.benchmarks.sites import Site, running_ours
from tests.benchmarks.stub import running_stub

GROWTH = "times as much after many requests"
_FIRST, _MANY = 400, 100_000
_BATCH = 2_000


def make_bare() -> Flask:
    """What a shop with a database and an HTTP client has anyway: both used, once in each request."""
    import httpx

    app = Flask("bare")
    app.config["SQLALCHEMY_DATABASE_URI"] = os.environ["BENCH_DATABASE"]
    db = SQLAlchemy(app)
    client = httpx.Client(base_url=os.environ["BENCH_SERVICE"])

    @app.get("/")
    def index() -> Response:
        db.session.execute(text("SELECT 1"))
        return jsonify(client.get("/v1/deposit/chk-1").json())

    return app


@contextmanager
def _contenders(options: Options, database: str | None) -> Iterator[dict[str, Contender]]:
    with running_stub(0) as service:

        def ours() -> dict[str, float]:
            with running_ours(database, service, atomic=True) as site:
                _used(site, 0, options.amount(_FIRST))
                return {MIB: site.server.resident()}

        def bare() -> dict[str, float]:
            with fresh_database(database) as address:
                environment = {"BENCH_DATABASE": address, "BENCH_SERVICE": service}
                with running_server("tests.benchmarks.memory:make_bare()", environment) as server:
                    server.asked([request_of("GET", "/")] * options.amount(_FIRST), 200)
                    return {MIB: server.resident()}

        yield {OURS: ours, SAME_STACK: bare}


@contextmanager
def _growing(options: Options, database: str | None) -> Iterator[dict[str, Contender]]:
    with running_stub(0) as service:

        def ours() -> dict[str, float]:
            with running_ours(database, service, atomic=True) as site:
                _used(site, 0, options.amount(_FIRST))
                began = site.server.resident()
                for first in range(_FIRST, options.amount(_MANY, least=2 * _FIRST), _BATCH):
                    _asked_for_many(site, first)
                return {MIB: began, GROWTH: site.server.resident() / began}

        yield {OURS: ours}


def _used(site: Site, first: int, count: int) -> None:
    """Every route once for each order."""
    site.server.asked(site.starts(first, count), 303)
    site.stored("due", first, count)
    site.server.asked(site.webhooks("due", first, count), 200)
    site.stored("paid", first, count)
    site.server.asked(site.webhooks("paid", first, count), 200)
    site.server.asked(site.questions(first, count), 200)


def _asked_for_many(site: Site, first: int) -> None:
    """A tenth of the requests start or settle something, the others come again."""
    part = _BATCH // 20
    site.server.asked(site.starts(first, part), 303)
    site.stored("due", first, part)
    site.server.asked(site.webhooks("due", first, part), 200)
    site.server.asked(site.webhooks("due", first, part) * 9, 200)
    site.server.asked(site.questions(0, part) * 9, 200)


ROWS = (
    Row(
        name="memory",
        title="memory of one web worker, to a bare Flask-SQLAlchemy + httpx app",
        goals=(Goal(MIB, over=SAME_STACK, at_most=1.1),),
        contenders=_contenders,
        warm=False,
    ),
    Row(
        name="memory_growth",
        title="memory of one web worker after 100,000 more requests",
        goals=(Goal(GROWTH, at_most=1.05),),
        contenders=_growing,
        warm=False,
        most_rounds=1,
    ),
)
