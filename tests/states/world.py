"""The surroundings of the rule machine: a shop on a database in memory, and a new payments service for each run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import httpx
import msgspec
from flask import Flask

from flask_paycheckout import Pay, PayCheckout, order_paid
from flask_paycheckout.client import PaymentsClient
from flask_paycheckout.client.waiting import Pace
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.testing import Sandbox
from tests.hosts import arguments_of, database_on
from tests.scripted import Clock, Service, Shop, make_app
from tests.states.watching import MOVES, driver_of, watch_moves
from tests.views.pages import opens, presses_pay

ORDERS = ("o-1", "o-2")
Row = dict[str, Any]


class Line(httpx.BaseTransport):
    """A transport to the service of the run, with the service's clock."""

    sandbox: Sandbox

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self.sandbox.transport.handle_request(request)

    def clock(self) -> datetime:
        now: datetime = self.sandbox.transport.clock()  # type: ignore[attr-defined]  # it brings one
        return now


class World(Shop):
    """Made once; `begins` resets it for a run within a few milliseconds."""

    sandbox: Sandbox

    def __init__(self, host: str) -> None:
        self.line = Line()
        self.line.sandbox = Sandbox()
        app = make_app(**self.line.sandbox.config)
        super().__init__(app, database_on(host, app), PayCheckout(), Service(), Clock())
        #: The order id and event id of each `order_paid` that the receiver got.
        self.told: list[tuple[str, str]] = []
        self.receiver_failures = 0
        self.paycheckout.init_app(app, **arguments_of(self.db), transport=self.line)
        self.paycheckout.order_total(lambda order_id: self.totals.get(order_id))
        with app.app_context():
            self.db.create_all()
            watch_moves(self.db.engine)
            self._raw = driver_of(self.db.engine)
        self._empty = self._raw.serialize()
        _wait_for_nothing(self.runtime.client)

    def begins(self, **unknowns: str) -> None:
        self._raw.deserialize(self._empty)
        self.sandbox = self.line.sandbox = Sandbox(seed="machine", unknowns=unknowns)
        self.sandbox.deliver_to(self.browser)
        self.totals = dict.fromkeys(ORDERS, Pay("12.50", "USD"))
        self.told = []
        self.receiver_failures = 0

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Connect the shop's receiver of `order_paid`, which fails as often as a rule has set."""
        with order_paid.connected_to(self._ship, sender=self.app):
            yield

    def _ship(self, app: Flask, *, order_id: str, event_id: str, **extra: Any) -> None:
        self.told.append((order_id, event_id))
        if self.receiver_failures:
            self.receiver_failures -= 1
            raise RuntimeError("the warehouse is closed")

    # Acts of the shop and its customers

    def presses_pay(self, order_id: str) -> httpx.URL | None:
        """Press the pay button, and return the URL of the payment page, or None."""
        answer = presses_pay(self, order_id)
        assert answer.status_code in (303, 404, 422, 503), answer.status
        there = answer.location or ""
        return httpx.URL(there) if answer.status_code == 303 and "/checkout/" in there else None

    def opens_status(self, order_id: str) -> None:
        assert opens(self, order_id, "/status").status_code == 200

    def control(self, path: str, **body: Any) -> None:
        """A call of the sandbox's control interface; the checkout's state may not allow it."""
        try:
            self.sandbox.control("POST", path, **body)
        except AssertionError as refused:
            if ": 409 " not in str(refused):
                raise

    # The stored facts

    def moves(self) -> list[tuple[str, str | None, str]]:
        return list(self._raw.execute(MOVES))

    def stored(self) -> dict[str, Row]:
        """The checkouts in the shop's database, by id."""
        rows = self._raw.execute("SELECT * FROM paycheckout_checkout ORDER BY id")
        names = [column[0] for column in rows.description]
        return {row["checkout_id"]: row for row in (dict(zip(names, values, strict=True)) for values in rows)}

    def paid_events(self) -> list[tuple[str, str]]:
        return list(
            self._raw.execute("SELECT order_id, event_id FROM paycheckout_event WHERE name = 'order_paid' ORDER BY id")
        )

    def undelivered(self) -> int:
        return int(
            self._raw.execute("SELECT count(*) FROM paycheckout_event WHERE next_attempt_at IS NOT NULL").fetchone()[0]
        )

    def deposits(self) -> dict[str, Row]:
        """The deposits in the service's database, by id."""
        with world(self.sandbox.app).engine.connect() as connection:
            rows = connection.exec_driver_sql("SELECT * FROM deposit").mappings()
            return {row["id"]: dict(row) for row in rows}


def _wait_for_nothing(client: PaymentsClient) -> None:
    """Retry without waiting, so that a run takes no seconds between attempts."""
    caller = client.deposits._caller
    caller.retries = msgspec.structs.replace(caller.retries, pace=Pace(sleep=lambda seconds: None))
