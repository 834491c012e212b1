"""The shop's own function is called once for each new alarm, and once at its end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from flask_paycheckout import Alarm
from tests.alarming import alarms_of, examples
from tests.conftest import OpenShop
from tests.payouts.shop import refunds
from tests.races.crowds import crowd
from tests.scripted import Shop
from tests.views.owner import ROOT, opens, opens_view, text_of

Told = list[tuple[list[str], list[str]]]


def tells(shop: Shop, fails: Callable[[], bool] = lambda: False) -> Told:
    """Register a function; returns the alarms' keys of its calls, one pair for each call."""
    calls: Told = []

    @shop.paycheckout.tell_owner
    def tell(began: list[Alarm], over: list[Alarm]) -> None:
        calls.append(([alarm.key for alarm in began], [alarm.key for alarm in over]))
        if fails():
            raise OSError("no mail today")

    return calls


@pytest.mark.on_each_database
def test_an_alarm_is_told_once_when_it_begins_and_once_when_it_is_over(shop: Shop) -> None:
    held_id = shop.has_held()
    calls = tells(shop)
    assert calls == [], "only reconcile tells"
    for _ in range(3):
        shop.reconciles()
    assert calls == [(["held-payments"], [])], "one that stood before, too"
    shop.has_held("o-2")
    shop.reconciles()
    assert len(calls) == 1, "the same trouble"
    for order_id in ("o-1", "o-2"):
        shop.resolves(shop.attempts(order_id)[0].checkout_id, accept=True)
    # The clock was wrong before.
    shop.reconciles(hours=-3)
    shop.reconciles()
    assert calls[1:] == [([], ["held-payments"])]
    assert shop.attempt(held_id).status == "paid"


def test_an_alarm_that_is_sent_names_the_trouble_its_remedy_and_the_owners_page(shop: Shop) -> None:
    opens_view(shop)
    got: list[Alarm] = []
    shop.paycheckout.tell_owner(lambda began, over: got.extend([*began, *over]))
    shop.has_held()
    shop.reconciles()
    shop.resolves(shop.attempts()[0].checkout_id, accept=True)
    shop.reconciles()
    stood, over = got
    assert (stood.key, stood.severity, stood.kind, stood.account) == ("held-payments", "today", "held-payments", "")
    assert (stood.count, stood.what) == (1, "1 held payment waits for your decision")
    assert stood.remedy == "Look into one, and decide as it says: flask paycheckout show ORDER_ID"
    assert stood.url == f"http://localhost{ROOT}/orders?status=held"
    assert (over.key, over.what, over.since, over.url) == (stood.key, stood.what, stood.since, stood.url)


def test_the_first_page_says_whether_and_when_somebody_was_told(shop: Shop) -> None:
    opens_view(shop)
    assert "only shown here" in text_of(opens(shop))
    fails = [True]
    tells(shop, lambda: fails[0])
    shop.has_held()
    shop.reconciles()
    assert "there was none yet" in text_of(opens(shop)), "it raised"
    fails.clear()
    fails.append(False)
    shop.reconciles()
    shop.reconciles(minutes=7)
    assert "sent to you, the last time today, 12:00 ." in text_of(opens(shop))


def test_notes_are_daily_work_and_not_told(shop: Shop) -> None:
    calls = tells(shop)
    shop.changes(checkout_id := shop.has_paid(), webhooks=1)
    refunds(shop, checkout_id, "1.00")
    shop.reconciles()
    assert (calls, alarms_of(shop)["unclaimed-refunds"].severity) == ([], "note")
    shop.reconciles(days=8)
    assert calls == [(["unclaimed-refunds"], [])]


def test_a_function_that_raises_is_called_again_and_report_says_so(shop: Shop) -> None:
    away = [True]
    calls = tells(shop, lambda: bool(away))
    shop.has_held()
    shop.reconciles()
    shop.reconciles(minutes=1)
    assert calls == [(["held-payments"], [])] * 2
    assert examples(shop, "owner-not-told") == ["tell_owner raised OSError; the log of reconcile has the rest"]
    assert alarms_of(shop)["owner-not-told"].since == shop.clock.now - timedelta(minutes=1)
    away.clear()
    shop.reconciles()
    assert calls == [(["held-payments"], [])] * 3, "that it failed is told by nobody"
    assert "owner-not-told" not in alarms_of(shop)


def test_a_function_that_ends_its_process_ends_no_round(shop: Shop) -> None:
    shop.paycheckout.tell_owner(lambda began, over: sys.exit("no mail today"))
    shop.has_held()
    shop.reconciles()
    assert examples(shop, "owner-not-told") == ["tell_owner raised SystemExit; the log of reconcile has the rest"]


def test_an_alarm_that_ended_before_it_could_be_told_leaves_no_trouble(shop: Shop) -> None:
    away = [True]
    calls = tells(shop, lambda: bool(away))
    checkout_id = shop.has_held()
    shop.reconciles()
    shop.resolves(checkout_id, accept=True)
    shop.reconciles()
    assert (len(calls), "owner-not-told" in alarms_of(shop)) == (1, False)


@pytest.mark.on_each_database
def test_of_many_processes_one_tells(open_shop: OpenShop) -> None:
    shops = [open_shop() for _ in range(4)]
    calls = [tells(shop) for shop in shops]
    shops[0].has_held()

    def tell(shop: Shop) -> None:
        with shop.app.app_context():
            shop.runtime.owner_telling.send()

    with crowd(4) as processes:
        processes.does([partial(tell, shop) for shop in shops])
    assert sum(map(len, calls)) == 1


@pytest.mark.on_each_database
def test_the_turn_of_a_process_that_died_ends(shop: Shop) -> None:
    calls = tells(shop)
    shop.has_held()
    assert shop.runtime.owner_telling._take_turn() is not None
    shop.reconciles()
    assert calls == []
    shop.reconciles(minutes=6)
    assert len(calls) == 1


@pytest.mark.on_each_database
def test_the_function_has_a_session_of_its_own(shop: Shop) -> None:
    """The function must commit its own changes, which are no part of a round's transaction."""
    sessions: list[Any] = []

    async def tell(began: list[Alarm], over: list[Alarm]) -> None:
        sessions.append(shop.paycheckout.session)

    shop.paycheckout.tell_owner(tell)
    shop.has_held()
    with shop.app.app_context():
        shop.paycheckout.reconcile()
        assert sessions[0] is not shop.paycheckout.session
