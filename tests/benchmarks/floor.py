"""The raw floor: a bare Flask view, one statement at a time on one connection, and http.client.

It checks what must be checked for the money to be right, and promises nothing else: no retry, no signature, no event
that outlives a crash, no page.
"""

from __future__ import annotations

import http.client
import json
import os
import sqlite3
from decimal import Decimal
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Response, jsonify, redirect, request
from sqlalchemy import make_url

TABLES = (
    "CREATE TABLE checkout (checkout_id VARCHAR(64) PRIMARY KEY, order_id VARCHAR(64), status VARCHAR(16), url TEXT)",
    "CREATE INDEX checkout_order ON checkout (order_id)",
    "CREATE TABLE event (name VARCHAR(16), order_id VARCHAR(64))",
    "CREATE TABLE shipped (order_id VARCHAR(64))",
)


class Store:
    """One connection to SQLite or PostgreSQL; statements are written with question marks."""

    def __init__(self, address: str) -> None:
        url = make_url(address)
        self._connection: Any
        if url.get_backend_name() == "sqlite":
            self._connection = sqlite3.connect(str(url.database), timeout=30, isolation_level=None)
            self._begin, self._mark = "BEGIN IMMEDIATE", "?"
        else:
            import psycopg

            self._connection = psycopg.connect(
                dbname=url.database, user=url.username, host=str(url.query["host"]), autocommit=True
            )
            self._begin, self._mark = "BEGIN", "%s"

    def run(self, statement: str, *values: object) -> Any:
        return self._connection.execute(statement.replace("?", self._mark), values)

    def run_all(self, *statements: tuple[str, tuple[object, ...]]) -> None:
        """All of them in one transaction."""
        self._connection.execute(self._begin)
        for statement, values in statements:
            self.run(statement, *values)
        self._connection.execute("COMMIT")

    def fill(self, rows: list[tuple[object, ...]]) -> None:
        """Store checkouts: id, order id, status and URL."""
        self._connection.execute(self._begin)
        marks = "INSERT INTO checkout VALUES (?, ?, ?, ?)".replace("?", self._mark)
        self._connection.cursor().executemany(marks, rows)
        self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()


@cache
def _store() -> Store:
    return Store(os.environ["BENCH_DATABASE"])


@cache
def _service() -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(os.environ["BENCH_SERVICE"]).netloc)


def _asked(method: str, path: str, body: str | None = None) -> Any:
    """The `data` that the service answers."""
    service = _service()
    service.request(method, path, body, {"Content-Type": "application/json"})
    return json.loads(service.getresponse().read(), parse_float=Decimal)["data"]


def make_floor() -> Flask:
    """The app; each process opens its connections when first asked."""
    app = Flask("floor")

    @app.post("/orders/<order_id>/checkout")
    def start(order_id: str) -> Any:
        made = _asked("POST", "/v1/checkout", '{"inputCurrency":"USD","inputAmount":12.50}')
        _store().run("INSERT INTO checkout VALUES (?, ?, 'created', ?)", made["id"], order_id, made["url"])
        return redirect(made["url"], 303)

    @app.post("/webhook")
    def webhook() -> Response:
        checkout_id = json.loads(request.data)["orderId"]
        found = _store().run("SELECT status, order_id FROM checkout WHERE checkout_id = ?", checkout_id).fetchone()
        if found is not None and found[0] != "paid":
            _settle(checkout_id, found[1])
        return jsonify(received=True)

    @app.get("/orders/<order_id>/status")
    def status(order_id: str) -> Response:
        found = _store().run("SELECT status FROM checkout WHERE order_id = ?", order_id).fetchone()
        return jsonify(status=found[0], final=found[0] == "paid", pollAfter=0)

    return app


def _settle(checkout_id: str, order_id: str) -> None:
    deposit = _asked("GET", f"/v1/deposit/{checkout_id}")
    paid = (deposit["status"], deposit["inputAmount"], deposit["inputCurrency"])
    if deposit["depositId"] == checkout_id and paid == ("completed", Decimal("12.50"), "USD"):
        _store().run_all(
            ("UPDATE checkout SET status = 'paid' WHERE checkout_id = ?", (checkout_id,)),
            ("INSERT INTO event VALUES ('order_paid', ?)", (order_id,)),
            ("INSERT INTO shipped VALUES (?)", (order_id,)),
        )
