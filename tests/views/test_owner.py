"""The owner's pages: access, contents, secrets that they never show, and decisions on held payments."""

from __future__ import annotations

import html
import re
import sys
from typing import Any

import pytest
from flask import Blueprint
from flask_wtf.csrf import CSRFProtect
from sqlalchemy import update
from werkzeug.test import TestResponse

from flask_paycheckout import Alarm, ByHand, ConfigurationError, Pay, order_paid
from flask_paycheckout.books.happenings import happenings_of
from tests.conftest import OpenShop
from tests.payouts.shop import refunds
from tests.scripted import SAME_SITE, Shop, number
from tests.test_bounds import statements
from tests.views.pages import names

ROOT = "/paycheckout/owner"


def opens_view(shop: Shop, permission: Any = lambda: "Ada") -> Shop:
    shop.app.register_blueprint(shop.paycheckout.owner_view(permission))
    return shop


def opens(shop: Shop, path: str = "", **query: Any) -> TestResponse:
    """The answer to a visit of one of the owner's pages."""
    return shop.browser.get(ROOT + path, query_string=query or None)


def text_of(answer: TestResponse) -> str:
    """The words of a page."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


def listed(answer: TestResponse) -> list[str]:
    """The orders on a page of the list."""
    rows = re.findall(r'<(?:h2|th scope="row")><a href="[^"]*/order\?order_id=[^"]*">([^<]*)</a>', answer.text)
    return [html.unescape(found) for found in rows]


def form_token(shop: Shop, form: str = "held") -> str:
    """The token in a form of the order's page."""
    found = re.search(rf'action="[^"]*/{form}/([^"]+)"', opens(shop, "/order?order_id=o-1").text)
    assert found is not None
    return found[1]


def signed(shop: Shop, form: str, subject: str, who: object = "Ada") -> str:
    """The token of a form, as the page gives it to this person."""
    return shop.runtime.signed_links.sign(f"paycheckout_owner.{form}", f"{subject}\n{who}")


def decides(shop: Shop, token: str, form: str = "held", **typed: str) -> TestResponse:
    given = {"decision": "accept", "became": "done", "why": "seen on the statement"} | typed
    return shop.browser.post(f"{ROOT}/{form}/{token}", data=given, headers=SAME_SITE)


# Access


def test_whatever_is_unknown_is_answered_by_the_shops_own_page(shop: Shop) -> None:
    """Not by a bare one, which leads nowhere."""
    opens_view(shop)
    shop.app.register_error_handler(404, lambda error: (f"Back to the shop. {error.description}", 404))
    found = {
        path: opens(shop, path, order_id="o-9", reference="p-9", checkout="c-9")
        for path in ("/order", "/payout", "/refund")
    }
    assert {path: (answer.status_code, answer.text[:17]) for path, answer in found.items()} == dict.fromkeys(
        found, (404, "Back to the shop.")
    )


def test_an_error_page_does_not_look_for_what_waits(desk: Shop) -> None:
    pages = {}
    for path in ("", "/held/x"):
        with statements(desk) as asked:
            answer = desk.browser.open(ROOT + path, method="POST" if path else "GET", headers=SAME_SITE)
        pages[answer.status_code] = len(asked)
    assert pages[403] * 5 < pages[200]


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


@pytest.mark.parametrize("said", ["o-1", "chk-1", " o-1 "])
def test_a_search_leads_to_the_order(desk: Shop, said: str) -> None:
    desk.starts("o-1")
    answer = opens(desk, search=said)
    assert (answer.status_code, answer.location.partition("&")[0]) == (303, f"{ROOT}/order?order_id=o-1")
    assert opens(desk, search="o-2").status_code == 404


def test_the_story_of_an_order_is_that_of_the_command(desk: Shop) -> None:
    checkout_id = desk.has_paid()
    with desk.app.app_context():
        story = desk.paycheckout.explain("o-1")
    page = html.unescape(opens(desk, "/order?order_id=o-1").text)
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


def test_what_failed_in_a_receiver_is_named_without_its_words(desk: Shop) -> None:
    def ship(app: object, **told: Any) -> None:
        raise RuntimeError("no parcel for +1 555 0199")

    with order_paid.connected_to(ship, sender=desk.app):
        desk.has_paid()
    page = opens(desk, "/order?order_id=o-1").text
    assert "a receiver raised RuntimeError" in page
    assert "555 0199" not in page + opens(desk).text


# Orders that need a person


def test_an_order_tells_its_money_and_its_refunds(desk: Shop) -> None:
    checkout_id = desk.has_paid()
    with desk.app.app_context():
        for amount, to in (("2", ByHand()), ("1.50", None), ("3", None)):
            made = desk.paycheckout.refund(checkout_id, amount, by="Ada", why="one broke", to=to)
        desk.db.session.commit()
        desk.paycheckout.cancel_payout(made.reference, by="Ada", why="found whole")
    page = text_of(opens(desk, "/order?order_id=o-1"))
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
    shown = "12,50 $ arrived" if babel else "12.50 USD arrived"
    assert text_of(page).count(shown) == 2, "in its story, and beside the attempt"
    assert "\\xa0" not in page.text


def test_a_part_of_which_nothing_has_to_be_decided_shows_its_form_folded_away(desk: Shop) -> None:
    desk.totals["o-1"] = Pay("100", "USD", now="30")
    desk.settles(desk.starts(), "completed", inputAmount=number("30"))
    page = opens(desk, "/order?order_id=o-1").text
    assert re.search(r"<details>\s*<summary>The rest is not expected any more</summary>\s*<form", page)


def test_orders_of_some_days_are_listed_with_what_arrived_and_the_sums_of_the_books(desk: Shop) -> None:
    desk.has_held("o-1")
    desk.clock.advance(days=2)
    desk.has_paid("o-2")
    day = str(desk.clock().date())
    page = opens(desk, **{"from": day, "to": day})
    assert listed(page) == ["o-2"]
    assert "USD 12.50 0 0 0 0 12.50 12.13" in text_of(page)
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


# The decision


@pytest.mark.parametrize(("decision", "becomes"), [("accept", "paid"), ("reject", "rejected")])
def test_a_held_payment_is_decided_with_who_and_why(desk: Shop, decision: str, becomes: str) -> None:
    checkout_id = desk.has_held()
    answer = decides(desk, form_token(desk), decision=decision, by="Mallory")
    assert (answer.status_code, answer.location.partition("&")[0]) == (303, f"{ROOT}/order?order_id=o-1")
    assert desk.attempt(checkout_id).status == becomes
    page = html.unescape(desk.browser.get(answer.location).text)
    assert "Mallory" not in page
    assert f"Ada {'accepted' if becomes == 'paid' else 'rejected'} the held payment: seen on the statement" in page
    assert "/held/" not in page


def test_a_held_payment_is_accepted_as_a_part_or_without_its_excess(desk: Shop) -> None:
    part = desk.has_held()
    page = text_of(opens(desk, "/order?order_id=o-1"))
    assert "Accept it as a part: $11.50 of the order are left to pay" in page
    assert "that came too much" not in page
    decides(desk, form_token(desk), decision="part")
    assert desk.attempt(part).status == "part"
    page = text_of(opens(desk, "/order?order_id=o-1"))
    assert "Paid $1.00 Left $11.50" in page
    assert "Ada accepted the held payment as a part: seen on the statement" in page
    more = desk.settles(desk.starts(), "completed", inputAmount=number("12.00")).checkout_id
    page = text_of(opens(desk, "/order?order_id=o-1"))
    assert "give back the $0.50 that came too much" in page
    assert "the order is paid with what arrived" not in page
    assert decides(desk, form_token(desk), decision="accept").status_code == 409
    decides(desk, form_token(desk), decision="excess")
    assert (desk.attempt(more).status, len(desk.runtime.payouts.of_checkout(more))) == ("paid", 1)
    log = text_of(opens(desk, "/deeds"))
    assert "Ada accepted a payment of $12.00, order o-1 : seen on the statement" in log
    assert "Ada accepted as a part a payment of $1.00, order o-1" in log


def test_money_that_paid_no_order_is_listed_until_somebody_says_what_became_of_it(desk: Shop) -> None:
    assert "No money waits" in opens(desk, "/paybacks").text
    checkout_id = desk.has_held()
    assert "to be paid back" not in opens(desk, "/order?order_id=o-1").text
    desk.resolves(checkout_id, accept=False)
    assert "Give back or keep" in opens(desk).text
    page = " ".join(html.unescape(opens(desk, "/paybacks").text).split())
    assert listed(opens(desk, "/paybacks")) == ["o-1"]
    assert "1 payment paid no order" in page
    assert "Together: $1.00." in page
    token = form_token(desk, "paybacks")
    assert decides(desk, token, "paybacks", why=" ").status_code == 400
    assert desk.attempt(checkout_id).payback is None
    answer = decides(desk, token, "paybacks", why="a voucher")
    assert (answer.status_code, answer.location.partition("&")[0]) == (303, f"{ROOT}/order?order_id=o-1")
    assert "Ada says that the money is kept: a voucher" in html.unescape(desk.browser.get(answer.location).text)
    assert "Give back or keep" not in opens(desk).text
    assert decides(desk, token, "paybacks").status_code == 409
    log = text_of(opens(desk, "/deeds"))
    assert "Ada kept a payment of $1.00, order o-1 : a voucher" in log
    assert "Ada refused a payment of $1.00, order o-1 (by the shop's program)" in log


def test_a_decision_that_an_atomic_receiver_refuses_is_not_recorded_and_says_so(desk: Shop) -> None:
    def close(app: object, **facts: object) -> None:
        raise RuntimeError("the order is gone")

    checkout_id = desk.has_held()
    with order_paid.connected_to(desk.paycheckout.atomic(close), sender=desk.app):
        answer = decides(desk, form_token(desk))
    assert (answer.status_code, desk.attempt(checkout_id).status) == (503, "held")
    assert "Nothing was recorded, because receiver" in answer.text
    assert "the order is gone" in answer.text


def test_another_sites_form_decides_nothing(desk: Shop) -> None:
    checkout_id = desk.has_held()
    token = signed(desk, "resolve", checkout_id)
    forms = [rule for rule in desk.app.url_map.iter_rules() if "POST" in (rule.methods or ()) and ROOT in rule.rule]
    assert {"resolve", "refund"} < {rule.endpoint.partition(".")[2] for rule in forms}
    for rule in forms:
        path, given = rule.rule.replace("<token>", token), {"decision": "accept", "why": "mine"}
        answer = desk.browser.post(path, data=given, headers={"Sec-Fetch-Site": "cross-site"})
        assert (answer.status_code, "owner&#39;s own page" in answer.text) == (403, True), rule
    assert desk.attempt(checkout_id).status == "held"


def test_a_form_is_good_for_the_person_it_was_made_for_only(desk: Shop) -> None:
    checkout_id = desk.has_held()
    of_nobody = desk.runtime.signed_links.sign("paycheckout_owner.resolve", checkout_id)
    others = (of_nobody, signed(desk, "resolve", checkout_id, "Bob"), signed(desk, "keep", checkout_id))
    assert [decides(desk, token).status_code for token in others] == [403] * 3
    assert desk.attempt(checkout_id).status == "held"


def test_whoever_comes_second_sees_who_decided(desk: Shop) -> None:
    checkout_id = desk.has_held()
    token = form_token(desk)
    desk.resolves(checkout_id, accept=False, by="Bob")
    answer = decides(desk, token)
    assert answer.status_code == 409
    assert "decided already" in answer.text
    assert "Bob rejected" in answer.text
    assert desk.attempt(checkout_id).status == "rejected"


def test_beside_flask_wtf_the_decision_needs_no_other_token(desk: Shop) -> None:
    CSRFProtect(desk.app)
    checkout_id = desk.has_held()
    assert decides(desk, form_token(desk)).status_code == 303
    assert desk.attempt(checkout_id).status == "paid"


@pytest.mark.parametrize(
    "written", [{"total_amount": "12,5"}, {"history": "no JSON"}, {"status": "refunded"}, {"reason": "asleep"}], ids=str
)
def test_a_row_that_another_program_wrote_hides_no_order(desk: Shop, written: dict[str, Any]) -> None:
    desk.starts("o-1")
    desk.executes(update(desk.runtime.models.checkouts).values(written))
    desk.starts("o-2")
    assert listed(opens(desk)) == ["o-2", "o-1"]
    assert opens(desk, "/order?order_id=o-1").status_code == 200


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
