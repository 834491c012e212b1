"""Every answer below our prefix, errors too, has headers against framing, sniffing, caching and foreign scripts."""

from __future__ import annotations

import re

import pytest
from werkzeug.test import TestResponse

from tests.conftest import OpenShop
from tests.scripted import SAME_SITE, Shop, refusal
from tests.views.pages import PRODUCTION, pay_path, status_path
from tests.views.test_webhook import database_down

# Each kind of answer with its status.
KINDS = (
    *("200 page", "200 JSON", "200 options", "200 owner", "303 to pay", "400 webhook", "400 host"),
    *("403", "403 owner", "404 token", "404 path", "404 file", "405", "413", "503 failed", "503 page", "503 webhook"),
)


def provoked(shop: Shop, kind: str) -> TestResponse:
    """An answer of this kind."""
    browser = shop.browser
    pay, status = pay_path(shop), status_path(shop)
    hook, owner = "/paycheckout/webhook", "/paycheckout/owner"
    shop.app.register_blueprint(shop.paycheckout.owner_view(lambda: "Ada"))
    if kind == "503 page":
        shop.service.instead_of_created = [refusal(503)]
    if kind == "503 failed":
        shop.paycheckout.order_total(lambda order_id: 1 / 0)  # type: ignore[type-var]  # a shop's mistake
    if kind == "503 webhook":
        with database_down(shop):
            return browser.post(hook, json={"orderId": "chk-1"})
    if kind == "400 host":
        shop.app.config["TRUSTED_HOSTS"] = ["shop.example"]
        return browser.get(status, base_url="https://evil.example")
    requests = {
        "200 page": ("GET", status),
        "200 JSON": ("GET", f"{status}/status"),
        "200 options": ("OPTIONS", pay),
        "200 owner": ("GET", owner),
        "403 owner": ("POST", f"{owner}/held/x"),
        "400 webhook": ("POST", hook),
        "404 token": ("GET", "/paycheckout/orders/x"),
        "404 path": ("GET", "/paycheckout/x"),
        "404 file": ("GET", "/paycheckout/orders/x/../../assets/x"),
        "405": ("PUT", pay),
        "413": ("POST", hook),
    }
    method, path = requests.get(kind, ("POST", pay))
    data = b"x" * 70_000 if kind == "413" else None
    headers = {"Sec-Fetch-Site": "cross-site"} if kind == "403" else SAME_SITE
    return browser.open(path, method=method, data=data, headers=headers)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_answer_is_hardened(open_shop: OpenShop, kind: str) -> None:
    answer = provoked(open_shop(**PRODUCTION), kind)
    assert answer.status_code == int(kind[:3])
    headers = answer.headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"] == "no-store"
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    nothing = {"default-src": "'none'", "base-uri": "'none'", "frame-ancestors": "'none'"}
    if answer.mimetype == "text/html" and answer.location is None:
        # A page may have a form, which sends the shop's origin.
        assert headers["Referrer-Policy"] == "no-referrer, strict-origin"
        assert re.fullmatch(r"'nonce-[\w-]{22}'", policy.pop("script-src"))
        assert re.fullmatch(r"'self' 'nonce-[\w-]{22}'", policy.pop("style-src"))
        # Only a page with a pay button may lead a form to the payment pages.
        forms = "'self' https:" if b'/checkout"' in answer.data else "'self'"
        sources = {"img-src": "'self' data:", "connect-src": "'self'", "form-action": forms}
        assert policy == nothing | sources
    else:
        assert headers["Referrer-Policy"] == "no-referrer"
        assert policy == nothing | {"form-action": "'none'"}
    assert "Access-Control-Allow-Origin" not in headers
    assert "Set-Cookie" not in headers


def test_our_static_files_are_not_sniffed(shop: Shop) -> None:
    with shop.browser.get("/paycheckout/assets/status.js") as answer:
        assert (answer.status_code, answer.headers["X-Content-Type-Options"]) == (200, "nosniff")
        assert "no-store" not in answer.headers.get("Cache-Control", "")


@pytest.mark.parametrize("prefix", ["/paycheckout", "/"])
def test_the_shops_own_errors_are_left_alone(open_shop: OpenShop, prefix: str) -> None:
    shop = open_shop(PAYCHECKOUT_URL_PREFIX=prefix)
    for path in ("/", "/own", "/paycheckouts", "/paycheckoutx/y", "/x/paycheckout/"):
        answer = shop.browser.get(path)
        assert answer.status_code == 404
        assert "Content-Security-Policy" not in answer.headers
