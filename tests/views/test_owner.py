"""The owner's pages: access to them, their facts about orders, and their registration by the shop."""

from __future__ import annotations

import html
import re
import sys
from typing import Any

import pytest
from flask import Blueprint
from sqlalchemy import update

from flask_paycheckout import Alarm, ByHand, ConfigurationError, order_paid
from flask_paycheckout.books.happenings import happenings_of
from tests.conftest import OpenShop
from tests.payouts.shop import refunds
from tests.scripted import SAME_SITE, Shop, number
from tests.test_bounds import statements
from tests.views.owner import ROOT, listed, opens, opens_view, order_page, signed, text_of
from tests.views.pages import names

# Access


def test_an_unknown_address_is_answered_by_the_shops_own_page(desk: Shop) -> None:
    """A bare error page would have no links."""
    desk.app.register_error_handler(404, lambda error: (f"Back to the shop. {error.description}", 404))
    answers = {
        path: opens(desk, path, order_id="o-9", reference="p-9", checkout="c-9")
        for path in ("/order", "/payout", "/refund")
    }
    assert {path: (answer.status_code, answer.text[:17]) for path, answer in answers.items()} == dict.fromkeys(
        answers, (404, "Back to the shop.")
    )


def test_an_error_page_does_not_look_for_what_waits(desk: Shop) -> None:
    pages = {}
    for path in ("", "/held/x"):
        with statements(desk) as executed:
            answer = desk.browser.open(ROOT + path, method="POST" if path else "GET", headers=SAME_SITE)
        pages[answer.status_code] = len(executed)
    assert pages[403] * 5 < pages[200]


def test_an_error_page_tells_of_nothing_that_was_done(desk: Shop) -> None:
    desk.has_paid()
    assert "Accepted." in text_of(opens(desk, "/order", order_id="o-1", done="accepted"))
    assert "Accepted." not in text_of(opens(desk, "/order", order_id="o-9", done="accepted"))


def test_the_permission_may_be_a_coroutine_function(shop: Shop) -> None:
    async def who() -> str:
        return "Ada"

    assert "Ada" in text_of(opens(opens_view(shop, who)))


def test_without_a_function_that_says_who_may_look_there_is_no_view(shop: Shop) -> None:
    with pytest.raises(ConfigurationError, match="owner_view needs a function"):
        shop.paycheckout.owner_view(None)  # type: ignore[arg-type]
    assert opens(shop).status_code == 404


@pytest.mark.parametrize(
    ("nobody", "path"), [(None, ""), (False, ""), ("", ""), (None, "/order?order_id=o-1"), (None, "/held/{token}")]
)
def test_whom_the_shop_does_not_name_sees_nothing(shop: Shop, nobody: object, path: str) -> None:
    checkout_id = shop.has_held()
    opens_view(shop, lambda: nobody)
    token = signed(shop, "resolve", checkout_id, nobody)
    ask = shop.browser.post if "token" in path else shop.browser.get
    answer = ask(ROOT + path.format(token=token), data={"decision": "accept", "why": "mine"}, headers=SAME_SITE)
    assert answer.status_code == 403
    assert not names(answer.text, "o-1")
    assert shop.attempt(checkout_id).status == "held"


@pytest.mark.parametrize("answer", [True, 7, object()])
def test_a_permission_must_name_a_person_since_decisions_are_recorded_with_the_name(shop: Shop, answer: object) -> None:
    opens_view(shop, lambda: answer)
    with pytest.raises(ConfigurationError, match="The function that says who may look"):
        opens(shop)


# The pages' contents


@pytest.mark.parametrize("text", ["o-1", "chk-1", " o-1 "])
def test_a_search_leads_to_the_order(desk: Shop, text: str) -> None:
    desk.starts("o-1")
    answer = opens(desk, search=text)
    assert (answer.status_code, answer.location.partition("&")[0]) == (303, f"{ROOT}/order?order_id=o-1")
    assert opens(desk, search="o-2").status_code == 404


def test_the_story_of_an_order_is_that_of_the_command(desk: Shop) -> None:
    checkout_id = desk.has_paid()
    story = desk.calls.explain("o-1")
    page = html.unescape(order_page(desk).text)
    assert checkout_id in page
    assert story.meaning in page
    for happening in happenings_of(story.attempts[0]):
        assert happening.text in page
        for fact in happening.facts.get("compared", []):
            assert fact in page
    assert (page.count("every receiver ran"), page.count("nobody has listened")) == (1, 1)


def test_no_order_id_turns_the_direction_of_the_text_around_it(desk: Shop) -> None:
    order_id = "1\u202e2"
    desk.totals[order_id] = desk.totals["o-1"]
    checkout_id = desk.has_held(order_id)
    refund = refunds(desk, checkout_id, "0.40").reference
    for path, query in {
        "": {},
        "/order": {"order_id": order_id},
        "/refund": {"checkout": checkout_id},
        "/payout": {"reference": refund},
        "/paybacks": {},
    }.items():
        page = opens(desk, path, **query).text
        assert ("1\\u202e2" in page, "\u202e" in page) == (True, False), path


def test_a_failed_receiver_is_named_without_its_error_text(desk: Shop) -> None:
    def ship(app: object, **facts: Any) -> None:
        raise RuntimeError("no parcel for +1 555 0199")

    with order_paid.connected_to(ship, sender=desk.app):
        desk.has_paid()
    page = order_page(desk).text
    assert "a receiver raised RuntimeError" in page
    assert "555 0199" not in page + opens(desk).text


# Orders that need a person


def test_an_order_tells_its_money_and_its_refunds(desk: Shop) -> None:
    checkout_id = desk.has_paid()
    refunds(desk, checkout_id, "2", to=ByHand())
    refunds(desk, checkout_id, "1.50")
    desk.calls.cancel_payout(refunds(desk, checkout_id, "3").reference, by="Ada", why="found whole")
    page = text_of(order_page(desk))
    money = "Arrived $12.50 Received $12.13 Refunded $2.00 To be refunded $1.50"
    assert f"Due $12.50 {money} Left for refunds $9.00" in page
    assert "Refunded $2.00 Refund it, or a part of it" in page, "beside the payment"
    assert "Refund no. 2 (order o-1) : $1.50 waits for its receiver" in page
    assert "Refund no. 3 (order o-1) : $3.00 cancelled" in page
    assert "Ada cancelled it: found whole" in page
    listed = opens(desk, "/payouts")
    assert "Given back: by hand completed" in text_of(listed)
    assert re.findall(r'aria-current="page">([^<]*)', listed.text)[0] == "Refunds and payouts"


@pytest.mark.parametrize("babel", [True, False])
def test_an_order_tells_what_arrived_in_the_notation_of_the_page(
    desk: Shop, monkeypatch: pytest.MonkeyPatch, babel: bool
) -> None:
    desk.has_paid()
    if not babel:
        monkeypatch.setitem(sys.modules, "babel", None)
    page = desk.browser.get(f"{ROOT}/order?order_id=o-1", headers={"Accept-Language": "de"})
    expected = "12,50 $ arrived" if babel else "12.50 USD arrived"
    assert text_of(page).count(expected) == 2, "in its story, and beside the attempt"
    assert "\\xa0" not in page.text


def test_a_part_of_which_nothing_has_to_be_decided_shows_its_form_folded_away(desk: Shop) -> None:
    desk.costs("100", now="30")
    desk.settles(desk.starts(), "completed", inputAmount=number("30"))
    page = order_page(desk).text
    assert re.search(r"<details>\s*<summary>The rest is not expected any more</summary>\s*<form", page)


def test_orders_of_some_days_are_listed_with_what_arrived_and_the_sums_of_the_books(desk: Shop) -> None:
    desk.has_held("o-1")
    desk.clock.advance(days=2)
    desk.has_paid("o-2")
    day = str(desk.clock().date())
    page = opens(desk, **{"from": day, "to": day})
    assert listed(page) == ["o-2"]
    assert "USD $12.50 $0.00 $0.00 $0.00 $0.00 $12.50 $12.13" in text_of(page)
    assert "$1.00 of $12.50 arrived" in text_of(opens(desk))
    assert listed(opens(desk, to=day)) == ["o-2", "o-1"]
    assert listed(opens(desk, **{"from": day, "status": "held"})) == []
    assert listed(opens(desk, **{"from": "soon"})) == ["o-2", "o-1"]


def test_pages_lead_to_the_shops_desk_and_to_its_logout(shop: Shop) -> None:
    view = shop.paycheckout.owner_view(lambda: "Ada", home="desk", logout="/bye")
    shop.app.add_url_rule("/desk", "desk", lambda: "")
    shop.app.register_blueprint(view)
    for path in ("", "/", "/payouts/"):
        page = opens(shop, path)
        assert (page.status_code, 'href="/desk">shop<' in page.text, '"/bye">Log out' in page.text) == (200, True, True)


def test_the_view_may_stand_in_a_blueprint_of_the_shop(shop: Shop) -> None:
    desk = Blueprint("desk", __name__, url_prefix="/desk")
    desk.register_blueprint(shop.paycheckout.owner_view(lambda: "Ada"), url_prefix="/money")
    shop.app.register_blueprint(desk)
    checkout_id = shop.has_held()
    page = shop.browser.get("/desk/money/order?order_id=o-1")
    (form,) = re.findall(r'action="(/desk/money/held/[^"]+)"', page.text)
    decided = shop.browser.post(form, data={"decision": "accept", "why": "agreed"}, headers=SAME_SITE)
    assert (decided.status_code, decided.location.partition("&")[0]) == (303, "/desk/money/order?order_id=o-1")
    assert shop.attempt(checkout_id).status == "paid"


@pytest.mark.parametrize(
    "written", [{"total_amount": "12,5"}, {"history": "no JSON"}, {"status": "refunded"}, {"reason": "asleep"}], ids=str
)
def test_a_row_that_another_program_wrote_hides_no_order(desk: Shop, written: dict[str, Any]) -> None:
    desk.starts("o-1")
    desk.executes(update(desk.runtime.models.checkouts).values(written))
    desk.starts("o-2")
    assert listed(opens(desk)) == ["o-2", "o-1"]
    assert order_page(desk).status_code == 200


@pytest.mark.parametrize("parent", [None, Blueprint("admin", __name__, url_prefix="/admin")], ids=["own name", "below"])
def test_an_alarm_leads_to_pages_that_the_shop_registers_by_another_name(shop: Shop, parent: Blueprint | None) -> None:
    pages = shop.paycheckout.owner_view(lambda: "Ada")
    if parent is None:
        shop.app.register_blueprint(pages, name="money")
    else:
        parent.register_blueprint(pages)
        shop.app.register_blueprint(parent)
    got: list[Alarm] = []
    shop.paycheckout.tell_owner(lambda began, over: got.extend(began))
    shop.has_held()
    shop.reconciles()
    (url,) = [alarm.url for alarm in got]
    assert listed(shop.browser.get(url)) == ["o-1"]


def test_the_pages_may_be_on_a_subdomain_of_their_own(open_shop: OpenShop) -> None:
    shop = open_shop(SERVER_NAME="shop.example", PAYCHECKOUT_PUBLIC_URL="https://shop.example/shop")
    shop.app.subdomain_matching = True
    shop.app.register_blueprint(shop.paycheckout.owner_view(lambda: "Ada"), subdomain="desk")
    got: list[Alarm] = []
    shop.paycheckout.tell_owner(lambda began, over: got.extend(began))
    shop.has_held()
    shop.reconciles()
    assert [alarm.url for alarm in got] == [f"https://desk.shop.example/shop{ROOT}/orders?status=held"]
    page = shop.browser.get(ROOT, base_url="https://desk.shop.example")
    (nonce,) = set(re.findall(r"'nonce-([\w-]+)'", page.headers["Content-Security-Policy"]))
    sheets = re.findall(r'<link rel="stylesheet"([^>]*)', page.text)
    assert all("https://shop.example/" in sheet and f'nonce="{nonce}"' in sheet for sheet in sheets), sheets
