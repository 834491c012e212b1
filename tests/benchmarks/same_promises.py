"""The floor that promises the same: the extension's own statements on its own tables, written by hand in one function.

It stores the checkout with its event before the customer is sent away. For a webhook it reads the checkout, asks the
service, and in one transaction locks and reads the order's payments, moves the checkout, books the payment, stores the
event, lets the receiver write, and marks it as run. It has one caller, no error handling and no settings.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any
from uuid import uuid4

from flask import Flask, Response, jsonify, redirect, request
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Connection, MetaData, bindparam, func, insert, select, update

from tests.benchmarks.same_stack import asked


class _Statements:
    """The statements, on the tables that the extension has made."""

    def __init__(self, db: SQLAlchemy) -> None:
        self._engine = db.engine

    @cached_property
    def tables(self) -> Any:
        metadata = MetaData()
        metadata.reflect(self._engine)
        return metadata.tables

    @cached_property
    def of_id(self) -> Any:
        checkouts = self.tables["paycheckout_checkout"]
        return select(checkouts).where(checkouts.c.checkout_id == bindparam("checkout"))

    @cached_property
    def counted(self) -> Any:
        c = self.tables["paycheckout_checkout"].c
        return select(c.status, func.count()).where(c.order_id == bindparam("order")).group_by(c.status)

    @cached_property
    def payments(self) -> Any:
        """Locks and reads the order's payments; a change of nothing takes the lock of SQLite's only writer."""
        checkouts = self.tables["paycheckout_checkout"]
        c = checkouts.c
        columns = (c.checkout_id, c.status, c.paid_order_id, c.refunded_amount, c.payment_paid_amount)
        if self._engine.name == "sqlite":
            paid = c.order_id == bindparam("order"), c.status.in_(["part", "paid"])
            return update(checkouts).where(*paid).values(revision=c.revision).returning(*columns)
        return select(*columns).where(c.order_id == bindparam("order")).order_by(c.id).with_for_update()

    @cached_property
    def move(self) -> Any:
        checkouts = self.tables["paycheckout_checkout"]
        unmoved = (checkouts.c.checkout_id == bindparam("checkout")) & (checkouts.c.revision == bindparam("before"))
        changed: dict[str, Any] = {name: bindparam(name) for name in _moved({}, "", datetime.now(UTC))}
        return update(checkouts).where(unmoved).values(changed).returning(checkouts)

    @cached_property
    def mark(self) -> Any:
        events = self.tables["paycheckout_event"]
        marked: dict[str, Any] = {"delivered_at": bindparam("now"), "receivers_done": '["ship"]', "lease_token": None}
        return update(events).where(events.c.event_id == bindparam("event")).values(marked)

    def insert(self, table: str) -> Any:
        return insert(self.tables[table])


def make_app() -> Flask:
    """The app; each process opens its connections at its first request."""
    app = Flask("same_promises")
    app.config.update(
        SECRET_KEY="a-secret-key-of-many-characters", SQLALCHEMY_DATABASE_URI=os.environ["BENCH_DATABASE"]
    )
    db = SQLAlchemy(app)
    with app.app_context():
        statements = _Statements(db)

    @app.post("/orders/<order_id>/checkout")
    def start(order_id: str) -> Any:
        with db.engine.connect() as connection:
            connection.execute(statements.counted, {"order": order_id}).all()
        created = asked("POST", "/v1/checkout", '{"inputCurrency":"USD","inputAmount":12.50}')
        now = datetime.now(UTC)
        with db.engine.begin() as connection:
            checkout = _new_checkout(created["id"], order_id, created["url"], now)
            connection.execute(statements.insert("paycheckout_checkout"), checkout)
            event = _new_event("checkout_created", created["id"], order_id, now)
            connection.execute(statements.insert("paycheckout_event"), event)
        return redirect(created["url"], 303)

    @app.post("/webhook")
    def webhook() -> Response:
        checkout_id = json.loads(request.data)["orderId"]
        with db.engine.connect() as connection:
            checkout = connection.execute(statements.of_id, {"checkout": checkout_id}).mappings().one_or_none()
        if checkout is not None and checkout["status"] != "paid":
            deposit = asked("GET", f"/v1/deposit/{checkout_id}")
            paid = (deposit["status"], deposit["inputAmount"], deposit["inputCurrency"])
            if deposit["depositId"] == checkout_id and paid == ("completed", Decimal("12.50"), "USD"):
                with db.engine.begin() as connection:
                    _settle(connection, statements, checkout, deposit)
        return jsonify(received=True)

    return app


def _settle(connection: Connection, statements: _Statements, checkout: Any, deposit: Any) -> None:
    now, order_id, checkout_id = datetime.now(UTC), checkout["order_id"], checkout["checkout_id"]
    others = connection.execute(statements.payments, {"order": order_id}).all()
    if any(row.paid_order_id for row in others):
        return
    key = {"checkout": checkout_id, "before": checkout["revision"]}
    moved = connection.execute(statements.move, key | _moved(deposit, order_id, now)).mappings().one_or_none()
    if moved is None:
        return
    connection.execute(statements.insert("paycheckout_booking"), _booking(moved, now))
    event = _new_event("order_paid", checkout_id, order_id, now)
    connection.execute(statements.insert("paycheckout_event"), event)
    connection.execute(statements.insert("effect"), {"who": "ship", "order_id": order_id})
    connection.execute(statements.mark, {"event": event["event_id"], "now": now})


def _new_checkout(checkout_id: str, order_id: str, url: str, now: datetime) -> dict[str, Any]:
    return {
        **{"checkout_id": checkout_id, "order_id": order_id, "current_order_id": order_id, "url": url},
        **{"account": "", "client_id": "sandbox-client", "status": "created", "total_parts": False},
        **{"total_kind": "pay", "total_amount": "12.50", "total_currency": "USD", "history": _line("created", now)},
        **{"created_at": now, "moved_at": now, "next_read_at": now + timedelta(seconds=30)},
        **{"revision": 0, "reads": 0, "failed_reads": 0, "webhooks": 0},
    }


def _moved(deposit: Any, order_id: str, now: datetime) -> dict[str, Any]:
    fee = deposit.get("fee") or {}
    paid = {"amount": deposit.get("inputAmount"), "currency": deposit.get("inputCurrency")}
    received = {"amount": deposit.get("outputAmount"), "currency": deposit.get("outputCurrency")}
    return {
        **{"paid_order_id": order_id, "status": "paid", "moved_at": now, "next_read_at": None, "last_read_at": now},
        **{"webhook_read_at": now, "deposit_status": "completed", "revision": 1, "reads": 1, "webhooks": 1},
        **{f"payment_paid_{name}": str(value) for name, value in paid.items()},
        **{f"payment_received_{name}": str(value) for name, value in received.items()},
        **{f"payment_fee_{name}": str(fee.get(name)) for name in ("amount", "percentage", "currency")},
        **{"found_by": "webhook", "payment_completed_at": now, "history": _line("moved", now)},
    }


def _booking(moved: Any, now: datetime) -> dict[str, Any]:
    return {
        **{"subject": moved["checkout_id"], "change": moved["revision"], "booked_at": now, "kind": "payment"},
        **{"order_id": moved["order_id"], "checkout_id": moved["checkout_id"], "account": ""},
        **{"currency": moved["payment_paid_currency"], "gross": moved["payment_paid_amount"]},
        **{"fee": moved["payment_fee_amount"], "net": moved["payment_received_amount"]},
        **{"received": moved["payment_received_amount"], "received_currency": moved["payment_received_currency"]},
    }


def _new_event(name: str, checkout_id: str, order_id: str, now: datetime) -> dict[str, Any]:
    return {
        **{"event_id": str(uuid4()), "once": f"{name}:{checkout_id}", "name": name, "checkout_id": checkout_id},
        **{"order_id": order_id, "occurred_at": now, "attempts": 1, "receivers_done": "[]"},
    }


def _line(what: str, now: datetime) -> str:
    return f'{{"at":"{now.isoformat()}","what":"{what}"}}\n'
