"""Merchants with a site of their own: an account's address, shop name, languages and time zone are used everywhere."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from flask_paycheckout import Account, order_paid
from tests.accounts.conftest import Sellers
from tests.payouts.claiming import FORM, Customer
from tests.payouts.shop import refunds
from tests.scripted import Shop
from tests.views.owner import opens_view
from tests.views.pages import heading, opens, pay_path
from tests.views.test_headless import pays
from tests.views.test_owner_books import downloads, months

ADA, SHOP = "https://ada.example", "https://shop.example"
HOUSE: dict[str, Any] = {
    "public_url": f"{ADA}/",
    "shop_name": "Ada's",
    "languages": ["ja", "de"],
    "time_zone": "Asia/Tokyo",
}


@pytest.fixture
def shop(market: Sellers) -> Shop:
    """Orders "o-1" of Ada, who has a site of her own, and "o-2" of Bo and "o-3" of the platform, who have none."""
    shop = market.shop
    object.__setattr__(shop.runtime.settings, "public_url", SHOP)
    market.add("", "o-3")
    shop.paycheckout.account(lambda name: Account(f"id-{name}", "secret", **(HOUSE if name == "ada" else {})))
    return shop


def hosts(shop: Shop, order_id: str) -> set[str]:
    urls = shop.paycheckout.pay_url(order_id), shop.paycheckout.status_url(order_id)
    return {url.partition("/paycheckout/")[0] for url in urls}


def test_links_lead_to_the_orders_own_host_in_requests_receivers_and_commands(shop: Shop) -> None:
    seen: dict[str, set[str]] = {}

    @shop.app.cli.command("links")
    def links() -> None:
        seen["command"] = hosts(shop, "o-1")

    @order_paid.connect_via(shop.app)
    def mail(app: object, *, order_id: str, **facts: object) -> None:
        seen[f"receiver of {order_id}"] = hosts(shop, order_id)

    with shop.app.test_request_context("/", base_url="https://bo.example"):
        seen["request of another host"] = hosts(shop, "o-1")
        assert hosts(shop, "o-2") == hosts(shop, "o-3") == {SHOP}
    shop.app.test_cli_runner().invoke(args=["links"])
    checkout_id = shop.has_paid("o-1")
    reference = refunds(shop, checkout_id, "5").reference
    with shop.app.app_context():
        assert shop.paycheckout.refund_url(reference).startswith(f"{ADA}/paycheckout/refunds/")
        assert shop.paycheckout.webhook_url().startswith(SHOP)
    assert seen == {where: {ADA} for where in ("request of another host", "command", "receiver of o-1")}
    assert pays(shop, "o-1").get_json()["statusUrl"].startswith(f"{ADA}/paycheckout/orders/")
    assert pays(shop, "o-2").get_json()["statusUrl"].startswith(f"{SHOP}/paycheckout/orders/")


def test_a_form_from_the_accounts_own_host_is_taken_behind_a_proxy_that_rewrites_host(shop: Shop) -> None:
    reference = refunds(shop, shop.has_paid("o-1"), "5").reference
    market = [(pay_path(shop, "o-1"), {}), (Customer(shop, reference).path, FORM)]
    for path, form in market:
        codes = {
            origin: shop.browser.post(path, data=form, headers={"Origin": origin}).status_code
            for origin in (ADA, SHOP, "https://bo.example")
        }
        assert codes == {ADA: 303, SHOP: 303, "https://bo.example": 403}


def test_a_link_for_an_order_that_is_not_committed_yet_leads_to_its_host(market: Sellers, shop: Shop) -> None:
    """Only the shop's own transaction sees the order's account; a second transaction might wait for its locks."""
    inside: list[object] = []

    def account_of(order_id: str) -> str:
        inside.append(shop.db.session())
        return "ada"

    def account(name: str) -> Account:
        inside.append(shop.db.session())
        return Account("id", "secret", **HOUSE)

    shop.paycheckout.account_of(account_of)
    shop.paycheckout.account(account)
    with shop.app.app_context():
        own = shop.db.session()
        shop.db.session.connection()
        assert hosts(shop, "o-9") == {ADA}
        assert set(map(id, inside)) == {id(own)}
        assert own.in_transaction()


@pytest.mark.parametrize(("order_id", "name", "language"), [("o-1", "Ada's", "ja"), ("o-2", "shop", "en")])
def test_pages_name_their_shop_and_speak_its_languages(shop: Shop, order_id: str, name: str, language: str) -> None:
    answers = [opens(shop, order_id, language="es, en;q=0.5")]
    checkout_id = shop.has_paid(order_id)
    paid = opens(shop, order_id, language="fr")
    path = shop.calls.refund_url(refunds(shop, checkout_id, "5").reference).partition(".example")[2]
    answers += [paid, shop.browser.get(path)]
    shop.totals[order_id] = None
    for answer in answers:
        assert name.replace("'", "&#39;") in answer.text
    assert [answer.headers["Content-Language"] for answer in answers[1:]] == [language] * 2
    # Including the no-break space, because the letters alone may occur in a link.
    assert ("\N{NO-BREAK SPACE}JST" in paid.text) is (order_id == "o-1")


def test_the_months_of_an_account_are_cut_in_its_time_zone(shop: Shop) -> None:
    """The last hours of January in UTC are February in Tokyo."""
    opens_view(shop)
    shop.clock.now = datetime(2026, 1, 31, 15, 30, tzinfo=UTC)
    shop.has_paid("o-1")
    shop.has_paid("o-2")
    shop.clock.now = datetime(2026, 2, 10, tzinfo=UTC)
    assert [month for month, _ in months(shop, account="ada")] == ["2026-02"]
    assert [month for month, _ in months(shop, account="bo")] == ["2026-02", "2026-01"]
    assert "o-1" in downloads(shop, month="2026-02", account="ada").text
    assert "2026-01-31T15:30:00.000000+00:00" in downloads(shop, month="2026-02", account="ada").text
    assert "o-1" in downloads(shop, month="2026-01").text


def test_an_account_that_is_gone_stops_no_link_and_no_page(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.paycheckout.account(lambda name: None)
    with shop.app.app_context():
        assert hosts(shop, "o-1") == {SHOP}
    assert heading(opens(shop, "o-1").text) == "Not paid yet"
    assert "links and pages of account 'ada' are the shop's" in caplog.text
    shop.paycheckout.account_of(lambda order_id: 1 / 0)  # type: ignore[type-var]  # a shop's mistake
    with shop.app.app_context(), caplog.at_level(logging.ERROR):
        assert hosts(shop, "o-1") == {SHOP}
    assert "account_of failed for order o-1" in caplog.text
