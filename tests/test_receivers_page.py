"""docs/receivers.md: its snippets make a shop, which is changed, cancelled and paid as the page says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout import Pay, PayCheckout, order_paid
from flask_paycheckout.testing import Sandbox

PAGE = (Path(__file__).parent.parent / "docs" / "receivers.md").read_text()


def snippets() -> str:
    return "\n".join(re.findall(r"<!-- receivers/\w+\.py -->\n```python\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def shop(paycheckout_sandbox: Sandbox, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """The names of a module in which the page's snippets stand, with the order "1" for 12.50."""
    app, db, paycheckout = Flask("shop"), SQLAlchemy(), PayCheckout()
    app.config.update(paycheckout_sandbox.config, TESTING=True, SECRET_KEY="test")
    app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{tmp_path}/shop.db"
    db.init_app(app)
    paycheckout.init_app(app, db, transport=paycheckout_sandbox.transport)

    class Order(db.Model):  # type: ignore[name-defined,misc]  # Flask-SQLAlchemy makes it at run time
        id = db.Column(db.String, primary_key=True)
        total = db.Column(db.String)
        state = db.Column(db.String, default="open")
        shipped = db.Column(db.Boolean, default=False)

    names: dict[str, Any] = {"db": db, "paycheckout": paycheckout, "Order": Order, "Pay": Pay, "order_paid": order_paid}
    exec(snippets(), names)  # noqa: S102 - the page's own code
    with app.app_context():
        db.create_all()
        db.session.add(Order(id="1", total="12.50"))
        db.session.commit()
        yield names
        db.engine.dispose()
    order_paid.disconnect(names["close"])
    order_paid.disconnect(names["ship"])


def test_a_paid_order_is_closed_and_shipped(shop: dict[str, Any], paycheckout_sandbox: Sandbox) -> None:
    checkout = shop["paycheckout"].start("1")
    paycheckout_sandbox.pay(checkout.checkout_id)
    assert shop["paycheckout"].settle(checkout.checkout_id).status == "paid"
    assert not shop["change_total"]("1", "198.00")
    assert not shop["cancel"]("1")
    order = shop["db"].session.get(shop["Order"], "1")
    assert (order.state, order.total, order.shipped) == ("paid", "12.50", True)


@pytest.mark.parametrize(
    ("act", "reason"),
    [("change_total", "order_changed"), ("cancel", "order_not_payable")],
    ids=["changed", "cancelled"],
)
def test_money_for_what_the_order_is_no_longer_is_held(
    shop: dict[str, Any], paycheckout_sandbox: Sandbox, act: str, reason: str
) -> None:
    checkout = shop["paycheckout"].start("1")
    paycheckout_sandbox.pay(checkout.checkout_id)
    assert shop[act](*{"change_total": ("1", "198.00"), "cancel": ("1",)}[act])
    settled = shop["paycheckout"].settle(checkout.checkout_id)
    assert (settled.status, settled.reason) == ("held", reason)
    assert not shop["db"].session.get(shop["Order"], "1").shipped


def test_what_was_changed_past_the_rules_is_not_shipped(shop: dict[str, Any], paycheckout_sandbox: Sandbox) -> None:
    checkout = shop["paycheckout"].start("1")
    paycheckout_sandbox.pay(checkout.checkout_id)

    def careless(app: Flask, **told: object) -> None:
        shop["db"].session.get(shop["Order"], "1").total = "198.00"

    with order_paid.connected_to(shop["paycheckout"].atomic(careless)):
        shop["paycheckout"].settle(checkout.checkout_id)
    assert not shop["db"].session.get(shop["Order"], "1").shipped
    assert "paid as 12.50 USD, but costs 198.00" in str(shop["paycheckout"].explain("1"))
