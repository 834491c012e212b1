"""The customers' pages in a real browser: updates by polling, the back button, and use without scripts.

The test controls the browser's clock, so that "within three seconds" does not depend on the machine. The shop's clock
stands still, so that visits cause no reads and only the webhook brings changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import requests
from playwright.sync_api import Page, expect

from flask_paycheckout.security.signed_links import STATUS
from tests.browser.chromium import heading
from tests.conftest import OpenShop
from tests.scripted import Shop, number
from tests.serving import served
from tests.views.test_webhook import database_down

NewPage = Callable[..., Page]

# Simulates a change to another tab and back to this tab.
TURN = """state => {
  Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


@dataclass
class Site:
    """The shop on a socket, with orders that cost 12.50 USD."""

    shop: Shop
    address: str

    def url(self, order_id: str = "o-1") -> str:
        return f"{self.address}/paycheckout/orders/{self.shop.runtime.signed_links.sign(STATUS, order_id)}"

    def is_paid(self, order_id: str = "o-1") -> None:
        """Let the customer pay elsewhere, and deliver the webhook."""
        checkout_id = self.shop.starts(order_id)
        self.shop.service.says(checkout_id, "completed")
        answer = requests.post(f"{self.address}/paycheckout/webhook", json={"orderId": checkout_id}, timeout=60)
        assert answer.status_code == 200


@pytest.fixture
def site(open_shop: OpenShop) -> Iterator[Site]:
    shop = open_shop(PAYCHECKOUT_BASE_URL="http://127.0.0.1:1", PAYCHECKOUT_WEBHOOK_COOLDOWN=0)
    shop.app.add_url_rule("/hosted/<checkout_id>", view_func=lambda checkout_id: "<h1>The payment page</h1>")
    with served(shop.app) as address:
        shop.service.page = f"{address}/hosted/{{id}}"
        yield Site(shop, address)


def looks_at(page: Page, url: str) -> None:
    """Open a page whose clock moves only when the test moves it."""
    # Stopped before the page loads, at a time that even a slow machine cannot pass before.
    page.clock.install(time=0)
    page.clock.pause_at(86_400)
    page.goto(url)


def polls(page: Page) -> None:
    """Let the page poll once, and process the answer."""
    with page.expect_response("**/status") as answer:
        page.clock.run_for(2_000)
    answer.value.finished()
    # This later request is answered after the poll, so the page has the answer by then.
    page.evaluate("url => fetch(url).then(answer => answer.text())", page.url)


def test_a_payment_on_another_device_is_told_within_three_seconds(site: Site, page: Page) -> None:
    looks_at(page, site.url())
    heading(page, "Not paid yet")
    status = page.get_by_role("status")
    status.evaluate("told => { told.dataset.kept = 'the same element, else nothing is read out' }")
    page.get_by_role("button", name="Pay $12.50").focus()
    polls(page)
    site.is_paid()

    # The change comes right after a poll; the rest of the three seconds is for the network.
    page.clock.run_for(2_500)
    heading(page, "Paid, thank you")
    expect(page).to_have_title("Paid, thank you · Order o-1 · shop")
    assert status.get_attribute("data-kept") is not None
    assert page.locator("#paycheckout-order").get_attribute("class") == "paycheckout paycheckout-card"
    expect(page.get_by_role("button", name="Print or save as PDF")).to_be_visible()
    expect(page.get_by_role("button")).to_have_count(1)
    # The button is gone, and the focus has stayed at its place.
    expect(page.locator("#paycheckout-order")).to_be_focused()

    polls_made: list[str] = []
    page.on("request", lambda request: polls_made.append(request.url))
    page.clock.run_for(60_000)
    assert polls_made == [], "there is nothing more to come"


def test_nobody_asks_while_nobody_looks_and_coming_back_asks_at_once(site: Site, page: Page) -> None:
    looks_at(page, site.url())
    polls_made: list[str] = []
    page.on("request", lambda request: polls_made.append(request.url))
    page.evaluate(TURN, "hidden")
    polls(page)
    polls_made.clear()
    page.clock.run_for(60_000)
    assert polls_made == [], "the timer that was set while somebody looked was the last"
    site.is_paid()
    page.evaluate(TURN, "visible")
    heading(page, "Paid, thank you")


def test_coming_back_shows_a_further_part_and_leaves_the_keyboard_where_it_was(site: Site, page: Page) -> None:
    site.shop.costs("12.50", now="2.50")
    site.shop.settles(site.shop.starts(), says="completed", inputAmount=number("2.50"))
    looks_at(page, site.url())
    told, button = page.locator(".paycheckout-caption"), page.get_by_role("button", name="Pay $2.50")
    expect(told).to_have_text("To pay now, of $10.00")
    button.focus()
    page.evaluate(TURN, "hidden")
    site.shop.settles(site.shop.starts(), says="completed", inputAmount=number("2.50"))
    page.evaluate(TURN, "visible")
    expect(told).to_have_text("To pay now, of $7.50")
    expect(button).to_be_focused()


def test_a_page_that_the_browser_kept_asks_when_it_is_shown_again(site: Site, page: Page) -> None:
    looks_at(page, site.url())
    site.shop.starts()
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    heading(page, "Waiting for your payment")


def test_a_page_that_answered_a_form_does_not_send_it_again_by_itself(site: Site, page: Page) -> None:
    page.goto(site.url())
    site.shop.totals["o-1"] = None
    page.get_by_role("button", name="Pay $12.50").click()
    heading(page, "Nothing to pay here")
    site.shop.costs("12.50")
    page.evaluate(TURN, "visible")
    expect(page.get_by_role("button", name="Pay $12.50")).to_be_visible()
    assert site.shop.attempts() == []


def test_without_javascript_a_link_asks_and_the_page_renews_itself(site: Site, new_page: NewPage) -> None:
    page = new_page(java_script_enabled=False, locale="de-DE")
    page.goto(site.url())
    heading(page, "Noch nicht bezahlt")
    assert page.locator("meta[http-equiv=refresh]").get_attribute("content") == "10"
    site.is_paid()
    again, button = page.get_by_role("link", name="Erneut nachsehen"), page.get_by_role("button")
    (above, below) = button.bounding_box(), again.bounding_box()
    assert above is not None
    assert below is not None
    assert below["y"] - above["y"] - above["height"] >= 16, "the link sticks to the button"
    again.click()
    heading(page, "Bezahlt, vielen Dank")
    assert page.locator("meta[http-equiv=refresh]").count() == 0


def test_a_browser_without_a_connection_is_told_so_until_it_has_one(site: Site, page: Page) -> None:
    page.goto(site.url())
    offline = page.locator(".paycheckout-offline")
    expect(offline).to_be_hidden()
    page.context.set_offline(True)
    expect(offline).to_have_text("No connection, trying again")
    page.context.set_offline(False)
    expect(offline).to_be_hidden()


def test_a_page_without_its_database_comes_back_by_itself_and_alarms_nobody(site: Site, page: Page) -> None:
    with database_down(site.shop):
        looks_at(page, site.url())
        heading(page, "This page cannot be shown right now")
        expect(page.get_by_role("alert")).to_have_count(0)
        with page.expect_response(lambda answer: answer.status == 503):
            page.clock.run_for(10_000)
    with page.expect_navigation():
        page.clock.run_for(10_000)
    heading(page, "Not paid yet")
