"""Forged Host headers: no address from the extension contains one, and no answer repeats one."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from flask import jsonify

from flask_paycheckout.security.signed_links import PAY, STATUS
from tests.conftest import OpenShop
from tests.scripted import SAME_SITE, Shop

DEPLOYMENTS: dict[str, dict[str, Any]] = {
    "public address": {"PAYCHECKOUT_PUBLIC_URL": "https://shop.example"},
    "server name": {"SERVER_NAME": "shop.example", "PREFERRED_URL_SCHEME": "https"},
    "trusted hosts": {"TRUSTED_HOSTS": ["shop.example"]},
}
POISON = (
    *("evil.example", "shop.example.evil.example", "shop.example@evil.example", "shop.example, evil.example"),
    *("evil.example/shop.example", "evil.example\\shop.example", "evil.example shop.example", "[::1]", "127.0.0.1", ""),
)
FORWARDED = {
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Server": "evil.example",
    "X-Forwarded-Proto": "http",
    "X-Forwarded-Prefix": "//evil.example",
    "X-Forwarded-Port": "1",
    "X-Host": "evil.example",
    "X-Original-URL": "https://evil.example/",
    "X-Rewrite-URL": "https://evil.example/",
    "Forwarded": "host=evil.example;proto=http",
}


def opened(open_shop: OpenShop, name: str) -> Shop:
    """A shop in production with its own page that shows every address."""
    shop = open_shop(TESTING=False, **DEPLOYMENTS[name])
    out = shop.paycheckout
    shop.app.add_url_rule(
        "/links", view_func=lambda: jsonify([out.pay_url("o-1"), out.status_url("o-1"), out.webhook_url()])
    )
    return shop


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_addresses_never_come_from_a_host_that_nobody_vouched_for(open_shop: OpenShop, name: str) -> None:
    shop = opened(open_shop, name)
    for host in ("shop.example", *POISON):
        answer = shop.browser.get("/links", base_url="https://shop.example", headers={"Host": host, **FORWARDED})
        if name == "trusted hosts" and host not in {"shop.example", ""}:
            assert answer.status_code == 400, host
        elif answer.status_code != 400:
            parts = [urlsplit(url) for url in answer.get_json()]
            assert {(each.scheme, each.netloc) for each in parts} == {("https", "shop.example")}, host
        assert answer.status_code == 200 or host != "shop.example"
        assert "evil.example" not in str(answer.headers)


PATHS = (
    ("GET", "/paycheckout/orders/{status}"),
    ("GET", "/paycheckout/orders//{status}"),
    ("GET", "//paycheckout/orders/{status}"),
    ("GET", "//evil.example/paycheckout/orders/{status}"),
    ("GET", "/paycheckout/orders/{status}/status"),
    ("POST", "/paycheckout/orders/{pay}/checkout"),
    ("POST", "/paycheckout/orders/{pay}/checkout/"),
    ("POST", "/paycheckout//webhook"),
    ("POST", "/paycheckout/webhook"),
    ("GET", "/paycheckout//assets/status.js"),
    ("GET", "/paycheckout/assets/../config.py"),
)


def test_no_answer_repeats_a_host(open_shop: OpenShop) -> None:
    """Not even a redirect that corrects the path."""
    shop = opened(open_shop, "public address")
    tokens = shop.runtime.signed_links
    headers = {"Host": "evil.example", **FORWARDED, **SAME_SITE}
    for method, path in PATHS:
        named = path.format(pay=tokens.sign(PAY, "o-1"), status=tokens.sign(STATUS, "o-1"))
        answer = shop.browser.open("/", method=method, headers=headers, environ_overrides={"PATH_INFO": named})
        assert "evil.example" not in answer.text.replace("//evil.example/paycheckout", ""), path
        assert "evil.example" not in str(answer.headers), path
        assert answer.status_code in {200, 303, 400, 404, 405}, path
