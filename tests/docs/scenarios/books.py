"""The shop's books: a month is closed, and whether the service agrees with it."""

from __future__ import annotations

import csv
import io
import json
import shlex
from datetime import timedelta
from decimal import Decimal
from typing import Any

from click.testing import Result

from flask_paycheckout import ToRecipient
from flask_paycheckout.testing import Sandbox
from tests.docs.conftest import MakeShop
from tests.docs.pages import Scene, read


def closing(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    """A payment, a maker's payout that comes back, and the refund of the payment; the service agrees."""
    shop = make_shop()
    checkout_id = str(shop.paycheckout.start("1").checkout_id)
    paycheckout_sandbox.pay(checkout_id)
    shop.paycheckout.settle(checkout_id)
    maker = ToRecipient("5a6d00000000000000000101")
    shop.paycheckout.pay_out("maker-1", "6.25", "USD", maker, order_id="1")
    shop.paycheckout.refund(checkout_id, "2.00", by="Ada", why="one jar broke", to=maker)
    shop.db.session.commit()
    shop.paycheckout.send_payouts()
    paycheckout_sandbox.finish(paycheckout_sandbox.payouts[0], "failed")
    paycheckout_sandbox.advance(minutes=10)
    shop.paycheckout.send_payouts()
    export, audit, prune = (_of_this_month(line, paycheckout_sandbox) for line in scene.commands())
    command, _, file = export.partition(" > ")
    assert file == "october.csv"
    ran = _runs(shop, command)
    lines = list(csv.DictReader(io.StringIO(ran.stdout)))
    assert [(line["kind"], line["gross"]) for line in lines] == [
        ("payment", "12.50"),
        ("payout", "-6.25"),
        ("refund", "-2.00"),
        ("payout_returned", "6.25"),
    ]
    assert "NOT CLOSED" in ran.stderr, "this month goes on"
    documented = read(scene.page).split("```text\n")[1].splitlines()[0]
    assert documented == ",".join(lines[0])
    assert _runs(shop, audit).exit_code == 0
    assert _runs(shop, prune).exit_code == 0
    assert _runs(shop, command).stdout == ran.stdout


def _of_this_month(line: str, sandbox: Sandbox) -> str:
    """A command of the page about the month in which the sandbox is."""
    first = sandbox.now.replace(day=1)
    following = (first + timedelta(days=31)).replace(day=1)
    return line.replace("2026-11-01", f"{following:%Y-%m-%d}").replace("2026-10-01", f"{first:%Y-%m-%d}")


def settling(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    """A sale with a refund, and a rejected payment that goes back; settled twice."""
    shop = make_shop(scene["settle.py"], "def seller_of(order_id):\n    return 'mill'\n")
    maker, paycheckout = ToRecipient("5a6d00000000000000000101"), shop.paycheckout
    shop.db.session.add(shop.Order(id="2", total="12.50"))
    shop.db.session.commit()
    start = paycheckout_sandbox.now.date()
    sold, rejected = (str(paycheckout.start(order_id).checkout_id) for order_id in ("1", "2"))
    paycheckout_sandbox.pay(sold)
    paycheckout_sandbox.pay(rejected, "5.00")
    for checkout_id in (sold, rejected):
        paycheckout.settle(checkout_id)
        paycheckout.refund(checkout_id, "2.00", by="Ada", why="one jar broke", to=maker)
        shop.db.session.commit()
    paycheckout.send_payouts()
    fee = next(line.fee for line in paycheckout.books() if line.kind == "payment")
    end = start + timedelta(days=31)
    for _ in ("once", "again"):
        shop.settle_month("mill", maker.recipient_id, start, end)
        (made,) = [one for one in shop.db.session.scalars(shop.db.select(paycheckout.Payout)) if one.kind == "payout"]
    refund_fee = next(line.fee for line in paycheckout.books() if line.kind == "refund")
    expected = (Decimal("10.50") - fee - refund_fee) * Decimal("0.90")
    assert (made.amount, made.reference) == (expected.quantize(Decimal("0.01"), "ROUND_DOWN"), f"mill-{start}-USD")


def auditing(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    """Both agree, until money comes that nobody here notices."""
    period, all_of_it = scene.commands()
    shop = make_shop()
    checkout_id = str(shop.paycheckout.start("1").checkout_id)
    assert _runs(shop, period).stdout.startswith("compared 0: agreed 0, differs 0")
    assert _runs(shop, all_of_it).exit_code == 0
    paycheckout_sandbox.pay(checkout_id)
    ran = _runs(shop, all_of_it)
    (finding,) = json.loads(ran.stdout)
    assert (ran.exit_code, finding["verdict"], finding["here"]["status"]) == (1, "differs", "created")
    assert "flask paycheckout reconcile" in finding["remedy"]


def _runs(shop: Any, line: str) -> Result:
    command = shlex.split(line)
    ran: Result = shop.app.test_cli_runner().invoke(args=command[command.index("paycheckout") :])
    return ran
