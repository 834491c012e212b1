"""The owner's pages show and allow only a person's permitted actions."""

from __future__ import annotations

import re
from typing import Any

import pytest

from flask_paycheckout import ConfigurationError, Person
from tests.checkouts.test_requests import asks
from tests.payouts.shop import pays_out, refunds, stands
from tests.scripted import SAME_SITE, Shop
from tests.views.owner import ROOT, opens, opens_view, order_page, signed

#: A request to each endpoint, and the ability that it requires.
WANTED = {
    "GET ": "look",
    "GET /order?order_id=o-2": "look",
    "GET /payout?reference=maker-1": "look",
    "GET /books": "look",
    "GET /books/month?month=2026-01": "export",
    "GET /refund?checkout={checkout}": "refund",
    "POST /refunds/{refund}": "refund",
    "POST /held/{resolve}": "decide",
    "POST /paybacks/{keep}": "decide",
    "POST /payouts/{decide_payout}": "approve",
    "POST /stopped/{let_go}": "decide",
    "POST /erase/{erase}": "erase",
    "GET /requests": "look",
    "POST /requests/{make_request}": "decide",
    "POST /requests/{withdraw_request}/withdraw": "decide",
}
#: The ability that each address in a page requires.
SHOWN = {
    "/held/": "decide",
    "/refund": "refund",
    "/payouts/": "approve",
    "/month": "export",
    "/erase/": "erase",
    "/requests/": "decide",
}


def test_a_person_does_only_what_it_may(shop: Shop) -> None:
    person = [Person("Bo")]
    opens_view(shop, lambda: person[0])
    checkout_id = shop.has_held("o-2")
    pays_out(shop, approve=True)
    subjects = dict.fromkeys(("resolve", "keep", "refund", "let_go", "erase"), checkout_id)
    subjects |= dict.fromkeys(("make_request", "withdraw_request"), asks(shop).reference) | {"decide_payout": "maker-1"}
    tokens = {form: signed(shop, form, subject, "Bo") for form, subject in subjects.items()}
    for may in ("look", "decide", "refund", "approve", "pay", "export", "erase"):
        person[0] = Person("Bo", may=frozenset({may, "look"}))
        for request, ability in WANTED.items():
            # Only a person who may do nothing else opens the pages for viewing; all persons open the orders' pages.
            if ability != "look" or may == "look" or "/order" in request:
                method, _, path = request.partition(" ")
                url = ROOT + path.format(checkout=checkout_id, **tokens)
                answer = shop.browser.open(url, method=method, headers=SAME_SITE)
                assert (answer.status_code == 403) is (ability not in (may, "look")), (may, request)
                links = re.findall(r'(?:href|action)="/paycheckout/owner([^"?]*)', answer.text)
                for part, wants in SHOWN.items():
                    assert wants == may or not any(part in link for link in links), (request, part)


def test_a_person_who_may_not_look_sees_no_page_and_no_customer_link_without_refund(shop: Shop) -> None:
    person: list[Any] = [Person("Bo", may=frozenset({"refund"}))]
    opens_view(shop, lambda: person[0])
    checkout_id = shop.has_paid()
    assert opens(shop, f"/refund?checkout={checkout_id}").status_code == 403
    refund = refunds(shop, checkout_id, "5")
    stands(shop, refund.reference, problem="x")
    person[0] = Person("Bo", may=frozenset({"look", "approve"}))
    assert "refund-url" not in opens(shop, f"/payout?reference={refund.reference}").text
    person[0] = "Ada"
    assert "refund-url" in opens(shop, f"/payout?reference={refund.reference}").text


def test_a_person_who_may_not_refund_cannot_give_back_an_excess_by_deciding(shop: Shop) -> None:
    person = [Person("Bo")]
    opens_view(shop, lambda: person[0])
    checkout_id = shop.has_arrived("20.00")
    shop.settles(checkout_id)
    token = signed(shop, "resolve", checkout_id, "Bo")
    answers = []
    for may in ({"look", "decide"}, {"look", "decide", "refund"}):
        person[0] = Person("Bo", may=frozenset(may))
        is_shown = 'value="excess"' in order_page(shop).text
        answer = shop.browser.post(f"{ROOT}/held/{token}", data={"decision": "excess", "why": "x"}, headers=SAME_SITE)
        answers.append((is_shown, answer.status_code, shop.attempt(checkout_id).status))
    assert answers == [(False, 403, "held"), (True, 303, "paid")]


@pytest.mark.parametrize(
    ("name", "may"),
    [
        (" ", {"look"}),
        ("\u200b", {"look"}),
        ("B\udcf6", {"look"}),
        ("B\0o", {"look"}),
        ("Bo", {"lok"}),
        ("Bo", "look"),
        (None, {"look"}),
    ],
    ids=["blank", "drawn as nothing", "half of a character", "NUL", "unknown ability", "one text", "nobody"],
)
def test_a_person_that_means_nothing_is_refused(name: Any, may: Any) -> None:
    with pytest.raises(ConfigurationError, match="Person"):
        Person(name, may=may)
