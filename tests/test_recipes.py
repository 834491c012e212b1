"""README's recipes, each as it stands there at the end of README's shop."""

from __future__ import annotations

import base64
import hashlib
import hmac
import importlib.util
import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from blinker import ANY
from flask.testing import FlaskClient

from flask_paycheckout import Pay, Receive
from flask_paycheckout.runtime import KEY
from flask_paycheckout.signals import BY_NAME
from flask_paycheckout.testing import Sandbox
from tests.scripted import Service
from tests.test_readme import snippet

MakeShop = Callable[..., Any]
MAKES_EXTENSION = "paycheckout = PayCheckout(app, db)\n"
BABEL = "from flask_babel import Babel\n\nBabel(app)\n"


@pytest.fixture
def make_shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paycheckout_sandbox: Sandbox) -> Iterator[MakeShop]:
    """Makes README's shop with these recipes at its end, as a module, with the order "1" for 12.50 in it."""
    shops = []
    monkeypatch.chdir(tmp_path)
    for key, value in {**paycheckout_sandbox.config, "SQLALCHEMY_DATABASE_URI": f"sqlite:///{tmp_path}/s.db"}.items():
        monkeypatch.setenv(f"FLASK_{key}", value)
    monkeypatch.setenv("FLASK_DEBUG", "1")

    def make(*recipes: str, transport: Any = None, changed: Callable[[str], str] = str, **order: Any) -> Any:
        source = changed("\n".join([snippet("shop.py"), *recipes]))
        assert source.count(MAKES_EXTENSION) == 1
        # The same with the sandbox in process.
        in_process = "paycheckout = PayCheckout()\npaycheckout.init_app(app, db, transport=TRANSPORT)\n"
        (tmp_path / "shop.py").write_text(source.replace(MAKES_EXTENSION, in_process))
        specification = importlib.util.spec_from_file_location("recipe_shop", tmp_path / "shop.py")
        assert specification is not None
        assert specification.loader is not None
        shop: Any = importlib.util.module_from_spec(specification)
        shop.TRANSPORT = transport or paycheckout_sandbox.transport
        specification.loader.exec_module(shop)
        shops.append(shop)
        context = shop.app.app_context()
        context.push()
        shop.db.create_all()
        shop.db.session.add(shop.Order(id="1", total="12.50", **order))
        shop.db.session.commit()
        shop.context = context
        return shop

    yield make
    # Held weakly, but the module outlives the test until somebody collects it.
    for signal in BY_NAME.values():
        for receiver in list(signal.receivers_for(ANY)):
            if receiver.__module__ == "recipe_shop":
                signal.disconnect(receiver)
    for shop in shops:
        shop.db.engine.dispose()
        shop.context.pop()


def logged_in(shop: Any) -> FlaskClient:
    browser: FlaskClient = shop.app.test_client()
    with browser.session_transaction() as session:
        session["owner"] = "Ada"
    return browser


def test_the_owners_pages_are_for_the_owner(make_shop: MakeShop) -> None:
    shop = make_shop(snippet("owner.py"))
    shop.paycheckout.start("1")
    assert shop.app.test_client().get("/owner/payments").status_code == 403
    assert "12.50 USD" in logged_in(shop).get("/owner/payments").text


def test_flask_admin_shows_checkouts_and_events_to_the_owner(make_shop: MakeShop) -> None:
    shop = make_shop(snippet("owner.py"), BABEL, snippet("admin.py"))
    shop.paycheckout.start("1")
    assert shop.app.test_client().get("/admin/paycheckout_checkouts/").status_code == 403
    assert "12.50 USD" in logged_in(shop).get("/admin/paycheckout_checkouts/").text


@pytest.mark.parametrize(
    ("currency", "total", "input_currency"),
    [("USD", Pay("12.50", "USD"), "USD"), ("EUR", Receive("12.50", "USD", pay_in="EUR"), "EUR")],
)
def test_each_customer_pays_in_the_orders_currency(
    make_shop: MakeShop, paycheckout_sandbox: Sandbox, currency: str, total: Pay | Receive, input_currency: str
) -> None:
    def changed(source: str) -> str:
        """The new `order_total` in the place of the old one, and the column beside the others."""
        column = "    currency = db.Column(db.String)\n"
        source, columns = re.subn(r"(    paid = .*\n)", r"\1" + column, source)
        source, totals = re.subn(
            r"@paycheckout\.order_total\ndef .*?(?=\n\n@order_paid)", "", source, flags=re.DOTALL, count=1
        )
        assert (columns, totals) == (1, 1)
        return source

    shop = make_shop(snippet("currencies.py"), changed=changed, currency=currency)
    checkout = shop.paycheckout.start("1")
    assert checkout.total == total
    paid = paycheckout_sandbox.pay(checkout.checkout_id)
    assert paid["deposit"]["inputCurrency"] == input_currency
    assert Decimal(str(paid["deposit"]["outputAmount" if currency == "EUR" else "inputAmount"])) == Decimal("12.5")
    shop.paycheckout.reconcile()
    assert shop.db.session.get(shop.Order, "1").paid


LAYOUT = "<title>{% block title %}{% endblock %}</title><nav>Shop</nav>{% block content %}{% endblock %}"


@pytest.mark.parametrize(
    "recipe", ["templates/paycheckout/base.html", "templates/paycheckout/base.html, in the shop's layout"]
)
def test_the_pages_look_as_the_shop_wants_and_lead_back(make_shop: MakeShop, tmp_path: Path, recipe: str) -> None:
    own = tmp_path / "templates" / "paycheckout" / "base.html"
    own.parent.mkdir(parents=True)
    own.write_text(snippet(recipe, "html"))
    (tmp_path / "templates" / "layout.html").write_text(LAYOUT)
    shop = make_shop(snippet("pages.py"))
    with shop.app.test_request_context():
        address = shop.paycheckout.status_url("1")
    page = shop.app.test_client().get(address).text
    assert '<a href="/orders/1">Back to your order</a>' in page
    assert ("--paycheckout-accent: #8a2b0b" in page) is not recipe.endswith("layout")
    assert ("<nav>Shop</nav>" in page) is recipe.endswith("layout")
    assert "<title>Not paid yet</title>" in page


def test_a_status_page_of_the_shops_own_shows_the_way_to_paid(
    make_shop: MakeShop, paycheckout_sandbox: Sandbox
) -> None:
    shop = make_shop(snippet("status.py"))
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


def test_a_signer_of_ones_own_signs_every_call(make_shop: MakeShop) -> None:
    service, seen = Service(), []

    def listens(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return service(request)

    def changed(source: str) -> str:
        return source.replace(MAKES_EXTENSION, f"{snippet('signing.py')}\n{MAKES_EXTENSION}")

    shop = make_shop(transport=httpx.MockTransport(listens), changed=changed)
    shop.paycheckout.start("1")
    shop.paycheckout.reconcile()
    assert [request.method for request in seen] == ["POST", "GET"]
    for request in seen:
        stamp, target = request.headers["X-Timestamp"], request.url.raw_path
        said = b".".join([stamp.encode(), request.method.encode(), target, request.content])
        expected = hmac.new(b"from the service's dashboard", said, hashlib.sha512)
        assert base64.b64decode(request.headers["X-Signature"]) == expected.digest()
        assert request.headers["X-Client-ID"] == "shop-1"
    assert json.loads(seen[0].content)["inputAmount"] == 12.5
    assert shop.app.extensions[KEY].settings.signer is not None


def test_a_payment_by_token_is_waited_for_an_hour(make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    def changed(source: str) -> str:
        """The setting, above the extension that reads it."""
        return source.replace(MAKES_EXTENSION, snippet("pending.py") + MAKES_EXTENSION)

    shop = make_shop(changed=changed)
    checkout = shop.paycheckout.start("1")
    paycheckout_sandbox.pick(checkout.checkout_id, "us_usdc_polygon")
    shop.paycheckout.reconcile()
    assert shop.paycheckout.explain("1").status == "pending"
    paycheckout_sandbox.advance(minutes=61)
    shop.paycheckout.reconcile()
    story = shop.paycheckout.explain("1").attempts[0]
    assert (story.status, story.reason) == ("abandoned", "stalled")
