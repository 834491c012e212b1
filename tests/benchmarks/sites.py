"""The same shop on each contender, and the requests that make it work: each a browser's, or the service's webhook."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Protocol

import sqlalchemy as sa

from flask_paycheckout.security.signed_links import PAY, STATUS
from tests.benchmarks.databases import fresh_database, opened
from tests.benchmarks.measuring import OURS, PEER, SAME_STACK, Contender, Options
from tests.benchmarks.peers.sites import running_peer
from tests.benchmarks.row import Contenders
from tests.benchmarks.serving import Server, request_of, running_server
from tests.benchmarks.shop import open_shop
from tests.benchmarks.stub import running_stub
from tests.scripted import Shop

NOW = datetime.now(UTC)
_SAME_SITE = {"Sec-Fetch-Site": "same-origin"}
_TABLES = (
    "CREATE TABLE checkout (checkout_id VARCHAR(64) PRIMARY KEY, order_id VARCHAR(64), status VARCHAR(16), url TEXT)",
    "CREATE INDEX checkout_order ON checkout (order_id)",
    "CREATE TABLE event (name VARCHAR(16), order_id VARCHAR(64))",
    "CREATE TABLE shipped (order_id VARCHAR(64))",
)


class Site(Protocol):
    """One contender's shop."""

    server: Server

    def starts(self, first: int, count: int) -> list[bytes]:
        """Requests that each start to pay an order of its own; answered 303."""
        ...

    def stored(self, kind: str, first: int, count: int) -> None:
        """Store checkouts: `due`, nothing known about them yet, or `paid` long ago."""
        ...

    def webhooks(self, kind: str, first: int, count: int) -> list[bytes]:
        """The webhooks of stored checkouts; answered 200."""
        ...

    def questions(self, first: int, count: int) -> list[bytes]:
        """Requests for how paid orders stand, in JSON; answered 200."""
        ...


def _webhooks(path: str, kind: str, first: int, count: int) -> list[bytes]:
    return [
        request_of("POST", path, json.dumps({"orderId": f"chk-{kind}-{number:09}"}).encode())
        for number in range(first, first + count)
    ]


Requests = Callable[[Site, int, int], list[bytes]]


class Ours:
    """The extension. A second app in this process on the same database knows the keys and the tables."""

    def __init__(self, server: Server, shop: Shop) -> None:
        self.server = server
        self._shop = shop

    def starts(self, first: int, count: int) -> list[bytes]:
        return [
            request_of("POST", f"/paycheckout/orders/{self._token(PAY, f'new-{number}')}/checkout", headers=_SAME_SITE)
            for number in range(first, first + count)
        ]

    def stored(self, kind: str, first: int, count: int) -> None:
        is_paid = kind == "paid"
        rows = []
        for number in range(first, first + count):
            checkout_id, order_id = f"chk-{kind}-{number:09}", f"ord-{kind}-{number:09}"
            rows.append(
                {
                    "checkout_id": checkout_id,
                    "order_id": order_id,
                    "current_order_id": order_id,
                    "paid_order_id": order_id if is_paid else None,
                    "url": f"https://pay.example/checkout/{checkout_id}",
                    "status": "paid" if is_paid else "created",
                    "next_read_at": None if is_paid else NOW - timedelta(minutes=1),
                    "revision": int(is_paid),
                    "webhooks": int(is_paid),
                }
            )
        self._shop.stores_like(self._shop.starts("like"), rows)

    def webhooks(self, kind: str, first: int, count: int) -> list[bytes]:
        return _webhooks("/paycheckout/webhook", kind, first, count)

    def questions(self, first: int, count: int) -> list[bytes]:
        return [
            request_of("GET", f"/paycheckout/orders/{self._token(STATUS, f'ord-paid-{number:09}')}/status")
            for number in range(first, first + count)
        ]

    def _token(self, purpose: str, order_id: str) -> str:
        return self._shop.runtime.signed_links.sign(purpose, order_id)


class Floor:
    """The same-stack floor."""

    def __init__(self, server: Server, engine: sa.Engine) -> None:
        self.server = server
        self._engine = engine

    def starts(self, first: int, count: int) -> list[bytes]:
        return [request_of("POST", f"/orders/new-{number}/checkout") for number in range(first, first + count)]

    def stored(self, kind: str, first: int, count: int) -> None:
        status = "paid" if kind == "paid" else "created"
        url = "https://pay.example/checkout/chk"
        numbers = range(first, first + count)
        rows = [
            {"id": f"chk-{kind}-{n:09}", "order": f"ord-{kind}-{n:09}", "status": status, "url": url} for n in numbers
        ]
        with self._engine.begin() as connection:
            connection.execute(sa.text("INSERT INTO checkout VALUES (:id, :order, :status, :url)"), rows)

    def webhooks(self, kind: str, first: int, count: int) -> list[bytes]:
        return _webhooks("/webhook", kind, first, count)

    def questions(self, first: int, count: int) -> list[bytes]:
        return [request_of("GET", f"/orders/ord-paid-{n:09}/status") for n in range(first, first + count)]


def web_contenders(requests: Requests, *, status: int, count: int, has_peer: bool) -> Contenders:
    """The contenders of a row whose work is to answer requests.

    :param requests: makes the requests of one round, and stores what they need, for that many numbers from `first`.
    :param status: every answer's.
    :param count: requests of a round.
    :param has_peer: whether django-payments does this job.
    """

    @contextmanager
    def contenders(options: Options, database: str | None) -> Iterator[dict[str, Contender]]:
        with _running_sites(database, options.peers if has_peer else None) as sites:
            yield {name: _contender(site, requests, status, options.amount(count)) for name, site in sites.items()}

    return contenders


def _contender(site: Site, requests: Requests, status: int, count: int) -> Contender:
    firsts = itertools.count(0, count)
    return lambda: site.server.asked(requests(site, next(firsts), count), status)


@contextmanager
def _running_sites(database: str | None, python: str | None) -> Iterator[dict[str, Site]]:
    """The contenders' shops, all up at the same time, each with a database of its own.

    :param python: of the environment that has the peer; None to leave it out.
    """
    with ExitStack() as stack:
        service = stack.enter_context(running_stub(0))
        sites: dict[str, Site] = {
            OURS: stack.enter_context(running_ours(database, service)),
            SAME_STACK: stack.enter_context(_running_floor(database, service)),
        }
        if python is not None:
            sites[PEER] = stack.enter_context(running_peer(database, service, python))
        yield sites


@contextmanager
def running_ours(database: str | None, service: str) -> Iterator[Site]:
    with fresh_database(database) as address, open_shop(address, service) as shop:
        settings = {
            "FLASK_SQLALCHEMY_DATABASE_URI": address,
            "FLASK_PAYCHECKOUT_BASE_URL": service,
            "FLASK_ATOMIC": "true",
        }
        with running_server("tests.shop_app:create_app()", settings) as server:
            yield Ours(server, shop)


@contextmanager
def _running_floor(database: str | None, service: str) -> Iterator[Site]:
    with fresh_database(database) as address, opened(address) as engine:
        with engine.begin() as connection:
            for table in _TABLES:
                connection.exec_driver_sql(table)
        environment = {"BENCH_DATABASE": address, "BENCH_SERVICE": service}
        with running_server("tests.benchmarks.same_stack:make_app()", environment) as server:
            yield Floor(server, engine)
