"""Reconcile compares closed months, with some reads in each round; a difference is an alarm until it is resolved."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest
from werkzeug.test import TestResponse

from flask_paycheckout.books.audit import rechecks
from tests.accounts.conftest import Sellers, SigningService, service as service
from tests.alarming import alarms_of, examples
from tests.books.test_alarms import orders
from tests.conftest import OpenShop
from tests.payouts.books import Books, Pages
from tests.payouts.shop import pays_out, sends
from tests.scripted import SAME_SITE, Shop, number, refusal
from tests.views.owner import opens, opens_view, text_of

FEBRUARY = datetime(2026, 2, 1, 13, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pauses end at once."""
    monkeypatch.setattr(rechecks, "_CALM", 0.0)


@pytest.fixture
def shop(open_shop: OpenShop, service: SigningService) -> Shop:
    """A shop with sales in January."""
    shop = opens_view(open_shop(PAYCHECKOUT_AUDIT_MONTHS=True, PAYCHECKOUT_ACCESS_TOKEN="token-of-the-platform"))
    for order_id in orders(shop, 3):
        shop.has_paid(order_id)
    return shop


def closes(shop: Shop, rounds: int = 4) -> None:
    """Run reconcile after the end of January in every time zone."""
    shop.clock.now = FEBRUARY
    runs_on(shop, rounds)


def runs_on(shop: Shop, rounds: int = 4) -> None:
    for _ in range(rounds):
        shop.reconciles(minutes=2)


def january(shop: Shop) -> str:
    return text_of(opens(shop, "/books", month="2026-01"))


def presses(shop: Shop, form: str, **typed: str) -> TestResponse:
    """Send the form of the page Books whose address ends with `form`."""
    match = re.search(rf'action="([^"]*/books/{form}/[^"]+)"', opens(shop, "/books", month="2026-01").text)
    assert match is not None
    return shop.browser.post(match[1], data=typed, headers=SAME_SITE)


def test_a_month_that_agrees_is_compared_once_after_it_has_ended_everywhere(shop: Shop) -> None:
    shop.clock.now = datetime(2026, 2, 1, 11, 30, tzinfo=UTC)
    runs_on(shop)
    assert shop.runtime.month_audits.result("2026-01") is None, "in the last time zone January has not ended"
    closes(shop)
    assert "All 3 agree" in january(shop)
    assert "differing-months:2026-01" not in alarms_of(shop)
    shop.service.reads.clear()
    runs_on(shop)
    assert shop.service.reads == []


@pytest.mark.on_each_database
def test_a_round_makes_a_bounded_number_of_reads_and_another_process_goes_on(shop: Shop, open_shop: OpenShop) -> None:
    for order_id in orders(shop, 120):
        shop.has_paid(order_id)
    other, shop.clock.now = open_shop(PAYCHECKOUT_AUDIT_MONTHS=True), FEBRUARY
    reads = []
    for turn in range(12):
        shop.service.reads.clear()
        runs_on((shop, other)[turn % 2], 1)
        reads.append(len(shop.service.reads))
    assert (max(reads) <= 80, sum(reads)) == (True, 123)
    assert "All 123 agree" in january(shop)


@pytest.mark.on_each_database
def test_a_difference_is_an_alarm_until_the_month_is_compared_without_it(shop: Shop) -> None:
    checkout_id = shop.attempts("n-2")[0].checkout_id
    shop.service.says(checkout_id, "completed", outputAmount=number("12.14"))
    closes(shop)
    assert "1 of 3 do not agree, or could not be read" in january(shop)
    assert "received_amount: here 12.13, there 12.14" in january(shop)
    assert examples(shop, "differing-months:2026-01") == [f"differs: deposit {checkout_id} of order n-2"]
    since = alarms_of(shop)["differing-months:2026-01"].since
    assert shop.runs("report").exit_code == 1
    assert presses(shop, "compare").status_code == 303
    assert "It is being compared again." in january(shop)
    runs_on(shop)
    assert alarms_of(shop)["differing-months:2026-01"].since == since
    shop.service.says(checkout_id, "completed")
    assert "differing-months:2026-01" in alarms_of(shop), "not before it is compared"
    presses(shop, "compare")
    runs_on(shop)
    assert "All 3 agree" in january(shop)
    assert "differing-months:2026-01" not in alarms_of(shop)


def test_a_person_settles_differences_that_stay_and_another_one_is_told(shop: Shop) -> None:
    first, second = (shop.attempts(order_id)[0].checkout_id for order_id in ("n-2", "n-3"))
    shop.service.says(first, "completed", outputAmount=number("12.14"))
    closes(shop)
    assert presses(shop, "settle", why="").status_code == 400
    assert presses(shop, "settle", why="booked by hand").status_code == 303
    assert "differing-months:2026-01" not in alarms_of(shop)
    assert "(settled)" in january(shop)
    deeds = [each for each in shop.tells("deeds") if each["deed"] == "settled"]
    assert [(each["by"], each["subject"], each["why"]) for each in deeds] == [("Ada", "2026-01", "booked by hand")]
    shop.service.says(second, "completed", outputAmount=number("12.14"))
    presses(shop, "compare")
    runs_on(shop)
    assert examples(shop, "differing-months:2026-01") == [f"differs: deposit {second} of order n-3"]


def test_the_command_compares_a_month_again_and_ends_its_alarm(shop: Shop) -> None:
    checkout_id = shop.attempts("n-2")[0].checkout_id
    shop.service.says(checkout_id, "completed", outputAmount=number("12.14"))
    closes(shop)
    assert examples(shop, "differing-months:2026-01") == [f"differs: deposit {checkout_id} of order n-2"]
    (command,) = re.findall(
        "flask paycheckout (audit .*)", "\n".join(alarms_of(shop)["differing-months:2026-01"].remedies)
    )
    assert shop.runs(*command.split()).exit_code == 1
    shop.service.says(checkout_id, "completed")
    ran = shop.runs(*command.split())
    assert (ran.exit_code, ran.stdout) == (0, "compared 3: agreed 3, differing 0\n")
    assert "differing-months:2026-01" not in alarms_of(shop)
    assert shop.runs("audit", "--month", "2026-02").exit_code == 2, "it is not over"


def test_the_services_present_answer_is_applied_before_it_is_called_a_difference(shop: Shop) -> None:
    """A deposit is completed when it is no longer read."""
    missed = shop.abandons(shop.starts("o-1")).checkout_id
    shop.changes(missed, next_read_at=None)
    shop.service.says(missed, "completed")
    closes(shop)
    assert shop.attempt(missed).status == "paid"
    assert "All 4 agree" in january(shop)


def test_an_outage_is_waited_for_and_one_that_lasts_is_a_finding(shop: Shop, service: SigningService) -> None:
    service.down = refusal(503, "closed")
    closes(shop)
    assert shop.runtime.month_audits.result("2026-01") is None
    service.down = None
    runs_on(shop, 8)
    assert "All 3 agree" in january(shop)
    presses(shop, "compare")
    service.down = refusal(503, "closed")
    runs_on(shop)
    shop.waits(days=2)
    runs_on(shop, 8)
    assert "4 of 4 do not agree, or could not be read" in january(shop), "one of them is the list of disbursements"


def test_a_payout_is_compared_and_one_past_the_shop_is_named_without_its_payee(
    shop: Shop, service: SigningService
) -> None:
    books = service.books["shop-1"] = Books(Pages(), clock=lambda: shop.clock.now)
    pays_out(shop)
    sends(shop)
    item = {"amount": 1, "recipientId": "rec_9", "reference": "x-1"}
    sent = json.dumps({"currency": "USD", "disburseData": [item]}).encode()
    books.answers("POST", "/v2/disbursement/fiat", sent)
    sends(shop, minutes=10)
    closes(shop)
    assert examples(shop, "differing-months:2026-01") == [
        f"missing here: disbursement {books.paid[-1].id} with the reference x-1"
    ]
    assert "rec_9" not in january(shop)
    assert "1 of 5" in january(shop)


def test_accounts_that_are_gone_are_told_for_their_own_months_only_and_each_by_itself(
    open_shop: OpenShop, service: SigningService
) -> None:
    market = Sellers(opens_view(open_shop(PAYCHECKOUT_AUDIT_MONTHS=True)))
    for name in ("", "ada", "bo"):
        market.add(name, f"o-{name}")
        market.shop.has_paid(f"o-{name}")
    market.client_ids |= {"ada": None, "bo": None}
    closes(market.shop)
    assert "4 of 5 do not agree, or could not be read" in january(market.shop), "the lists and payments of both"
    market.shop.clock.now = datetime(2026, 3, 1, 13, 0, tzinfo=UTC)
    runs_on(market.shop)
    assert {key for key in alarms_of(market.shop) if key.startswith("differing")} == {"differing-months:2026-01"}
    assert market.shop.runtime.month_audits.result("2026-02") is not None


def test_months_are_compared_only_when_asked_where_the_shop_says_so(
    open_shop: OpenShop, service: SigningService
) -> None:
    shop = opens_view(open_shop(PAYCHECKOUT_AUDIT_MONTHS=False))
    shop.has_paid()
    closes(shop)
    assert "Compared with the payments service Not compared" in january(shop)
    presses(shop, "compare")
    runs_on(shop)
    assert "All 1 agree" in january(shop)
