"""Snippets that make a shop of their own, or a shop's own tests."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.exc import IntegrityError

from flask_paycheckout import Pay, PayCheckout, order_paid, order_part_paid, payment_resolved
from flask_paycheckout.client import PaymentsClient
from flask_paycheckout.testing import Sandbox, SandboxControl
from tests.docs.merchant import SETTINGS, Merchant
from tests.docs.pages import Scene
from tests.scripted import Shop

PYTEST = "python -m pytest -q -p no:cacheprovider -W error"


def _bare_shop(sandbox: Sandbox, folder: Path) -> tuple[Flask, SQLAlchemy, PayCheckout]:
    """A shop without tables."""
    app, db, paycheckout = Flask("shop"), SQLAlchemy(), PayCheckout()
    app.config.update(sandbox.config, TESTING=True, SECRET_KEY="test", SERVER_NAME="shop.example")
    app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{folder}/shop.db"
    db.init_app(app)
    paycheckout.init_app(app, db, transport=sandbox.transport)
    return app, db, paycheckout


def receivers(scene: Scene, paycheckout_sandbox: Sandbox, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The page's functions, in a shop whose orders are changed, cancelled and paid as the page says."""
    app, db, paycheckout = _bare_shop(paycheckout_sandbox, tmp_path)

    def order(order_id: str) -> Any:
        return db.session.get(Order, order_id)

    class Order(db.Model):  # type: ignore[name-defined,misc]  # Flask-SQLAlchemy makes it at run time
        id = db.Column(db.String, primary_key=True)
        total = db.Column(db.String)
        state = db.Column(db.String, default="open")
        shipped = db.Column(db.Boolean, default=False)
        item = db.Column(db.String, default="book")

    class Stock(db.Model):  # type: ignore[name-defined,misc]
        item = db.Column(db.String, primary_key=True)
        left = db.Column(db.Integer)

    class Customer(db.Model):  # type: ignore[name-defined,misc]
        email = db.Column(db.String, primary_key=True)

    names: dict[str, Any] = {"db": db, "paycheckout": paycheckout, "Order": Order, "Stock": Stock, "Pay": Pay}
    names |= {"Customer": Customer, "order_paid": order_paid, "IntegrityError": IntegrityError}
    exec(scene.code(), names)  # noqa: S102 - the page's own code
    for receiver in ("close", "ship", "take_from_stock"):
        request.addfinalizer(partial(order_paid.disconnect, names[receiver]))

    def settled(order_id: str, act: Callable[[], object] = lambda: None) -> Any:
        """The checkout of a new order that is paid, with something that happens before we hear of it."""
        db.session.add(Order(id=order_id, total="12.50"))
        db.session.commit()
        checkout_id = paycheckout.start(order_id).checkout_id
        paycheckout_sandbox.pay(checkout_id)
        act()
        return paycheckout.settle(checkout_id)

    def careless(app: Flask, *, order_id: str, **told: object) -> None:
        order(order_id).total = "198.00"
        for _ in range(2):
            names["remember_customer"]("ada@example.com")

    with app.app_context():
        db.create_all()
        db.session.add(Stock(item="book", left=5))
        assert settled("paid").status == "paid"
        assert not names["change_total"]("paid", "198.00")
        assert not names["cancel"]("paid")
        paid = order("paid")
        assert (paid.state, paid.total, paid.shipped) == ("paid", "12.50", True)
        changed = settled("changed", lambda: names["change_total"]("changed", "198.00"))
        assert (changed.reason, order("changed").shipped) == ("order_changed", False)
        paycheckout.resolve(changed.checkout_id, accept=True, by="Ada", why="agreed by phone")
        assert settled("cancelled", lambda: names["cancel"]("cancelled")).reason == "order_not_payable"
        with order_paid.connected_to(paycheckout.atomic(careless)):
            settled("careless")
        assert "paid as 12.50 USD, but costs 198.00" in str(paycheckout.explain("careless"))
        paycheckout.order_total(lambda order_id: Pay("12.50", "USD", parts=True))
        settled("in parts")
        shipped = {name: order(name).shipped for name in ("changed", "cancelled", "careless", "in parts")}
        assert shipped == {"changed": True, "cancelled": False, "careless": False, "in parts": True}
        assert (db.session.get_one(Stock, "book").left, db.session.query(Customer).count()) == (1, 1)
        db.engine.dispose()


def parts(scene: Scene, paycheckout_sandbox: Sandbox, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The page's shop takes a deposit, and then the rest."""
    app, db, paycheckout = _bare_shop(paycheckout_sandbox, tmp_path)

    class Order(db.Model):  # type: ignore[name-defined,misc]  # Flask-SQLAlchemy makes it at run time
        id = db.Column(db.String, primary_key=True)
        total = db.Column(db.String)
        state = db.Column(db.String, default="open")

    letters: list[str] = []
    names = {"db": db, "paycheckout": paycheckout, "Order": Order, "Pay": Pay, "letters": letters}
    exec(scene.code(), names)  # noqa: S102 - the page's own code
    request.addfinalizer(lambda: order_part_paid.disconnect(next(iter(order_part_paid.receivers.values()))))
    with app.app_context():
        db.create_all()
        db.session.add(Order(id="1", total="80.00"))
        db.session.commit()
        assert paycheckout_sandbox.pay_part(paycheckout, "1").due == Pay("16.00", "USD")
        assert letters[0].startswith("Thank you! 16.00 of order 1 has arrived, 64.00 is left: ")
        assert paycheckout_sandbox.pay_rest(paycheckout, "1").status == "paid"
        db.engine.dispose()


def note_decision(scene: Scene, shop: Shop, request: pytest.FixtureRequest) -> None:
    order = SimpleNamespace(note="")
    db = SimpleNamespace(session=SimpleNamespace(get=lambda model, order_id: order))
    names: dict[str, Any] = {"payment_resolved": payment_resolved, "db": db, "Order": None}
    exec(scene.code(), names)  # noqa: S102 - the page's own code
    request.addfinalizer(partial(payment_resolved.disconnect, names["note_decision"]))
    shop.resolves(shop.has_held(), accept=False)
    assert order.note == "Ada rejected a payment: seen on the statement"


def shops_test(scene: Scene, merchant: Merchant) -> None:
    merchant.writes("test_shop.py", scene.code())
    assert "1 passed" in merchant.runs(f"{PYTEST} test_shop.py")


def factory(scene: Scene, merchant: Merchant) -> None:
    for block in scene.blocks:
        merchant.writes(block.name, scene[block.name])
    assert "8 passed" in merchant.runs(PYTEST)


def _prints(merchant: Merchant, scene: Scene) -> str:
    """The output of the page's program beside a sandbox."""
    merchant.writes("program.py", scene.code())
    with merchant.running("python -m flask_paycheckout.sandbox --control-token control", "Ctrl-C"):
        return merchant.runs("python program.py")


def client(scene: Scene, merchant: Merchant) -> None:
    assert _prints(merchant, scene) == "nobody has picked a payment method yet\n"


def at_once(scene: Scene, merchant: Merchant) -> None:
    assert _prints(merchant, scene).startswith("3 payment pages\n")


def drive(scene: Scene, merchant: Merchant) -> None:
    merchant.writes("drive.py", scene["drive.py"])
    start, program = scene.commands()
    with merchant.running(start, "Ctrl-C"):
        assert merchant.runs(program) == "completed\n"
        app, db, paycheckout = Flask("shop"), SQLAlchemy(), PayCheckout()
        given = {name.removeprefix("FLASK_"): merchant.here(value) for name, value in SETTINGS.items()}
        app.config.update(given, TESTING=True, SECRET_KEY="test")
        app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
        db.init_app(app)
        paycheckout.order_total(lambda order_id: Pay("12.50", "USD"))
        sandbox = SandboxControl(merchant.service, "control")
        sandbox.advance(minutes=60)
        exec(scene["follows.py"], {"paycheckout": paycheckout, "app": app, "db": db, "sandbox": sandbox})  # noqa: S102
        with app.app_context():
            db.create_all()
            assert abs(sandbox.now - paycheckout.start("1").created_at) < timedelta(minutes=1)
            paycheckout.client.close()
            db.session.close()
            db.engine.dispose()


def unknown_calls(scene: Scene) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"statusCode": 200, "data": {}})

    transport = httpx.MockTransport(answer)
    with PaymentsClient("https://service.test", client_id="c", client_secret="s", transport=transport) as client:
        exec(scene.code(), {"client": client, "Decimal": Decimal})  # noqa: S102 - the page's own code


def signed_webhook(scene: Scene) -> None:
    names: dict[str, Any] = {}
    exec(scene.code(), names)  # noqa: S102 - the page's own code
    assert names["app"].test_client().post("/webhook", json={"orderId": "o"}).status_code == 400


def own_network(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    monkeypatch.setattr(ssl, "create_default_context", lambda *, cafile: context)
    names: dict[str, Any] = {"PaymentsClient": PaymentsClient}
    exec(scene.code(), names)  # noqa: S102 - the page's own code
    names["client"].close()


def control_interface(scene: Scene, merchant: Merchant) -> None:
    merchant.writes("control.py", scene["control.py"])
    start, program = scene.commands()
    with merchant.running(start, "Ctrl-C"):
        assert merchant.runs(program).splitlines() == ["pending", "completed", "503 on the second read"]


def unknowns(scene: Scene, merchant: Merchant) -> None:
    listed, started = scene.commands()
    assert "http_status = mirror | always_200" in merchant.runs(listed)
    with merchant.running(started, "Ctrl-C"):
        pass


def pay_out(scene: Scene, merchant: Merchant) -> None:
    """The batch is paid, and not once more."""
    merchant.writes("payout.py", scene["payout.py"])
    start, program = scene.commands()
    with merchant.running(start, "Ctrl-C"):
        assert merchant.runs(program).count(" 12.50 USD completed\n") == 100
        merchant.runs(program, code=1)
