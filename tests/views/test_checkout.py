"""The pay button's route sends a customer to the service's page only."""

from __future__ import annotations

import re

import pytest
from flask import render_template_string
from sqlalchemy.exc import OperationalError

from flask_paycheckout import Pay, Receive
from flask_paycheckout.security.signed_links import PAY
from tests.scripted import CLIENT_SECRET, Answer, Shop, refusal, success
from tests.test_bounds import statements
from tests.views.pages import STATUSES, button, fails_to_pay, heading, pay_path, presses_pay, reach


@pytest.mark.parametrize("status", ["unpaid", "created", "abandoned"])
def test_a_button_on_an_old_page_leads_to_the_orders_own_words_and_back_to_the_shop(shop: Shop, status: str) -> None:
    """The order was cancelled, or sold out, after the page with the button was opened."""
    shop.paycheckout.order_url(lambda order_id: f"/own/{order_id}")
    reach(shop, status)
    shop.totals["o-1"] = None
    answer = presses_pay(shop, language="de")
    assert answer.status_code == 404
    assert heading(answer.text) == "Hier ist nichts zu bezahlen"
    assert answer.headers["Content-Language"] == "de"
    assert 'href="/own/o-1">' in answer.text
    assert "<form" not in answer.text
    again = shop.browser.get(pay_path(shop), headers={"Accept-Language": "de"})
    assert (again.status_code, heading(again.text)) == (200, heading(answer.text))


def test_the_pay_buttons_address_opened_without_its_form_is_the_status_page_and_starts_nothing(shop: Shop) -> None:
    assert fails_to_pay(shop).status_code == 503
    page = shop.browser.get(pay_path(shop))
    assert (page.status_code, heading(page.text), shop.attempts()) == (200, "Not paid yet", [])
    reach(shop, "pending")
    (link,) = re.findall(r'href="([^"]+)">Back to the payment page</a>', shop.browser.get(pay_path(shop)).text)
    assert shop.browser.get(link).location == shop.attempts()[0].url
    assert shop.browser.get("/paycheckout/orders/forged/checkout").status_code == 404


@pytest.mark.parametrize(
    ("answer", "retry_after"),
    [
        pytest.param(refusal(503, "Down"), "3600", id="down, says when to come back"),
        pytest.param(success({"id": "a", "url": "javascript:alert(1)"}), "10", id="unsafe URL"),
        pytest.param(success({"id": "a\n", "url": "https://pay.example"}), "10", id="unusable id"),
    ],
)
def test_a_service_that_makes_no_page_is_a_503_with_a_way_to_try_again(
    shop: Shop, answer: Answer, retry_after: str, caplog: pytest.LogCaptureFixture
) -> None:
    shop.service.instead_of_created = [answer] * 3
    response = presses_pay(shop)
    assert (response.status_code, response.headers["Retry-After"]) == (503, retry_after)
    assert 'method="post"' in response.text
    assert "Try again" in response.text
    assert "no checkout for order o-1" in caplog.text
    assert CLIENT_SECRET not in caplog.text + response.text
    assert "alert(1)" not in caplog.text + response.text


def test_no_variable_that_the_shop_gives_its_templates_gets_into_ours(shop: Shop) -> None:
    shop.app.context_processor(lambda: {"action": "edit", "link": "/own", "new_tab": True, "refresh": 5})
    assert "paycheckout-away" not in fails_to_pay(shop).text
    reach(shop, "unpaid")
    assert (f'action="{pay_path(shop)[:20]}' in button(shop), "target" in button(shop)) == (True, False)
    shop.has_paid()
    assert "<form" not in button(shop)


def test_a_button_knows_what_its_own_request_has_settled(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed")
    with shop.app.test_request_context():
        assert shop.paycheckout.order_status("o-1") == "created"
        shop.paycheckout.settle(checkout_id)
        assert "<form" not in render_template_string("{{ paycheckout_button('o-1') }}")


def test_a_button_knows_nothing_of_an_earlier_request_in_the_same_application_context(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed")
    with shop.app.app_context():
        with shop.app.test_request_context():
            assert shop.paycheckout.order_status("o-1") == "created"
        assert shop.hears_of(checkout_id) == 200
        assert "<form" not in button(shop)


def test_the_button_is_a_form_with_a_token_and_no_price(shop: Shop) -> None:
    form = button(shop, "ä/ö", "Pay <now>")
    token = form.split("/orders/")[1].split("/checkout")[0]
    assert shop.runtime.signed_links.read(PAY, token) == "ä/ö"
    assert 'method="post"' in form
    assert "Pay &lt;now&gt;" in form
    assert "12.5" not in form


@pytest.mark.parametrize(
    ("total", "label"),
    [
        (Pay("25", "USD"), "Pay $25.00"),
        (Pay("25", "USD", now="5"), "Pay $5.00"),
        (Receive("25", "USD", pay_in="EUR"), "Pay $25.00 and the fee"),
    ],
)
def test_the_button_says_the_sum_that_the_page_knows_without_asking_the_shop(
    shop: Shop, total: Pay | Receive, label: str
) -> None:
    calls: list[str] = []
    shop.paycheckout.order_total(lambda order_id: calls.append(order_id))
    with shop.app.test_request_context(headers={"Accept-Language": "de"}):
        form = render_template_string("{{ paycheckout_button('o-1', total=total) }}", total=total)
    assert f">{label}<" in form
    assert calls == []


@pytest.mark.parametrize("status", STATUSES)
def test_nothing_is_there_to_press_that_could_pay_twice(shop: Shop, status: str) -> None:
    reach(shop, status)
    links = dict.fromkeys(("pending", "held"), "See how your payment stands") | {"paid": "Paid: see your receipt"}
    html = button(shop, label="Pay")
    assert ("<form" in html) is (status not in links)
    if status in links:
        match = re.fullmatch(r'<a href="([^"]+)" class="paycheckout-button">([^<]+)</a>', html.strip())
        assert match is not None
        assert match[2] == links[status]
        assert shop.browser.get(match[1]).status_code == 200


def test_the_buttons_of_a_list_need_one_query(shop: Shop) -> None:
    with shop.app.test_request_context(), statements(shop) as executed:
        shop.paycheckout.order_statuses(["o-1", "o-2"])
        page = render_template_string("{{ paycheckout_button('o-1') }}{{ paycheckout_button('o-2') }}")
    assert (page.count("<form"), len(executed)) == (2, 1)


def test_a_database_that_is_away_costs_no_page_its_button(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*statement: object) -> None:
        raise OperationalError("SELECT 1", None, Exception("connection refused"))

    monkeypatch.setattr(type(shop.runtime.checkouts), "order_statuses", fail)
    assert "<form" in button(shop)
