"""The page of events: calls, moves, webhooks and mails in one list, newest first, without gaps between its pages."""

from __future__ import annotations

import re

import pytest
from flask import Flask

from flask_paycheckout.sandbox.inspector import events
from tests.sandbox.actors import ENDPOINT, Merchant, Tester
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.disbursements.payers import Payer
from tests.sandbox.inspector.developer import Developer, text_of
from tests.sandbox.payments.customers import makes


def shown(page: str) -> list[str]:
    """The events of a page, each as its text."""
    return [text_of(one) for one in re.findall(r'<li class="(?:call|state|webhook|mail)">.*?</li>', page, re.DOTALL)]


def walk(developer: Developer, query: str = "") -> list[str]:
    """All events, by following the links to older ones."""
    found, link = [], f"/inspector/events{query}"
    while link:
        page = developer.opens(link)
        found += shown(page)
        following = re.findall(r'href="([^"]+)">Older events', page)
        link = following[0].replace("&amp;", "&") if following else ""
    return found


@pytest.fixture
def story(sandbox: Flask, merchant: Merchant, tester: Tester, payer: Payer) -> dict[str, str]:
    paid = merchant.makes_checkout()
    tester.advances(seconds=1)
    tester.pays(paid)
    tester.advances(seconds=1)
    payment = makes(merchant)
    tester.advances(minutes=11)
    Visitor(sandbox).begins()
    tester.advances(seconds=1)
    sent = payer.pays_one()
    payer.forces(sent)
    return {"paid": paid, "payment": payment, "sent": sent}


@pytest.mark.each_database
def test_everything_is_told_newest_first(story: dict[str, str], developer: Developer) -> None:
    told = walk(developer)
    marks = (
        *("Sent to recipient account", "Disburse requested", "Your one-time password", "Received by recipient account"),
        *("POST /v2/payment 201", f"POST {ENDPOINT} 200 {story['paid']}", "Payment received", "POST /v1/checkout 200"),
    )
    places = [next(place for place, event in enumerate(told) if mark in event) for mark in marks]
    assert places == sorted(places)
    times = [re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", event)[0] for event in told]
    assert times == sorted(times, reverse=True)


@pytest.mark.each_database
def test_pages_have_no_gap_and_repeat_nothing(
    story: dict[str, str], developer: Developer, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = walk(developer)
    for most, through in ((5, 10_000), (4, 2)):
        monkeypatch.setattr(events, "MAX_EVENTS", most)
        monkeypatch.setattr(events, "LOOKED_THROUGH", through)
        assert walk(developer) == whole
        # With a filter, each page looks through a stretch only.
        assert walk(developer, "?account=default") == [event for event in whole if "login" not in event]
    assert walk(developer, "?account=nobody") == []
    # What comes meanwhile moves nothing.
    monkeypatch.setattr(events, "MAX_EVENTS", 3)
    link = re.findall(r'href="([^"]+)">Older events', developer.opens("/inspector/events"))[0].replace("&amp;", "&")
    merchant.reads_deposit(story["paid"])
    assert shown(developer.opens(link)) == whole[3:6]


@pytest.mark.each_database
def test_one_thing_or_one_kind_is_told_alone(story: dict[str, str], developer: Developer, merchant: Merchant) -> None:
    about = walk(developer, f"?about={story['paid']}")
    assert len([event for event in about if event.startswith("Webhook")]) == 1
    assert [event.split()[0] for event in about] == ["Webhook", "Deposit", "Deposit", "Call"]
    assert walk(developer, f"?about={story['sent']}&kind=move")[0].startswith("Disbursement")
    everything = walk(developer)
    for kind, words in {"call": "Call", "webhook": "Webhook", "mail": "Mail"}.items():
        assert walk(developer, f"?kind={kind}") == [event for event in everything if event.startswith(words)]
    moves = [event for event in everything if event.split()[0] in {"Deposit", "Disbursement", "Payment"}]
    assert walk(developer, "?kind=move") == moves
    assert walk(developer, "?about=nothing") == []


@pytest.mark.each_database
@pytest.mark.parametrize("place", ["0-0-0-0-0-0", "1-2", "x", "-1-1-1-1-1-1", "9" * 400, "-".join(["9999999999"] * 6)])
def test_any_place_is_answered(story: dict[str, str], developer: Developer, place: str) -> None:
    seen = shown(developer.opens(f"/inspector/events?before={place}&kind=%00&about=%00"))
    assert bool(seen) is not place.startswith("0-0")
