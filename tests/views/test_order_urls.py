"""Absolute URLs: built from the shop's settings, never from an unchecked Host header."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from flask import g

from flask_paycheckout import ConfigurationError
from flask_paycheckout.security.signed_links import PAY, STATUS
from tests.conftest import OpenShop
from tests.scripted import SAME_SITE, Shop, refusal


def urls(shop: Shop) -> list[str]:
    paycheckout = shop.paycheckout
    return [paycheckout.pay_url("o-1"), paycheckout.status_url("o-1"), paycheckout.webhook_url()]


def test_the_links_lead_to_the_routes_and_carry_the_order(shop: Shop) -> None:
    with shop.app.app_context():
        pay, status, webhook = urls(shop)
    assert webhook == "http://localhost/paycheckout/webhook"
    assert shop.runtime.signed_links.read(PAY, urlsplit(pay).path.split("/")[3]) == "o-1"
    assert shop.runtime.signed_links.read(STATUS, urlsplit(status).path.split("/")[3]) == "o-1"


def test_links_on_our_pages_keep_the_age_of_the_link_that_led_there(shop: Shop) -> None:
    """Opening a link's page now and then must not extend its validity."""
    shop.paycheckout.order_url(lambda order_id: "/own")
    with shop.app.app_context():
        pay, status, _ = (urlsplit(url).path for url in urls(shop))
    shop.waits(days=60)

    def links(page: str) -> list[str]:
        return re.findall(r"/paycheckout/orders/[^\"]+", page)

    renewed = links(shop.browser.get(status).text)
    shop.service.instead_of_created = [refusal(503)]
    retry = shop.browser.post(pay, headers=SAME_SITE)
    renewed += links(retry.text)
    shop.totals["o-1"] = None
    renewed += links(shop.browser.post(pay, headers=SAME_SITE).text)
    shop.costs("12.50")
    shop.has_paid()
    renewed.append(shop.browser.post(pay, headers=SAME_SITE).location)
    assert {urlsplit(link).path.rpartition("/")[2] for link in renewed[:-1]} == {"checkout", "status"}
    assert retry.status_code == 503
    shop.waits(days=30)
    assert all(opens(shop, link) != 404 for link in renewed), "as long as the first"
    shop.waits(seconds=1)
    assert [opens(shop, link) for link in renewed] == [404] * len(renewed)


def opens(shop: Shop, link: str) -> int:
    """Open this link, or press its button; returns the status of the answer."""
    method = "POST" if link.endswith("/checkout") else "GET"
    return shop.browser.open(link, method=method, headers=SAME_SITE).status_code


def test_the_server_name_serves_outside_of_requests(open_shop: OpenShop) -> None:
    shop = open_shop(TESTING=False, SERVER_NAME="shop.example", PREFERRED_URL_SCHEME="https", APPLICATION_ROOT="/store")
    # As in Flask's own pattern for URLs with a language, where each request stores its language.
    shop.app.url_defaults(lambda endpoint, values: values.setdefault("lang", g.lang))
    with shop.app.app_context():
        assert all(url.startswith("https://shop.example/store/") for url in urls(shop))


def test_without_an_address_outside_of_a_request_the_key_is_named(open_shop: OpenShop) -> None:
    shop = open_shop(TESTING=False, TRUSTED_HOSTS=["shop.example"])
    with (
        shop.app.app_context(),
        pytest.raises(ConfigurationError, match=r"^PAYCHECKOUT_PUBLIC_URL is not set.*https://shop\.example"),
    ):
        shop.paycheckout.status_url("o-1")


@pytest.mark.parametrize("prefix", ["/", "/pay", "/a/b/"])
def test_the_prefix_is_where_the_routes_are(open_shop: OpenShop, prefix: str) -> None:
    shop = open_shop(PAYCHECKOUT_URL_PREFIX=prefix)
    url = shop.calls.status_url("o-1")
    assert url.startswith(f"http://localhost{prefix.rstrip('/')}/orders/")
    style = re.search(r'stylesheet" href="([^"]+)', shop.browser.get(url).text)
    assert style
    with shop.browser.get(style[1]) as answer:
        assert answer.status_code == 200
