"""The order's status page and its JSON: by link alone, with a read when one is due, and without amounts or ids."""

from __future__ import annotations

import html
import re
from decimal import Decimal
from typing import Any

import pytest

from flask_paycheckout import ByHand, Described, Line, Pay
from tests.conftest import OpenShop
from tests.payouts.shop import refunds
from tests.scripted import Shop, refusal
from tests.views.owner import text_of
from tests.views.pages import STATUSES, heading, names, opens, presses_pay, reach


def asks(shop: Shop, order_id: str = "o-1") -> dict[str, Any]:
    answer = opens(shop, order_id, "/status")
    assert answer.status_code == 200
    read: dict[str, Any] = answer.get_json()
    return read


@pytest.mark.parametrize("status", STATUSES)
def test_the_json_has_three_fields_and_the_page_a_way_to_pay_while_one_is_wanted(shop: Shop, status: str) -> None:
    reach(shop, status)
    final = status == "paid"
    assert asks(shop) == {"status": status, "final": final, "pollAfter": {"paid": 0, "held": 20}.get(status, 2)}
    page = opens(shop).text
    assert names(page, "chk-1") is (status in ("paid", "held")), "it is the number on the receipt"
    assert f'data-status="{status}"' in page
    assert ("Asked for $12.50" if status == "held" else "$12.50") in text_of(opens(shop))
    assert ("<form" in page) is (status not in ("pending", "paid", "held"))
    assert ('http-equiv="refresh"' in page) is not final


@pytest.mark.parametrize(
    ("status", "heading"),
    [
        ("unpaid", "Nothing to pay here"),
        ("created", "Nothing to pay here"),
        ("pending", "The shop does not want this payment any more"),
        ("abandoned", "Nothing to pay here"),
    ],
)
def test_an_order_that_is_not_to_be_paid_shows_no_button_and_asks_for_nothing(
    shop: Shop, status: str, heading: str
) -> None:
    reach(shop, status)
    shop.totals["o-1"] = None
    page = opens(shop).text
    assert "<form" not in page
    assert f"<h1>{heading}</h1>" in page
    assert "paycheckout-sum" not in page
    assert ("please do not send it" in page) is (status == "pending")


def test_a_payment_that_failed_is_told_apart_from_a_page_that_ran_out(shop: Shop) -> None:
    shop.costs("12.50", "o-3")
    never, closed, stalled = (shop.starts(f"o-{number}") for number in (1, 2, 3))
    shop.service.says(closed, "failed")
    shop.service.says(stalled, "pending")
    for _ in range(2):
        for checkout_id in (never, closed, stalled):
            shop.settles(checkout_id)
        shop.waits(hours=25)
    shop.settles(never)
    pages = [opens(shop, f"o-{number}").text for number in (1, 2, 3)]
    assert [heading(page) for page in pages] == [
        "No payment arrived",
        "The payment did not go through",
        "No payment arrived",
    ]
    assert "closed or ran out of time" in pages[0]
    assert "failed or was cancelled" in pages[1]
    assert "no payment arrived in time" in pages[2]
    assert all("Pay again" in page and 'data-status="abandoned"' in page for page in pages)


def test_while_the_payment_page_is_open_it_can_be_gone_back_to_and_nothing_else_pressed(shop: Shop) -> None:
    reach(shop, "pending")
    [attempt] = shop.attempts()
    page = opens(shop).text
    assert (heading(page), "<form" in page) == ("We are waiting for your money", False)
    link = re.search(r'href="([^"]+)">Back to the payment page</a>', page)
    assert link is not None
    assert shop.browser.get(link[1]).location == attempt.url
    shop.waits(minutes=15)
    over = shop.browser.get(link[1])
    assert (over.status_code, over.location) == (303, link[1].removesuffix("?payment=1")), "no way back to a later page"


def test_the_way_back_to_the_payment_page_leads_there_where_the_shop_adds_to_each_address(shop: Shop) -> None:
    shop.app.url_defaults(lambda endpoint, values: values.setdefault("lang", "de"))
    reach(shop, "pending")
    link = re.search(r'href="([^"]+)">Back to the payment page</a>', opens(shop).text)
    assert link is not None
    assert shop.browser.get(html.unescape(link[1])).location == shop.attempts()[0].url


def test_a_customer_who_chose_a_method_and_sent_nothing_may_pay_again_once_the_page_is_over(shop: Shop) -> None:
    reach(shop, "pending")
    shop.waits(minutes=15)
    page = opens(shop).text
    assert page.index("do not pay again") < page.index("<form") < page.index("I have sent nothing: pay again")
    assert 'class="paycheckout-secondary"' in page
    assert "same payment page" not in page
    assert presses_pay(shop).location == shop.attempts()[-1].url
    assert [attempt.status for attempt in shop.attempts()] == ["pending", "created"]


@pytest.mark.parametrize("status", ["created", "pending"])
def test_while_the_deposit_cannot_be_read_the_page_warns_and_offers_no_second_page(shop: Shop, status: str) -> None:
    reach(shop, status)
    checkout_id = shop.attempts()[0].checkout_id
    shop.service.fails(checkout_id)
    shop.waits(minutes=1)
    page = opens(shop).text
    assert "please do not pay again" in page
    assert ("<form" in page) is (status == "created"), "it leads to the page that is open, which is no second one"
    shop.waits(minutes=15)
    page = opens(shop).text
    assert ("please do not pay again" in page, "<form" in page) == (True, False)
    answer = presses_pay(shop)
    assert (answer.status_code, heading(answer.text)) == (503, "Please wait a moment")
    assert "please do not pay again" in answer.text
    shop.service.says(checkout_id, "pending")
    shop.waits(minutes=1)
    assert "<form" in opens(shop).text


def test_an_order_that_changed_while_money_is_awaited_can_be_paid_anew_and_not_on_the_earlier_page(shop: Shop) -> None:
    reach(shop, "pending")
    shop.costs("13.00")
    page = opens(shop).text
    assert page.index("do not pay on the earlier payment page") < page.index("<form")
    assert "Back to the payment page" not in page
    assert presses_pay(shop).location == shop.attempts()[-1].url
    assert shop.attempts()[-1].due == Pay("13.00", "USD")
    assert "do not pay on the earlier payment page" in opens(shop).text, "the money may be on its way to it"
    assert presses_pay(shop).location == shop.attempts()[-1].url
    shop.settles(shop.attempts()[-1].checkout_id, "pending")
    assert "Back to the payment page" in opens(shop).text


def test_no_page_but_the_one_that_money_is_awaited_on_is_called_no_second_payment(shop: Shop) -> None:
    reach(shop, "pending")
    shop.waits(minutes=16)
    assert presses_pay(shop).location == shop.attempts()[-1].url
    page = opens(shop).text
    assert ("do not pay again" in page, "no second payment" in page, "?payment" in page) == (True, False, False)


def test_no_payment_page_is_called_open_that_may_be_over_or_ask_for_an_earlier_total(shop: Shop) -> None:
    reach(shop, "created")
    shop.costs("13.00")
    shop.waits(minutes=15)
    page = opens(shop).text
    assert (heading(page), "is open" in page) == ("Waiting for your payment", False)
    assert presses_pay(shop).location == shop.attempts()[-1].url
    assert len(shop.attempts()) == 2


def test_money_that_was_not_accepted_is_told_with_what_becomes_of_it(shop: Shop) -> None:
    checkout_id = shop.has_rejected()
    page = opens(shop).text
    assert heading(page) == "Your payment was not accepted"
    assert "Arrived refused $1.00" in text_of(opens(shop))
    assert "has to pay it back to you" in page
    assert page.index("the money that was not accepted is separate") < page.index("<form")
    refunds(shop, checkout_id)
    assert "Refund unclaimed $1.00 Open the link" in text_of(opens(shop))
    shop.totals["o-1"] = None
    closed = opens(shop).text
    assert (heading(closed), "<form" in closed, "is separate" in closed) == (heading(page), False, False)
    shop.costs("12.50")
    shop.starts()
    again = opens(shop).text
    assert "Other money arrived" in again
    assert "Open the link" in again


@pytest.mark.parametrize(("kept", "text"), [(True, "it keeps this money"), (False, "Refund refunded $1.00")])
def test_money_that_was_not_accepted_and_is_settled_by_hand_is_told_so(shop: Shop, kept: bool, text: str) -> None:
    checkout_id = shop.has_rejected()
    if kept:
        shop.calls.keep(checkout_id, by="Ada", why="agreed")
    else:
        refunds(shop, checkout_id, to=ByHand())
    assert text in text_of(opens(shop))


def test_the_page_leads_back_to_the_shops_own_page_of_the_order(shop: Shop) -> None:
    assert "Back to your order" not in opens(shop).text
    shop.paycheckout.order_url(lambda order_id: f'/own/{order_id}?a=1&b="' if order_id == "o-1" else None)
    assert 'href="/own/o-1?a=1&amp;b=&#34;">Back to your order</a>' in opens(shop).text
    assert "Back to your order" not in opens(shop, "o-2").text


def test_a_shop_that_cannot_say_where_its_own_page_is_costs_no_customer_ours(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    links: dict[str, str] = {}
    shop.paycheckout.order_url(lambda order_id: links[order_id])
    shop.service.instead_of_created = [refusal(500)]
    assert presses_pay(shop).status_code == 503
    shop.has_paid()
    answer = opens(shop)
    assert (answer.status_code, "Back to your order" in answer.text) == (200, False)
    assert "order_url failed for order o-1" in caplog.text


def test_a_service_that_is_away_leaves_the_page_as_it_was(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.service.fails(shop.starts())
    assert [asks(shop)["status"] for _ in range(2)] == ["created", "created"]
    assert "could not be read for its status page" in caplog.text
    assert len(shop.service.reads) == 1, "the pages keep to the back-off"


@pytest.mark.parametrize("status", ["created", "pending"])
def test_an_order_whose_total_cannot_be_told_has_a_page_without_a_button(shop: Shop, status: str) -> None:
    reach(shop, status)
    shop.paycheckout.order_total(lambda order_id: Pay("0.00", "USD"))
    answer = opens(shop)
    assert (answer.status_code, "<form" in answer.text) == (200, False)
    assert "same payment page" not in answer.text, "there is no link to it"


@pytest.mark.parametrize(("status", "cooldown"), [("created", 5), ("abandoned", 20)])
def test_visits_share_one_read_in_a_cool_down(shop: Shop, status: str, cooldown: int) -> None:
    reach(shop, status)
    shop.waits(minutes=1)
    shop.service.reads.clear()
    for _ in range(cooldown + 1):
        assert len(shop.service.reads) <= 1
        asks(shop)
        shop.waits(seconds=1)
    assert len(shop.service.reads) == 2


def test_an_abandoned_attempt_that_is_no_longer_watched_is_read_when_its_customer_looks(shop: Shop) -> None:
    checkout_id = shop.has_deposit("failed")
    shop.settles(checkout_id)
    shop.reconciles(days=8)
    assert shop.attempt(checkout_id).next_read_at is None
    shop.service.says(checkout_id, "completed")
    shop.waits(days=1)
    assert asks(shop)["status"] == "paid"


def test_the_receipt_tells_what_was_ordered_where_amounts_may_be_shown(open_shop: OpenShop) -> None:
    for order_id, shows in (("o-1", True), ("o-2", False)):
        shop = open_shop(PAYCHECKOUT_SHOW_TOTAL=shows)
        odd = (
            Line("a <b>jar</b>"),
            Line("a comb", Decimal("1e9999")),
            Line("wax", "-" + "9" * 99 + ".25", "1\u202e"),
            Line("nails", quantity=Decimal("1E+1")),
        )
        described = {order_id: Described(lines=[Line("Forest honey, 500 g", "12.50", 2), *odd])}
        shop.paycheckout.describe_orders(lambda ids, found=described: found)
        shop.has_paid(order_id)
        page = opens(shop, order_id).text
        assert ("2 × Forest honey, 500 g" in html.unescape(page), "<b>jar" in page) == (shows, False)
        assert ("a comb" in page, "999.25" in page, "\u202e" in page) == (shows, shows, False)
        assert ("10 × nails" in page) == shows
