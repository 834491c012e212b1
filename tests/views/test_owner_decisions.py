"""Decisions on held payments and on money that paid no order, on the owner's pages: once, with person and reason."""

from __future__ import annotations

import html
import re

import pytest
from flask_wtf.csrf import CSRFProtect
from werkzeug.test import TestResponse

from flask_paycheckout import order_paid
from tests.scripted import SAME_SITE, Shop, number
from tests.views.owner import ROOT, listed, opens, order_page, refund_page, sends, signed, text_of


def form_token(shop: Shop, form: str = "held") -> str:
    """The token in a form of the order's page."""
    match = re.search(rf'action="[^"]*/{form}/([^"]+)"', order_page(shop).text)
    assert match is not None
    return match[1]


def decides(shop: Shop, token: str, form: str = "held", **typed: str) -> TestResponse:
    fields = {"decision": "accept", "became": "done", "why": "seen on the statement"} | typed
    return shop.browser.post(f"{ROOT}/{form}/{token}", data=fields, headers=SAME_SITE)


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
    page = text_of(order_page(desk))
    assert "Accept it as a part: $11.50 of the order are left to pay" in page
    assert "that came too much" not in page
    decides(desk, form_token(desk), decision="part")
    assert desk.attempt(part).status == "part"
    page = text_of(order_page(desk))
    assert "Paid $1.00 Left $11.50" in page
    assert "Ada accepted the held payment as a part: seen on the statement" in page
    more = desk.settles(desk.starts(), "completed", inputAmount=number("12.00")).checkout_id
    page = text_of(order_page(desk))
    assert "give back the $0.50 that came too much" in page
    assert "the order is paid with what arrived" not in page
    assert decides(desk, form_token(desk), decision="accept").status_code == 409
    decides(desk, form_token(desk), decision="excess")
    assert (desk.attempt(more).status, len(desk.runtime.payouts.of_checkout(more))) == ("paid", 1)
    log = text_of(opens(desk, "/deeds"))
    assert "Ada accepted a payment of $12.00, order o-1 : seen on the statement" in log
    assert "Ada accepted as a part a payment of $1.00, order o-1" in log


@pytest.mark.parametrize("form", ["decide", "deal with", "refund"])
def test_a_decision_about_another_amount_than_the_page_showed_is_not_recorded(desk: Shop, form: str) -> None:
    checkout_id = desk.has_rejected() if form == "deal with" else desk.has_held()
    if form == "deal with":
        desk.service.says(checkout_id, "failed")
        desk.waits(minutes=1)
        desk.hears_of(checkout_id)
    page = refund_page(desk, checkout_id) if form == "refund" else order_page(desk)
    desk.service.says(checkout_id, "completed", inputAmount=number("20.00"))
    desk.waits(minutes=1)
    desk.hears_of(checkout_id)
    before = desk.attempt(checkout_id)
    answer = sends(desk, page, decision="excess", why="seen on the statement")
    assert answer.status_code == 409
    assert "reports another amount now" in text_of(answer)
    after = desk.attempt(checkout_id)
    assert (after.status, after.payback) == (before.status, None)
    assert sends(desk, answer, decision="excess", why="seen on the statement").status_code == 303


def test_money_that_paid_no_order_is_listed_until_somebody_says_what_became_of_it(desk: Shop) -> None:
    assert "No money waits" in opens(desk, "/paybacks").text
    checkout_id = desk.has_held()
    assert "to be paid back" not in order_page(desk).text
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
    assert "Ada rejected a payment of $1.00, order o-1 (by the shop's program)" in log


def test_a_decision_that_an_atomic_receiver_refuses_is_not_recorded_and_says_so(desk: Shop) -> None:
    checkout_id = desk.has_held()
    with desk.refusing(order_paid, RuntimeError("the order is gone")):
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
        path, fields = rule.rule.replace("<token>", token), {"decision": "accept", "why": "mine"}
        answer = desk.browser.post(path, data=fields, headers={"Sec-Fetch-Site": "cross-site"})
        assert (answer.status_code, "owner&#39;s own page" in answer.text) == (403, True), rule
    assert desk.attempt(checkout_id).status == "held"


def test_a_form_is_good_for_the_person_it_was_made_for_only(desk: Shop) -> None:
    checkout_id = desk.has_held()
    of_nobody = desk.runtime.signed_links.sign("paycheckout_owner.resolve", checkout_id)
    others = (of_nobody, signed(desk, "resolve", checkout_id, "Bob"), signed(desk, "keep", checkout_id))
    assert [decides(desk, token).status_code for token in others] == [403] * 3
    assert desk.attempt(checkout_id).status == "held"


def test_the_second_person_sees_who_decided(desk: Shop) -> None:
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
