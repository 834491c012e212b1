"""No URL in the service's answer takes a customer out of the allowed origins, or adds a header."""

from __future__ import annotations

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import sync_playwright
from sqlalchemy import update
from werkzeug.test import TestResponse

from tests.conftest import OpenShop
from tests.optional_parts import chromium
from tests.scripted import Service, Shop, success
from tests.security.payment_urls import GOOD, TRICKS
from tests.views.pages import opens, presses_pay, reach

LISTED = {"PAYCHECKOUT_CHECKOUT_ORIGINS": ["https://pay.example"]}
# Written without the product's parser: every way to write an address of the one listed origin.
PAY_EXAMPLE = re.compile(r"https://pay\.example(:0*443|:)?([/?#][!-~]*)?", re.IGNORECASE)
PLAIN = re.compile(
    r"https://[\w.-]+(:\d*)?([/?#][!-~]*)?|https://\[[0-9a-f:.]+\](:\d*)?/[!-~]*", re.IGNORECASE | re.ASCII
)
ON_THIS_MACHINE = re.compile(r"http://(127\.0\.0\.1|([\w-]+\.)?localhost|\[(::|(0:){7})1\])(:\d*)?/[!-~]*", re.ASCII)


def pressed(shop: Shop, url: str) -> TestResponse:
    """Press the button of a new order, for which the service answers with this URL."""
    order_id = f"o-{len(shop.totals)}-url"
    shop.costs("12.50", order_id)
    # The client retries after some of these answers.
    shop.service.instead_of_created = [success({"id": f"of-{order_id}", "url": url}, 201)] * 3
    return presses_pay(shop, order_id)


def sent_to(shop: Shop, urls: Iterable[str]) -> list[str]:
    """The addresses that customers are sent to when the service answers with these URLs."""
    locations = []
    for url in urls:
        answer = pressed(shop, url)
        assert answer.status_code in {303, 503}, url
        assert "Set-Cookie" not in answer.headers
        assert not [1 for name, value in answer.headers if set(name + value) & set("\r\n\x00")], url
        sent = answer.status_code == 303
        assert ("Location" in answer.headers) is bool(shop.attempts(list(shop.totals)[-1])) is sent, "nor is it stored"
        if sent:
            assert len(answer.headers.getlist("Location")) == 1
            locations.append(answer.headers["Location"])
        else:
            assert "alert(1)" not in answer.text
            assert "evil.example" not in answer.text
    return locations


def test_plain_urls_are_taken_as_they_are(open_shop: OpenShop) -> None:
    origin = len("https://pay.example")
    assert sent_to(open_shop(**LISTED), GOOD) == [url[:origin].lower() + url[origin:] for url in GOOD]


def test_no_trick_leads_away_from_the_listed_origin(open_shop: OpenShop) -> None:
    locations = sent_to(open_shop(**LISTED), TRICKS)
    assert [location for location in locations if not PAY_EXAMPLE.fullmatch(location)] == []
    assert len(locations) < 10


def test_without_a_list_every_trick_ends_on_https_or_on_this_machine(open_shop: OpenShop) -> None:
    locations = sent_to(open_shop(), TRICKS)
    assert [each for each in locations if not (PLAIN.fullmatch(each) or ON_THIS_MACHINE.fullmatch(each))] == []
    assert 0 < len(locations) < 40


def test_a_url_that_was_allowed_and_is_not_any_more_sends_nobody_there(open_shop: OpenShop, service: Service) -> None:
    service.page = "https://old.example/checkout/{id}"
    before = open_shop()
    before.starts()
    service.page = "https://pay.example/checkout/{id}"
    after = open_shop(SQLALCHEMY_DATABASE_URI=before.app.config["SQLALCHEMY_DATABASE_URI"], **LISTED)
    assert presses_pay(after).headers["Location"] == "https://pay.example/checkout/chk-2"


def test_a_url_that_another_program_stored_is_neither_followed_nor_offered(open_shop: OpenShop) -> None:
    shop = open_shop(**LISTED)
    reach(shop, "pending")
    assert "Back to the payment page" in opens(shop).text
    for url in ("https://evil.example/1", "https://evil.example/\r\nSet-Cookie: a=b", "//evil.example", ""):
        shop.executes(update(shop.runtime.models.checkouts).values(url=url))
        assert "Back to the payment page" not in opens(shop).text
        answer = opens(shop, suffix="?payment=1")
        assert (answer.status_code, answer.location) == (303, answer.request.path), url
        shop.starts("o-2")
        shop.executes(update(shop.runtime.models.checkouts).values(url=url))
        assert PAY_EXAMPLE.fullmatch(presses_pay(shop, "o-2").headers["Location"])


def origins_in_chromium(urls: list[str]) -> list[str]:
    """The origin that Chromium reads from each URL."""
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        origins = browser.new_page().evaluate(
            "urls => urls.map(url => { try { return new URL(url, 'https://a.example').origin } catch { return '' } })",
            urls,
        )
        browser.close()
    assert isinstance(origins, list)
    return origins


@pytest.mark.slow("a browser")
def test_a_browser_goes_where_the_check_saw_it_go(open_shop: OpenShop) -> None:
    """The check must parse URLs like browsers, or it guards nothing."""
    listed = sent_to(open_shop("listed", **LISTED), (*GOOD, *TRICKS))
    anywhere = sent_to(open_shop("anywhere"), (*GOOD, *TRICKS))
    # In a separate thread, because another test's browser may run in this one.
    with ThreadPoolExecutor(1) as thread:
        origins = thread.submit(origins_in_chromium, listed + anywhere).result()
    assert set(origins[: len(listed)]) == {"https://pay.example"}
    elsewhere = {origin for origin in origins if not origin.startswith("https://")}
    # Some are invalid, such as 256.256.256.256.
    assert elsewhere <= {"", "http://127.0.0.1", "http://localhost", "http://x.localhost", "http://[::1]"}
