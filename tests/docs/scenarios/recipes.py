"""Additions to README's shop, in this process."""

from __future__ import annotations

import base64
import hashlib
import hmac
import io
import json
import re
import shlex
from contextlib import redirect_stdout
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

import httpx
import pytest
from flask.testing import FlaskClient

from flask_paycheckout import Pay, Receive
from flask_paycheckout.testing import Sandbox
from tests.docs.conftest import MakeShop
from tests.docs.pages import Scene, all_scenes
from tests.scripted import Service

BABEL = "from flask_babel import Babel\n\nBabel(app)\n"
LAYOUT = "<title>{% block title %}{% endblock %}</title><nav>Shop</nav>{% block content %}{% endblock %}"


def _logged_in(shop: Any) -> FlaskClient:
    shop.app.config["OWNERS"] = {"Ada": "scrypt"}
    browser: FlaskClient = shop.app.test_client()
    with browser.session_transaction() as session:
        session["owner"] = "Ada"
    return browser


def owners_names(scene: Scene, make_shop: MakeShop) -> None:
    [guide] = [each for each in all_scenes() if each.scenario == "owners_pages"]
    shop = make_shop(guide["owner.py"], "from flask import url_for\n", scene["people.py"], BABEL, scene["admin.py"])
    shop.paycheckout.start("1")
    for page in ("/owner/payments", "/admin/paycheckout_checkouts/"):
        assert shop.app.test_client().get(page).status_code == 403
        assert "12.50" in _logged_in(shop).get(page).text
    assert "1@shop.example" in _logged_in(shop).get("/owner/payments").text


def owners_pages(scene: Scene, make_shop: MakeShop) -> None:
    shop = make_shop(scene["owner.py"])
    shop.paycheckout.start("1")
    browser = shop.app.test_client()

    def logs_in(name: str, password: str, **headers: str) -> int:
        answer = browser.post("/owner/", data={"name": name, "password": password}, headers=headers)
        return int(answer.status_code)

    with patch("getpass.getpass", lambda: "tulips"):
        hashed = _printed(shlex.split(scene["hash"])[2])
    for table in (None, "", {"Ada": ""}, {"Ada": hashed}):
        shop.app.config["OWNERS"] = table
        assert {logs_in("Ada", ""), logs_in("Ada", "None"), logs_in("Bo", "tulips")} == {403}
    assert logs_in("Ada", "tulips", Origin="https://evil.example") == 403
    assert logs_in("Ada", "tulips") == 302
    assert "12.50" in browser.get("/owner/payments").text
    assert browser.get("/logout", follow_redirects=True).text == shop.LOGIN
    assert logs_in("Ada", "tulips") == 302
    shop.app.config["OWNERS"] = {}
    assert browser.get("/owner/payments").status_code == 403


def _printed(program: str) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(program)  # noqa: S102 - the page's own code
    return printed.getvalue().strip()


def alarm_mails(
    scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A held payment without a decision for a day causes one mail, and its decision another."""
    shop = make_shop()
    server = MagicMock()
    monkeypatch.setattr("smtplib.SMTP", server)
    sent = server.return_value.__enter__.return_value.send_message

    def cron_runs() -> list[str]:
        sent.reset_mock()
        reported = shop.app.test_cli_runner().invoke(args=["paycheckout", "report", "--json"]).stdout
        monkeypatch.setattr("sys.stdin", io.StringIO(reported))
        exec(scene["alarm_mails.py"], {"__name__": "__main__"})  # noqa: S102 - the page's own code
        return [call.args[0]["Subject"] for call in sent.call_args_list]

    checkout_id = shop.paycheckout.start("1").checkout_id
    paycheckout_sandbox.pay(checkout_id, "1")
    shop.paycheckout.reconcile()
    assert cron_runs() == []
    paycheckout_sandbox.advance(minutes=25 * 60)
    subject = "1 held payment waits for your decision"
    assert (cron_runs(), cron_runs()) == ([subject], [])
    shop.paycheckout.resolve(checkout_id, accept=True, by="Ada", why="a friend")
    assert (cron_runs(), cron_runs()) == ([f"Over: {subject}"], [])


def currencies(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    def change(source: str) -> str:
        """The new `order_total` in the place of the old one."""
        source, totals = re.subn(
            r"@paycheckout\.order_total\ndef .*?(?=\n\n@order_paid)", "", source, flags=re.DOTALL, count=1
        )
        assert totals == 1
        return source

    column = "currency = db.Column(db.String)"
    shop = make_shop(scene["currencies.py"], columns=(column,), change=change, currency="USD")
    shop.db.session.add(shop.Order(id="2", total="12.50", currency="EUR"))
    shop.db.session.commit()
    for order_id, total, paid, side in (
        ("1", Pay("12.50", "USD"), "USD", "inputAmount"),
        ("2", Receive("12.50", "USD", pay_in="EUR"), "EUR", "outputAmount"),
    ):
        checkout = shop.paycheckout.start(order_id)
        assert checkout.total == total
        deposit = paycheckout_sandbox.pay(checkout.checkout_id)["deposit"]
        assert (deposit["inputCurrency"], Decimal(str(deposit[side]))) == (paid, Decimal("12.5"))
        shop.paycheckout.reconcile()
        assert shop.db.session.get(shop.Order, order_id).paid


def own_pages(scene: Scene, make_shop: MakeShop, tmp_path: Path) -> None:
    own = tmp_path / "templates" / "paycheckout" / "base.html"
    own.parent.mkdir(parents=True)
    (tmp_path / "templates" / "layout.html").write_text(LAYOUT)
    own.write_text(scene["in the shop's layout"])
    shop = make_shop(scene["pages.py"], scene["policy.py"])
    with shop.app.test_request_context():
        address = shop.paycheckout.status_url("1")
    browser = shop.app.test_client()
    page = browser.get(address).text
    policies = [browser.get(path).headers["Content-Security-Policy"] for path in ("/orders/1", address)]
    assert ["https://pay.service.example" in policy for policy in policies] == [True, False]
    assert 'href="/orders/1">Back to your order</a>' in page
    assert "/assets/paycheckout.css" in page
    assert "<nav>Shop</nav>" in page
    assert "<title>Not paid yet</title>" in page
    assert "status.js" in page
    own.write_text(scene["colours"])
    shop.app.jinja_env.cache.clear()
    page = browser.get(address).text
    assert page.index("paycheckout.css") < page.index("--paycheckout-radius: 0"), "the shop's styles come last"


def own_status_page(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    shop = make_shop(scene["status.py"])
    browser = shop.app.test_client()
    checkout = shop.paycheckout.start("1")
    waiting = browser.get("/thanks/1").text
    assert "Waiting for your payment" in waiting
    assert 'http-equiv="refresh"' in waiting
    paycheckout_sandbox.pay(checkout.checkout_id)
    shop.paycheckout.reconcile()
    thanks = browser.get("/thanks/1").text
    assert "Thank you!" in thanks
    assert "refresh" not in thanks


def own_signing(scene: Scene, make_shop: MakeShop) -> None:
    service, seen = Service(), []

    def listens(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return service(request)

    shop = make_shop(transport=httpx.MockTransport(listens), above=scene["signing.py"])
    shop.paycheckout.start("1")
    shop.paycheckout.reconcile()
    assert [request.method for request in seen] == ["POST", "GET"]
    for request in seen:
        stamp, target = request.headers["X-Timestamp"], request.url.raw_path
        content = b".".join([stamp.encode(), request.method.encode(), target, request.content])
        expected = hmac.new(b"from the service's dashboard", content, hashlib.sha512)
        assert base64.b64decode(request.headers["X-Signature"]) == expected.digest()
        assert request.headers["X-Client-ID"] == "shop-1"
    assert json.loads(seen[0].content)["inputAmount"] == 12.5


def pending_for(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    shop = make_shop(above=scene["pending.py"])
    checkout = shop.paycheckout.start("1")
    paycheckout_sandbox.pick(checkout.checkout_id, "us_usdc_polygon")
    shop.paycheckout.reconcile()
    assert shop.paycheckout.order_status("1") == "pending"
    paycheckout_sandbox.advance(minutes=61)
    shop.paycheckout.reconcile()
    attempt = shop.paycheckout.explain("1").attempts[0]
    assert (attempt.status, attempt.reason) == ("abandoned", "stalled")


def own_columns(scene: Scene, make_shop: MakeShop) -> None:
    shop = make_shop(above=scene["columns.py"])
    shop.paycheckout.start("1")
    checkout = shop.db.session.scalars(shop.db.select(shop.paycheckout.Checkout)).one()
    assert isinstance(checkout, shop.Checkout)
    assert checkout.campaign is None


def config_in_code(scene: Scene, make_shop: MakeShop) -> None:
    shop = make_shop(above=scene["config.py"])
    with shop.app.test_request_context():
        assert shop.paycheckout.webhook_url().startswith("https://shop.example/payments/webhook")
