"""The owner's pages show the messages to a customer: sent reminders, and viewed links."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from flask_paycheckout import Described, Line, Pay, payment_reminder
from tests.conftest import OpenShop
from tests.payouts.shop import refunds
from tests.scripted import Shop
from tests.views.owner import opens, opens_view, order_page, text_of


def story(shop: Shop) -> str:
    return text_of(order_page(shop)).partition("Technical history")[0]


def test_a_reminder_is_told_when_the_shop_has_sent_it(open_shop: OpenShop) -> None:
    shop = opens_view(open_shop(PAYCHECKOUT_REMIND_AFTER=[3600]))
    shop.paycheckout.describe_orders(lambda ids: {each: Described(customer="Ines Carvalho") for each in ids})
    works = [False]

    def writes(app: Any, **facts: Any) -> None:
        if not works[0]:
            raise ConnectionError("no mail server")

    shop.starts()
    shop.reconciles(hours=1)
    assert "reminde" not in story(shop), "nobody has listened to it"
    with payment_reminder.connected_to(writes, sender=shop.app):
        shop.reconciles(minutes=10)
        assert "A reminder for Ines Carvalho could not be sent yet" in story(shop)
        works[0] = True
        shop.reconciles(hours=1)
    assert "The shop reminded Ines Carvalho to pay" in story(shop)
    assert "could not be sent" not in story(shop)


def test_the_story_names_the_viewer_of_a_refunds_link(open_shop: OpenShop) -> None:
    shop = opens_view(open_shop(PAYCHECKOUT_APPROVE_BY_ANOTHER=True), lambda: "Bo")
    refund = refunds(shop, shop.has_paid())
    line = "Bo was shown the link on which the customer says where the money goes"
    page = {"reference": refund.reference}
    assert line not in story(shop) + text_of(opens(shop, "/payout", **page))
    opens(shop, "/payout", link="1", **page)
    assert line in story(shop)
    assert line in text_of(opens(shop, "/payout", **page))


def test_the_ordered_lines_are_shown_with_any_amount_that_the_shop_gives(open_shop: OpenShop) -> None:
    shop = opens_view(open_shop())
    lines = [Line("Forest honey", Decimal("25.00"), 2), Line("Jar", "1.50"), Line("Label", 1), Line("Straw")]
    shop.paycheckout.describe_orders(lambda ids: {each: Described(lines=lines) for each in ids})
    shop.has_paid()
    assert "2 × Forest honey, $25.00 Jar, $1.50 Label, $1.00 Straw" in story(shop)


def test_the_lists_of_money_that_goes_back_name_the_customer(open_shop: OpenShop) -> None:
    """This also holds for refunds without a destination."""
    shop = opens_view(open_shop())
    shop.paycheckout.describe_orders(lambda ids: {each: Described(customer="Ines Carvalho") for each in ids})
    shop.has_rejected()
    assert "o-1 Ines Carvalho" in text_of(opens(shop, "/paybacks"))
    assert "o-1 Ines Carvalho rejected" in text_of(opens(shop, "/orders", status="rejected"))
    refunds(shop, shop.has_paid("o-2"))
    assert "(order o-2) Ines Carvalho has not said where to" in text_of(opens(shop, "/payouts"))


def test_the_log_names_requests_by_their_titles_and_not_the_shops_program_twice(shop: Shop) -> None:
    opens_view(shop)
    with shop.app.app_context():
        shop.paycheckout.request(Pay("12.50", "USD"), title="Logo", by="Bo")
        shop.db.session.commit()
        reference = refunds(shop, shop.has_paid()).reference
        shop.paycheckout.refund_url(reference)
    log = text_of(opens(shop, "/deeds"))
    assert "Bo made request “Logo” (by the shop's program)" in log
    assert "The shop's program took the link of Refund no. 1 (order o-1) of $12.50 today" in log
