"""Two accounts whose payment pages have origins of their own: every pay button of our pages leads to the right one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask
from playwright.sync_api import Page

from flask_paycheckout import Account
from tests.browser.chromium import heading
from tests.browser.test_customer_pages import Site
from tests.conftest import OpenShop
from tests.scripted import refusal
from tests.serving import served

ACCOUNTS = {"o-1": "", "o-2": "bo"}


@pytest.fixture
def market(open_shop: OpenShop) -> Iterator[Site]:
    front = Flask("front")
    with served(front) as address:
        port = address.rpartition(":")[2]
        shop = open_shop(
            PAYCHECKOUT_BASE_URL="http://127.0.0.1:1", PAYCHECKOUT_CHECKOUT_ORIGINS=[f"http://settings.test:{port}"]
        )
        own = Account("id-bo", "canary-secret-of-bo", checkout_origins=(f"http://bo.test:{port}",))
        shop.paycheckout.account_of(ACCOUNTS.__getitem__)
        shop.paycheckout.account({"bo": own}.get)
        shop.app.add_url_rule("/hosted/<checkout_id>", view_func=lambda checkout_id: "<h1>The payment page</h1>")
        front.wsgi_app = shop.app.wsgi_app  # type: ignore[method-assign]
        yield Site(shop, address)


@pytest.mark.parametrize(
    ("order_id", "from_page"), [("o-1", "status"), ("o-2", "status"), ("o-2", "unavailable"), ("o-2", "news")]
)
def test_each_pay_button_leads_to_the_page_of_its_account(
    market: Site, page: Page, order_id: str, from_page: str
) -> None:
    shop = market.shop
    payment_pages = f"http://{ACCOUNTS[order_id] or 'settings'}.test:{market.address.rpartition(':')[2]}"
    shop.service.page = f"{payment_pages}/hosted/{{id}}"
    total = shop.totals.pop(order_id) if from_page == "news" else None
    page.clock.install(time=0)
    page.goto(market.url(order_id))
    if total is not None:
        heading(page, "Nothing to pay here")
        shop.totals[order_id] = total
        shop.starts(order_id)
        page.clock.run_for(2_500)
    if from_page == "unavailable":
        shop.service.instead_of_created = [refusal(503)]
        page.get_by_role("button").click()
        heading(page, "Payment is not available right now")
    page.get_by_role("button").click()
    heading(page, "The payment page")
    assert page.url.startswith(payment_pages)
