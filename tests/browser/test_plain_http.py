"""A browser without `Sec-Fetch-Site`, as over plain http or in older versions, pays from our own pages.

It identifies a form's page only by `Origin`, which a page with the policy `no-referrer` does not send either.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask, request
from playwright.sync_api import Page

from flask_paycheckout.security.signed_links import STATUS
from tests.conftest import OpenShop
from tests.scripted import Shop, garbage
from tests.serving import served

Heard = list[tuple[str, str, str | None, str | None]]


@pytest.fixture
def heard() -> Heard:
    """The method, host, origin and referer that the browser sent with each request."""
    return []


@pytest.fixture
def address(open_shop: OpenShop, heard: Heard) -> Iterator[tuple[Shop, str]]:
    """A shop in production at http://shop.test, whose customers pay at http://pay.test; both are one server here."""
    app = Flask("front")
    with served(app) as here:
        port = here.rpartition(":")[2]
        shop = open_shop(
            TESTING=False,
            PAYCHECKOUT_PUBLIC_URL=f"http://shop.test:{port}",
            PAYCHECKOUT_CHECKOUT_ORIGINS=[f"http://pay.test:{port}"],
        )
        shop.service.page = f"http://pay.test:{port}/pay"

        @shop.app.before_request
        def note() -> None:
            assert request.headers.get("Sec-Fetch-Site") is None
            if not request.path.endswith((".css", ".js", ".ico")):
                entry = request.headers.get("Origin"), request.headers.get("Referer")
                heard.append((request.method, request.host.partition(":")[0], *entry))

        shop.app.add_url_rule("/pay", view_func=lambda: "the payment page")
        app.wsgi_app = shop.app.wsgi_app  # type: ignore[method-assign]
        yield shop, f"http://shop.test:{port}"


def test_our_own_form_is_taken_and_no_page_hears_of_its_link(
    address: tuple[Shop, str], heard: Heard, page: Page
) -> None:
    shop, url = address
    shop.service.instead_of_created = [garbage()]
    page.goto(f"{url}/paycheckout/orders/{shop.runtime.signed_links.sign(STATUS, 'o-1')}")
    page.get_by_role("button", name="Pay $12.50").click()
    # The service fails once, and the error page also has a form.
    page.get_by_role("button", name="Try again").click()
    page.get_by_text("the payment page").wait_for()
    assert [told for told in heard if told[0] == "POST"] == [("POST", "shop.test", url, f"{url}/")] * 2
    # Referers name at most the shop's origin, never the page's address with the token; the payment page gets none.
    assert {referer for *_, referer in heard} == {None, f"{url}/"}
    assert heard[-1] == ("GET", "pay.test", None, None)
