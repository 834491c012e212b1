"""A shop for each contender, and the requests that it serves, from a browser or as the service's webhook."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from flask_paycheckout.security.signed_links import PAY, STATUS
from tests.benchmarks.databases import fresh_database, opened
from tests.benchmarks.serving import Server, request_of, running_server
from tests.benchmarks.shop import open_shop
from tests.scripted import Shop

_SAME_SITE = {"Sec-Fetch-Site": "same-origin"}
_TABLES = (
    "CREATE TABLE checkout (checkout_id VARCHAR(64) PRIMARY KEY, order_id VARCHAR(64), status VARCHAR(16), url TEXT)",
    "CREATE INDEX checkout_order ON checkout (order_id)",
    "CREATE TABLE event (name VARCHAR(16), order_id VARCHAR(64))",
    "CREATE TABLE shipped (order_id VARCHAR(64))",
)


class Site:
    """A contender's shop. This class is the shop of the same-stack floor; subclasses override the differences."""

    def __init__(self, server: Server, engine: sa.Engine) -> None:
        self.server = server
        self.engine = engine

    def starts(self, numbers: range) -> list[bytes]:
        """Requests that each start a payment for a different order; answered 303."""
        return [request_of("POST", f"/orders/new-{number}/checkout") for number in numbers]

    def store(self, kind: str, numbers: range) -> None:
        """Store checkouts: `due`, without a read so far, or `paid` long ago."""
        status = "paid" if kind == "paid" else "created"
        rows = [{"id": f"chk-{kind}-{n:09}", "order": f"ord-{kind}-{n:09}", "status": status} for n in numbers]
        with self.engine.begin() as connection:
            connection.execute(
                sa.text("INSERT INTO checkout VALUES (:id, :order, :status, 'https://pay.example')"), rows
            )

    def webhooks(self, kind: str, numbers: range) -> list[bytes]:
        """The webhooks of stored checkouts; answered 200."""
        return [
            request_of("POST", self.webhook_path(kind, n), json.dumps({"orderId": f"chk-{kind}-{n:09}"}).encode())
            for n in numbers
        ]

    def webhook_path(self, kind: str, number: int) -> str:
        return "/webhook"

    def questions(self, numbers: range) -> list[bytes]:
        """Requests for the status of paid orders, in JSON; answered 200."""
        return [request_of("GET", f"/orders/ord-paid-{n:09}/status") for n in numbers]


class Ours(Site):
    """The extension's shop. A second app in this process on the same database gives the keys and the tables."""

    def __init__(self, server: Server, shop: Shop) -> None:
        super().__init__(server, shop.runtime.engine())
        self._shop = shop

    def starts(self, numbers: range) -> list[bytes]:
        paths = [f"/paycheckout/orders/{self._token(PAY, f'new-{number}')}/checkout" for number in numbers]
        return [request_of("POST", path, headers=_SAME_SITE) for path in paths]

    def store(self, kind: str, numbers: range) -> None:
        is_paid = kind == "paid"
        rows = []
        for number in numbers:
            checkout_id, order_id = f"chk-{kind}-{number:09}", f"ord-{kind}-{number:09}"
            rows.append(
                {
                    "checkout_id": checkout_id,
                    "order_id": order_id,
                    "current_order_id": order_id,
                    "paid_order_id": order_id if is_paid else None,
                    "url": f"https://pay.example/checkout/{checkout_id}",
                    "status": "paid" if is_paid else "created",
                    "next_read_at": None if is_paid else datetime.now(UTC) - timedelta(minutes=1),
                    "revision": int(is_paid),
                    "webhooks": int(is_paid),
                    # The checkout has just been read, as when the service repeats a webhook.
                    "webhook_read_at": datetime.now(UTC) if is_paid else None,
                }
            )
        self._shop.stores_like(self._shop.starts("like"), rows)

    def webhook_path(self, kind: str, number: int) -> str:
        return "/paycheckout/webhook"

    def questions(self, numbers: range) -> list[bytes]:
        tokens = [self._token(STATUS, f"ord-paid-{number:09}") for number in numbers]
        return [request_of("GET", f"/paycheckout/orders/{token}/status") for token in tokens]

    def reconcile(self) -> None:
        self._shop.reconciles()

    def _token(self, purpose: str, order_id: str) -> str:
        return self._shop.runtime.signed_links.sign(purpose, order_id)


@contextmanager
def running_ours(database: str | None, service: str, *options: str) -> Iterator[Ours]:
    with fresh_database(database) as address, open_shop(address, service) as shop:
        settings = {
            "FLASK_SQLALCHEMY_DATABASE_URI": address,
            "FLASK_PAYCHECKOUT_BASE_URL": service,
            "FLASK_ATOMIC": "true",
            # Seconds, more than a round takes.
            "FLASK_PAYCHECKOUT_WEBHOOK_COOLDOWN": "300",
        }
        with running_server("tests.shop_app:create_app()", settings, *options) as server:
            yield Ours(server, shop)


@contextmanager
def running_floor(database: str | None, service: str) -> Iterator[Site]:
    with fresh_database(database) as address, opened(address) as engine:
        with engine.begin() as connection:
            for table in _TABLES:
                connection.exec_driver_sql(table)
        environment = {"BENCH_DATABASE": address, "BENCH_SERVICE": service}
        with running_server("tests.benchmarks.same_stack:make_app()", environment) as server:
            yield Site(server, engine)


class SamePromises(Ours):
    """The shop of the floor with the same promises, on the extension's tables."""

    def starts(self, numbers: range) -> list[bytes]:
        return Site.starts(self, numbers)

    def webhook_path(self, kind: str, number: int) -> str:
        return "/webhook"


@contextmanager
def running_same_promises(database: str | None, service: str) -> Iterator[Site]:
    with fresh_database(database) as address, open_shop(address, service) as shop:
        environment = {"BENCH_DATABASE": address, "BENCH_SERVICE": service}
        with running_server("tests.benchmarks.same_promises:make_app()", environment) as server:
            yield SamePromises(server, shop)
