"""With Flask-WTF's CSRFProtect for the whole shop, our posts work, and the shop's own forms stay protected."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from flask import Blueprint, Flask, current_app, render_template_string
from flask.testing import FlaskClient
from flask_sqlalchemy import SQLAlchemy
from flask_wtf import CSRFProtect

from tests.conftest import OpenShop
from tests.scripted import SAME_SITE, Shop, make_app
from tests.views.pages import presses_pay

SHOP = "https://shop.example"
ORDERS = ("csrf first", "csrf last")

OpenGuarded = Callable[..., Shop]


class OtherProtect(CSRFProtect):  # type: ignore[misc]  # Flask-WTF brings no types
    """A subclass, as some shops have."""


def add_own_pages(app: Flask) -> None:
    """Add forms of the shop, one in a blueprint whose name begins like ours."""
    form = "<form method=post><input name=csrf_token value='{{ csrf_token() }}'></form>"
    app.add_url_rule("/own", "own_form", lambda: render_template_string(form))
    app.add_url_rule("/own", "own", lambda: "done", methods=["POST"])
    blueprint = Blueprint("paycheckout_admin", __name__)
    blueprint.add_url_rule("/paycheckout/admin", "admin", lambda: "done", methods=["POST"])
    app.register_blueprint(blueprint)


@pytest.fixture
def guarded(open_shop: OpenShop) -> OpenGuarded:
    """Opens shops with CSRFProtect, set up in the order given."""

    def open_one(order: str = ORDERS[0], csrf: CSRFProtect | None = None) -> Shop:
        csrf = csrf or OtherProtect()

        def prepare(db: SQLAlchemy) -> None:
            if order == "csrf first":
                csrf.init_app(current_app)

        shop = open_shop(prepare=prepare, TESTING=False, PAYCHECKOUT_PUBLIC_URL=SHOP, WTF_CSRF_SSL_STRICT=True)
        if order == "csrf last":
            csrf.init_app(shop.app)
        add_own_pages(shop.app)
        return shop

    return open_one


def csrf_token(browser: FlaskClient) -> str:
    match = re.search(r"value='([^']+)'", browser.get("/own", base_url=SHOP).text)
    assert match
    return match[1]


@pytest.mark.parametrize("order", ORDERS)
def test_our_posts_need_no_token_of_a_session(guarded: OpenGuarded, order: str) -> None:
    shop = guarded(order)
    # The first request of a process may be a webhook.
    hint = shop.browser.post("/paycheckout/webhook", json={"orderId": "chk-1"}, base_url=SHOP)
    assert (hint.status_code, hint.get_json()) == (200, {"received": True})
    assert presses_pay(shop).status_code == 303


@pytest.mark.parametrize(("order", "path"), [*zip(ORDERS, ["/own", "/paycheckout/admin"], strict=True)])
def test_the_shops_own_posts_are_guarded_as_before(guarded: OpenGuarded, order: str, path: str) -> None:
    shop = guarded(order)
    browser = shop.browser
    presses_pay(shop)
    assert browser.post(path, headers=SAME_SITE, base_url=SHOP).status_code == 400
    token = {"csrf_token": csrf_token(browser)}
    assert browser.post(path, data=token, headers={"Referer": f"{SHOP}/own"}, base_url=SHOP).data == b"done"
    assert browser.post(path, data=token, base_url=SHOP).status_code == 400, "without a Referer"


def test_a_guard_shared_with_another_app_guards_that_one_as_before(guarded: OpenGuarded) -> None:
    """The other app has no PayCheckout, but a blueprint and a view of the same names."""
    csrf = CSRFProtect()
    guarded(csrf=csrf)
    other = make_app()
    csrf.init_app(other)
    blueprint = Blueprint("paycheckout", __name__)
    blueprint.add_url_rule("/x", "webhook", lambda: "done", methods=["POST"])
    other.register_blueprint(blueprint)
    assert other.test_client().post("/x").status_code == 400


def test_another_extension_of_that_name_is_left_alone(open_shop: OpenShop) -> None:
    calls: list[object] = []
    other = SimpleNamespace(exempt=calls.append)
    shop = open_shop(prepare=lambda db: current_app.extensions.update(csrf=other))
    assert shop.browser.get("/paycheckout/orders/x").status_code == 404
    assert calls == []
