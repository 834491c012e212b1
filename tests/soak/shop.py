"""The shop as a merchant would write it, for each of its processes: orders, their pages, and receivers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from multiprocessing import current_process
from pathlib import Path
from random import SystemRandom
from typing import Any

from flask import Blueprint, Flask, Response, abort, current_app, jsonify, render_template_string, request
from sqlalchemy import Connection, Engine, event, text, update
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout import Pay, Receive, order_paid
from flask_paycheckout.signals import BY_NAME
from tests.crash.record import Record
from tests.soak.clock import clock_of
from tests.soak.money_out import money_out
from tests.soak.tables import Fulfilment, Note, Order, Version, db, paycheckout

#: The environment variable with the path of the JSON file with the settings of the shop's processes.
SETTINGS = "SOAK_SHOP_SETTINGS"
#: The share of calls that the warehouse does not answer, before or after their effect.
WAREHOUSE_DOWN = 0.03
#: The share of receivers' calls that break their transaction after writing.
BREAKS = 1 / 200
# Independent of the seed, because the kills decide which process draws, and how often.
_CHANCE = SystemRandom()

orders = Blueprint("orders", __name__)
PAGE = "<h1>Order {{ order.id }}</h1>{{ paycheckout_button(order.id) }}<a href='{{ status }}'>Status</a>"


class WarehouseDown(Exception):
    """The warehouse did not answer."""


def create_app() -> Flask:
    """The app of one process."""
    settings = json.loads(Path(os.environ[SETTINGS]).read_text())
    app = Flask(__name__)
    app.config.from_mapping(settings["config"] | settings["own"].get(current_process().name, {}))
    app.config["EFFECTS_FILE"] = settings["effects_file"]
    app.config["CLOCK"] = clock = clock_of(Path(settings["clock_file"]))
    db.init_app(app)
    paycheckout.init_app(app, db, clock=clock)
    app.register_blueprint(orders)
    app.register_blueprint(money_out)
    with app.app_context():
        if db.engine.dialect.name == "sqlite":
            prepare_sqlite(db.engine)
    return app


def prepare_sqlite(engine: Engine) -> None:
    """Let readers and one writer work at the same time, and writers queue; a kill loses no commit."""

    @event.listens_for(engine, "connect")
    def open_connection(connection: Any, record: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA busy_timeout = 30000")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


# Pages


@orders.post("/orders")
def place_order() -> tuple[str, int]:
    """Make an order; the same request again makes no second one."""
    sent = request.get_json()
    if db.session.get(Order, sent["id"]) is None:
        total = {name: sent[name] for name in ("kind", "amount", "currency", "other_currency")}
        db.session.add(Order(id=sent["id"], **total))
        db.session.add(Version(order_id=sent["id"], open=True, since=_now(), **total))
        db.session.commit()
    return show_order(sent["id"]), 201


@orders.get("/orders/<order_id>")
def show_order(order_id: str) -> str:
    """The order's page, with the button."""
    order = db.session.get(Order, order_id) or abort(404)
    return render_template_string(PAGE, order=order, status=paycheckout.status_url(order_id))


@orders.post("/orders/<order_id>/cart")
def change_cart(order_id: str) -> Response:
    """Change the amount of an order that is not paid yet."""
    return _change(order_id, amount=request.get_json()["amount"])


@orders.post("/orders/<order_id>/cancel")
def cancel(order_id: str) -> Response:
    """Cancel an order, unless it is paid."""
    return _change(order_id, open=False)


def _change(order_id: str, **values: Any) -> Response:
    changing = (
        update(Order)
        .where(Order.id == order_id, Order.open, Order.paid.is_(False))
        .values(version=Order.version + 1, **values)
    )
    changed = bool(db.session.execute(changing).rowcount)  # type: ignore[attr-defined]  # typed as any result
    if changed:
        order = db.session.get_one(Order, order_id, populate_existing=True)
        total = {name: getattr(order, name) for name in ("kind", "amount", "currency", "other_currency")}
        db.session.add(Version(order_id=order_id, open=order.open, since=_now(), **total))
        db.session.commit()
    return jsonify(changed=changed)


def _now() -> str:
    now: datetime = current_app.config["CLOCK"]()
    return now.isoformat()


# Questions and messages of the extension


@paycheckout.order_total
def order_total(order_id: str) -> Pay | Receive | None:
    """The current price of the order."""
    order = db.session.get(Order, order_id, with_for_update=True)
    if order is None or not order.open or order.paid:
        return None
    if order.kind == "pay":
        return Pay(order.amount, order.currency, receive_in=order.other_currency)
    return Receive(order.amount, order.currency, pay_in=str(order.other_currency))


def _now_and_then_breaks() -> None:
    """Break the transaction of the calling receiver: suppress an error, commit, or roll back."""
    if _CHANCE.random() >= BREAKS:
        return
    ways: tuple[Callable[[], object], ...] = (
        lambda: db.session.execute(text("SELECT * FROM nowhere")),
        lambda: db.session.execute(text("COMMIT")),
        db.session.rollback,
    )
    with suppress(SQLAlchemyError):
        _CHANCE.choice(ways)()


@order_paid.connect
@paycheckout.atomic
def close(app: Flask, *, order_id: str, **extra: Any) -> None:
    """Close the order for changes."""
    db.session.get_one(Order, order_id).paid = True
    db.session.flush()
    _now_and_then_breaks()


@order_paid.connect
def ship(app: Flask, *, order_id: str, event_id: str, **extra: Any) -> None:
    """Send the parcel, an effect in the shop's database; this fails now and then."""
    if _CHANCE.random() < WAREHOUSE_DOWN:
        raise WarehouseDown("nobody packs")
    amount = db.session.get_one(Order, order_id).amount
    db.session.add(Fulfilment(order_id=order_id, event_id=event_id, amount=amount))
    db.session.flush()
    _now_and_then_breaks()


@order_paid.connect
def tell_warehouse(app: Flask, *, order_id: str, event_id: str, **extra: Any) -> None:
    """Notify the warehouse, an effect outside of the database; it does not always answer."""
    if _CHANCE.random() < WAREHOUSE_DOWN:
        raise WarehouseDown("before it took the order")
    Record(Path(app.config["EFFECTS_FILE"])).add("told", order_id=order_id, event_id=event_id)
    if _CHANCE.random() < WAREHOUSE_DOWN:
        raise WarehouseDown("after it took the order")


def note_down(app: Flask, *, order_id: str, event_id: str, **extra: Any) -> None:
    """Store every event."""
    db.session.add(Note(event_id=event_id, order_id=order_id))
    db.session.flush()
    _now_and_then_breaks()


for signal in BY_NAME.values():
    signal.connect(note_down)
