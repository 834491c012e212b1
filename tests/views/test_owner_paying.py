"""The owner's pages for new payouts: the form, confirmations, links to send, and errors."""

from __future__ import annotations

import html
import re
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from werkzeug.test import TestResponse

from flask_paycheckout import Described, Pay, Person
from tests.conftest import OpenShop
from tests.payouts.shop import committing, payout, payouts, refunds
from tests.scripted import SAME_SITE, Shop
from tests.views.owner import ROOT, opens, opens_view, order_page, text_of

ASK = {"amount": "80.00", "currency": "usd", "note": "jars sold", "to": "ask"}
BANK = {"account_name": "Zoë Quist", "account_number": "4000 1234", "bank_name": "River Bank", "bank_code": "river"}


def form_of(shop: Shop) -> str:
    (action,) = re.findall(r'action="([^"]*/pay/[^"]+)"', opens(shop, "/pay").text)
    return html.unescape(action)


def pays(shop: Shop, action: str, **typed: str) -> TestResponse:
    return shop.browser.post(action, data=ASK | typed, headers=SAME_SITE)


def mail_in(page: str) -> tuple[str, dict[str, list[str]]]:
    """The address and the contents of a page's prepared mail."""
    mails = [urlsplit(html.unescape(each)) for each in re.findall(r'href="(mailto:[^"]+body=[^"]*)"', page)]
    return unquote(mails[0].path), parse_qs(mails[0].query)


def test_a_receiver_is_paid_once_for_each_form_after_an_approval(desk: Shop) -> None:
    action = form_of(desk)
    for _ in range(2):
        answer = pays(desk, action, to="bank", **BANK)
        assert answer.status_code == 303
    (payout,) = payouts(desk)
    assert (payout.status, payout.exact_amount, payout.currency, payout.asked_by) == ("waiting", "80.00", "USD", "Ada")
    page = text_of(desk.browser.get(answer.location))
    assert "It waits for an approval" in page
    assert "Send $80.00 to Zoë Quist?" in page


def test_a_receiver_may_be_asked_and_gets_a_link(desk: Shop) -> None:
    page = desk.browser.get(pays(desk, form_of(desk)).location).text
    assert [each.status for each in payouts(desk)] == ["claimable"]
    assert "Send its receiver the link below" in page
    assert "/paycheckout/refunds/" in mail_in(page)[1]["body"][0]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"to": "bank"}, "Fill in the account name"),
        ({"amount": "1,250"}, "amount"),
        ({"to": "wallet", "wallet_address": "0x1"}, "wallet"),
        ({"to": "nowhere"}, "Choose one"),
        ({"account": "nobody"}, "nobody"),
    ],
)
def test_an_impossible_payout_is_explained_and_nothing_is_made(desk: Shop, typed: dict[str, str], words: str) -> None:
    answer = pays(desk, form_of(desk), **typed)
    assert (answer.status_code, words.lower() in text_of(answer).lower()) == (400, True)
    assert payouts(desk) == []


def test_a_person_who_may_not_pay_gets_neither_link_nor_form(shop: Shop) -> None:
    opens_view(shop, lambda: Person("Bo", may=frozenset({"look", "approve"})))
    assert "Pay somebody" not in opens(shop, "/payouts").text
    assert opens(shop, "/pay").status_code == 403


def test_after_a_refund_the_page_writes_to_the_customer(shop: Shop) -> None:
    shop.paycheckout.describe_orders(lambda ids: {each: Described("Ines", "ines@example.org") for each in ids})
    opens_view(shop)
    refund = refunds(shop, shop.has_paid(), "5.00")
    page = opens(shop, "/payout", reference=refund.reference, done="refunded").text
    assert "Write to the customer" in page
    to, mail = mail_in(page)
    assert (to, "o-1" in mail["subject"][0]) == ("ines@example.org", True)
    assert "/paycheckout/refunds/" in mail["body"][0]
    assert payout(shop, refund.reference).status == "claimable"


def test_an_unpaid_order_has_a_link_to_pay_and_a_paid_one_has_none(desk: Shop) -> None:
    desk.starts()
    page = order_page(desk).text
    assert "/paycheckout/orders/" in mail_in(page)[1]["body"][0]
    desk.has_paid("o-2")
    assert "mailto" not in order_page(desk, "o-2").text


def test_a_request_has_a_mail_to_its_customer_in_the_language_of_the_shop_while_it_can_be_paid(
    open_shop: OpenShop,
) -> None:
    shop = opens_view(open_shop(PAYCHECKOUT_LANGUAGES=["de"], PAYCHECKOUT_SHOP_NAME="Ada Ink"))
    with committing(shop) as paycheckout:
        reference = paycheckout.request(Pay("12.50", "USD"), title="A logo & more").reference
    _, mail = mail_in(opens(shop, "/requests").text)
    assert mail["subject"] == ["Ada Ink: A logo & more"]
    sentence, _, link = mail["body"][0].partition("\n\n")
    assert sentence == "Diese Anfrage wartet auf Ihre Zahlung."
    assert shop.browser.get(link).status_code == 200
    with committing(shop) as paycheckout:
        paycheckout.withdraw_request(reference, by="Ada", why="paid in cash")
    assert "mailto" not in opens(shop, "/requests").text


def test_errors_stand_in_the_frame_of_the_pages_and_nobody_is_led_to_the_login(shop: Shop) -> None:
    people: list[str] = []
    view = shop.paycheckout.owner_view(lambda: people[0] if people else None, home="/in")
    shop.app.register_blueprint(view)
    nobody = opens(shop)
    assert (nobody.status_code, 'href="/in">Log in' in nobody.text, "Requests" in nobody.text) == (403, True, False)
    people.append("Ada")
    unknown = order_page(shop, "o-9")
    assert (unknown.status_code, f'href="{ROOT}/requests"' in unknown.text) == (404, True)
