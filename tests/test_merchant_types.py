"""A merchant's type checker reports no error for a correct shop, and an error for each mistake."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import flask_paycheckout

# mypy also checks the example shop, which uses the other public names.
SHOP = '''
from __future__ import annotations

from decimal import Decimal
from typing import Any

from flask import Flask, redirect
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import select
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from werkzeug.wrappers import Response

from flask_paycheckout import Account, CheckoutMixin, EventMixin, Pay, PayCheckout, Receive, order_paid


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"

    id: Mapped[str] = mapped_column(primary_key=True)
    total: Mapped[Decimal]
    open: Mapped[bool]


class OwnCheckout(CheckoutMixin, Base):
    """With a column of the shop's own."""

    till: Mapped[str | None] = mapped_column(default=None)


class OwnEvent(EventMixin, Base):
    pass


db = SQLAlchemy(model_class=Base)
paycheckout = PayCheckout()


@paycheckout.order_total
def price(order_id: str) -> Pay | None:
    order = db.session.get(Order, order_id, with_for_update=True)
    return Pay(order.total, "USD") if order and order.open else None


def price_net(order_id: str) -> Receive:
    return Receive("12.50", "USD", pay_in="EUR")


paycheckout.order_total(price_net)
paycheckout.order_total({"o-1": Pay(12, "USD")}.get)
total: Pay | None = price("o-1")


@order_paid.connect
@paycheckout.atomic
def close(app: Flask, *, order_id: str, **extra: Any) -> None:
    db.session.get_one(Order, order_id).open = False


def pay(order_id: str) -> Response:
    checkout: CheckoutMixin = paycheckout.start(order_id)
    return redirect(checkout.url, 303)


def kept(checkout_id: str) -> str | None:
    kept = paycheckout.keep(checkout_id, by="Ada", why="a voucher")
    assert isinstance(kept, OwnCheckout)
    return kept.till


class Seller(Base):
    __tablename__ = "sellers"

    name: Mapped[str] = mapped_column(primary_key=True)
    client_id: Mapped[str | None]
    client_secret: Mapped[str | None]


@paycheckout.account
def account(name: str) -> Account | None:
    seller = db.session.get(Seller, name)
    return Account(seller.client_id, seller.client_secret) if seller else None


def held() -> list[str]:
    model = paycheckout.Checkout
    rows = db.session.scalars(select(model).where(model.status == "held").order_by(model.moved_at)).all()
    names = db.session.execute(select(model.order_id, model.created_at)).all()
    newest = db.session.get(model, 1)
    table_name: str = model.__tablename__
    return [row.url for row in rows] + [name for name, _ in names] + [newest.order_id if newest else table_name]
'''

# Each line with a comment at its end is a mistake; the comment is the code of mypy's error.
MISTAKES = """
from decimal import Decimal

from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import select

from flask_paycheckout import CheckoutMixin, Pay, PayCheckout, Receive, order_paid
from flask_paycheckout import Pey  # attr-defined
from flask_paycheckout.testing import Sandbox, Signals

paycheckout = PayCheckout()
paycheckout.strat("o-1")  # attr-defined

checkout = paycheckout.start("o-1")
checkout.urll  # attr-defined
checkout.total.amonut  # union-attr
checkout.payment.paid  # union-attr
checkout.order_id + 1  # operator
paycheckout.start(7)  # arg-type
paycheckout.start(order="o-1")  # call-arg
paycheckout.start()  # call-arg
paycheckout.settle("c").statuss  # attr-defined
paycheckout.settle(checkout)  # arg-type
paycheckout.resolve("c", accept=True, by="Ada")  # call-arg
paycheckout.resolve("c", "yes", by="Ada", why="seen")  # arg-type
paycheckout.resolve("c", True, "Ada", "seen").urll  # attr-defined
paycheckout.keep("c", "Ada", "sent")  # call-arg
paycheckout.keep("c", by="Ada", why="sent").urll  # attr-defined
paycheckout.reconcile(limit="10")  # arg-type
paycheckout.reconcile().chekced  # attr-defined
paycheckout.explain("o-1").atempts  # attr-defined
paycheckout.explain("o-1").attempts[0].found_bye  # attr-defined
paycheckout.explain("o-1").attempts[0].payment.paid  # union-attr
paycheckout.order_status(["o-1"])  # arg-type
paycheckout.order_status("o-1").paid  # attr-defined
paycheckout.order_statuses([7])  # list-item
paycheckout.order_statuses(["o-1"])["o-1"].paid  # attr-defined
paycheckout.pay_url(7)  # arg-type
paycheckout.client.deposits.get("c").statsu  # attr-defined
paycheckout.client.deposits.get("c").payment_fiat.bank_name  # union-attr
paycheckout.client.deposits.get("c", retires=0)  # call-arg
paycheckout.client.fiat_disbursements.list(status="pendign")  # arg-type
paycheckout.client.fiat_disbursements.iterate(sort="created")  # arg-type
paycheckout.client.fiat_disbursements.sandbox_update("d1", "done")  # arg-type
paycheckout.client.recipients.iterate(page=2)  # call-arg
paycheckout.client.recipients.list(serach="Bo")  # call-arg

select(paycheckout.Checkout.state)  # attr-defined
select(paycheckout.Event).where(paycheckout.Event.nam == "order_paid")  # attr-defined
paycheckout.Event.event_idd  # attr-defined

Pay(12.5, "USD")  # arg-type
Pay("12.50")  # call-arg
Receive("12.50", "USD")  # call-arg


@paycheckout.order_total  # type-var
def decimal_price(order_id: str) -> Decimal:
    return Decimal(1)


@paycheckout.order_total  # type-var
def price_without_id() -> Pay:
    return Pay(1, "USD")


@paycheckout.order_url  # type-var
def page(order_id: str) -> int:
    return 1


@order_paid.connect
@paycheckout.atomic
def close(app: Flask, *, order_id: str, checkout: CheckoutMixin, **extra: object) -> None:
    checkout.urll  # attr-defined


close("shop")  # call-arg, arg-type
paycheckout.atomic("close")  # type-var
order_paid.conect(close)  # attr-defined
paycheckout.owner_view("Ada")  # arg-type
PayCheckout(Flask("shop"), SQLAlchemy)  # arg-type
paycheckout.init_app(Flask("shop"))  # call-arg
paycheckout.init_app(Flask("shop"), SQLAlchemy(), transport="http://localhost")  # arg-type


def test_late(paycheckout_sandbox: Sandbox, paycheckout_signals: Signals) -> None:
    paycheckout_sandbox.pik("c")  # attr-defined
    paycheckout_sandbox.pick("c")["method"]  # typeddict-item
    paycheckout_sandbox.pay("c", after=16)  # call-arg
    paycheckout_sandbox.pay("c", after_minutes="16")  # arg-type
    paycheckout_sandbox.pay("c").deposit  # attr-defined
    paycheckout_sandbox.advance(hours=1)  # call-arg
    paycheckout_sandbox.abandon("c").minut  # attr-defined
    paycheckout_sandbox.webhooks[0]["order"]  # typeddict-item
    paycheckout_sandbox.reconcile(paycheckout).cheked  # attr-defined
    paycheckout_sandbox.reconcile("shop")  # arg-type
    paycheckout_signals[0].orderid  # attr-defined
    paycheckout_signals.name  # attr-defined
"""


def expected(program: str) -> dict[int, set[str]]:
    """The error codes in the comments of each line of a program."""
    matches = (
        (number, re.search(r"  # ([a-z-, ]+)$", line)) for number, line in enumerate(program.splitlines(), start=1)
    )
    return {number: set(comment[1].split(", ")) for number, comment in matches if comment}


def errors(folder: Path, cache: Path) -> dict[str, dict[int, set[str]]]:
    """The codes of mypy's errors, by program and line."""
    (folder / "shop.py").write_text(SHOP)
    (folder / "mistakes.py").write_text(MISTAKES)
    # mypy reports no errors of imported modules, as for installed packages.
    programs = ["shop.py", "mistakes.py"]
    options = ["--strict", "--follow-imports=silent", "--config-file=", "--no-pretty", f"--cache-dir={cache}"]
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *programs],
        cwd=folder,
        env=os.environ | {"MYPYPATH": str(Path(flask_paycheckout.__file__).parent.parent)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    codes: dict[str, dict[int, set[str]]] = {program: {} for program in programs}
    for file, line, code in re.findall(r"^(\w+\.py):(\d+): error: .*\[([a-z-]+)\]$", ran.stdout, re.MULTILINE):
        codes[file].setdefault(int(line), set()).add(code)
    return codes


def test_mypy_accepts_a_right_shop_and_finds_each_mistake(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    codes = errors(tmp_path, cache=pytestconfig.cache.mkdir("merchant_types"))
    assert codes == {"shop.py": {}, "mistakes.py": expected(MISTAKES)}
