"""Snippets with their own shop, or with a shop's own tests."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from functools import partial
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout import Pay, PayCheckout, order_paid, payment_resolved
from flask_paycheckout.client import PaymentsClient
from flask_paycheckout.testing import Sandbox, SandboxControl
from tests.docs.conftest import MakeShop
from tests.docs.merchant import SETTINGS, Merchant, with_models
from tests.docs.pages import Scene
from tests.docs.scenarios.money_out import mailbox
from tests.scripted import Shop

PYTEST = "python -m pytest -q -p no:cacheprovider -W error"


def receivers(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    """The page's functions, in a shop with changed, cancelled and paid orders, as on the page."""
    used = ("models.py", "price.py", "close.py")  # by `with_models`
    pages = {block.name: scene[block.name] for block in scene.blocks}
    additions = [text for name, text in pages.items() if name not in used]
    shop = make_shop(*additions, change=with_models)
    session, paycheckout = shop.db.session, shop.paycheckout

    def order(order_id: str) -> Any:
        return session.get(shop.Order, order_id, populate_existing=True)

    def settled(order_id: str, act: Callable[[], object] = lambda: None) -> Any:
        """The settled checkout of a new paid order; `act` runs before the settlement."""
        session.add(shop.Order(id=order_id, total="12.50"))
        session.commit()
        checkout_id = paycheckout.start(order_id).checkout_id
        paycheckout_sandbox.pay(checkout_id)
        act()
        return paycheckout.settle(checkout_id)

    def careless(app: Flask, *, order_id: str, **told: object) -> None:
        session.get(shop.Order, order_id).total = "198.00"
        for _ in range(2):
            shop.remember_customer("ada@example.com")

    session.add(shop.Stock(item="honey", left=5))
    assert settled("paid").status == "paid"
    assert not shop.change_total("paid", "198.00")
    assert not shop.cancel("paid")
    paid = order("paid")
    assert (paid.state, paid.total, paid.shipped) == ("paid", "12.50", True)
    changed = settled("changed", lambda: shop.change_total("changed", "198.00"))
    assert (changed.reason, order("changed").shipped) == ("order_changed", False)
    session.rollback()
    paycheckout.resolve(changed.checkout_id, accept=True, by="Ada", why="agreed by phone")
    assert settled("cancelled", lambda: shop.cancel("cancelled")).reason == "order_not_payable"
    with order_paid.connected_to(paycheckout.atomic(careless)):
        settled("careless")
    assert "paid as 12.50 USD, but costs 198.00" in str(paycheckout.explain("careless"))
    paycheckout.order_total(lambda order_id: Pay("12.50", "USD", parts=True))
    settled("in parts")
    shipped = {name: order(name).shipped for name in ("changed", "cancelled", "careless", "in parts")}
    assert shipped == {"changed": True, "cancelled": False, "careless": False, "in parts": True}
    assert (session.get(shop.Stock, "honey").left, session.query(shop.Customer).count()) == (1, 1)


def parts(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    """The page's shop takes a deposit, and then the rest."""
    shop = make_shop(scene.code(), change=with_models)
    mails = mailbox(shop)
    shop.db.session.get(shop.Order, "1").total = "80.00"
    shop.db.session.commit()
    assert paycheckout_sandbox.pay_part(shop.paycheckout, "1").due == Pay("16.00", "USD")
    assert mails[0]["text"].startswith("16.00 of order 1 has arrived, 64.00 is left: ")
    assert paycheckout_sandbox.pay_rest(shop.paycheckout, "1").status == "paid"


def note_decision(scene: Scene, shop: Shop, request: pytest.FixtureRequest) -> None:
    order = SimpleNamespace(note="")
    db = SimpleNamespace(session=SimpleNamespace(get=lambda model, order_id: order))
    names: dict[str, Any] = {"payment_resolved": payment_resolved, "db": db, "Order": None}
    exec(scene.code(), names)  # noqa: S102 - the page's own code
    request.addfinalizer(partial(payment_resolved.disconnect, names["note_decision"]))
    shop.has_rejected()
    assert order.note == "Ada rejected a payment: seen on the statement"


def shops_test(scene: Scene, merchant: Merchant) -> None:
    merchant.writes("test_shop.py", scene.code())
    assert "1 passed" in merchant.runs(f"{PYTEST} test_shop.py")


def factory(scene: Scene, merchant: Merchant) -> None:
    for block in scene.blocks:
        merchant.writes(block.name, scene[block.name])
    assert "8 passed" in merchant.runs(PYTEST)


def _prints(merchant: Merchant, scene: Scene) -> str:
    """The output of the page's program with a sandbox."""
    merchant.writes("program.py", scene.code())
    with merchant.running("python -m flask_paycheckout.sandbox --control-token control", "Ctrl-C"):
        return merchant.runs("python program.py")


def client(scene: Scene, merchant: Merchant) -> None:
    assert _prints(merchant, scene) == "nobody has picked a payment method yet\n"


def at_once(scene: Scene, merchant: Merchant) -> None:
    assert _prints(merchant, scene).startswith("3 payment pages\n")


def drive(scene: Scene, merchant: Merchant) -> None:
    merchant.writes("drive.py", scene["drive.py"])
    merchant.writes("pytest.py", 'raise ModuleNotFoundError("pytest is not installed")\n')
    start, program = scene.commands()
    with merchant.running(start, "Ctrl-C"):
        assert merchant.runs(program) == "completed\n"
        app, db, paycheckout = Flask("shop"), SQLAlchemy(), PayCheckout()
        settings = {name.removeprefix("FLASK_"): merchant.here(value) for name, value in SETTINGS.items()}
        app.config.update(settings, TESTING=True, SECRET_KEY="test")
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
    """The batch is paid exactly once."""
    merchant.writes("payout.py", scene["payout.py"])
    start, program = scene.commands()
    with merchant.running(start, "Ctrl-C"):
        assert merchant.runs(program).count(" 12.50 USD completed\n") == 100
        merchant.runs(program, code=1)
