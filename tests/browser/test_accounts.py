"""An account with its own origin of payment pages: a pay button that appears by polling also leads there."""

from __future__ import annotations

from flask import Flask
from playwright.sync_api import Page

from flask_paycheckout import Account
from tests.browser.chromium import heading
from tests.browser.test_customer_pages import Site
from tests.conftest import OpenShop
from tests.serving import served


def test_a_pay_button_that_comes_as_news_leads_to_the_page_of_its_account(open_shop: OpenShop, page: Page) -> None:
    """The first page has no order, so it allows no origin; `accounts/test_orders.py` has pages with an order."""
    front = Flask("front")
    with served(front) as address:
        payment_pages = address.replace("127.0.0.1", "bo.test")
        shop = open_shop(PAYCHECKOUT_BASE_URL="http://127.0.0.1:1", PAYCHECKOUT_CHECKOUT_ORIGINS=["https://other.test"])
        own = Account("id-bo", "canary-secret-of-bo", checkout_origins=(payment_pages,))
        shop.paycheckout.account_of(lambda order_id: "bo")
        shop.paycheckout.account({"bo": own}.get)
        shop.app.add_url_rule("/hosted/<checkout_id>", view_func=lambda checkout_id: "<h1>The payment page</h1>")
        front.wsgi_app = shop.app.wsgi_app  # type: ignore[method-assign]
        shop.service.page = f"{payment_pages}/hosted/{{id}}"
        total = shop.totals.pop("o-1")
        page.clock.install(time=0)
        page.goto(Site(shop, address).url())
        heading(page, "Nothing to pay here")
        shop.totals["o-1"] = total
        shop.starts()
        page.clock.run_for(2_500)
        page.get_by_role("button").click()
        heading(page, "The payment page")
        assert page.url.startswith(payment_pages)
