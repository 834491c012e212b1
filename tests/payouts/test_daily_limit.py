"""The daily limit: the database enforces it for any number of senders; the next day, or a person, releases the rest."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flask_paycheckout import Account
from flask_paycheckout.config.accounts import SETTINGS
from tests.alarming import alarms_of
from tests.conftest import OpenPayer, OpenShop
from tests.payouts.books import Books
from tests.payouts.claiming import Customer
from tests.payouts.conftest import CONFIG
from tests.payouts.paying import FIAT, WALLET, Payer
from tests.payouts.shop import TOKEN, decides, pays_out, refunds, sends as sends_payouts, stands, statuses
from tests.payouts.test_paid_after_all import fails, pays_after_all
from tests.scripted import SAME_SITE, refusal
from tests.views.owner import opens_view, payout_page, sends

LIMIT = {"USD": "200.00"}


@pytest.fixture
def limited(open_payer: OpenPayer) -> Payer:
    """A shop that sends 200 dollars a day."""
    return open_payer(PAYCHECKOUT_DAILY_LIMIT=LIMIT)


def sent(payer: Payer) -> Decimal:
    return sum((payout.amount for payout in payer.at_service), Decimal(0))


def test_a_payout_that_would_exceed_the_limit_waits_for_the_next_day(limited: Payer) -> None:
    for number in range(5):
        limited.owes(f"p-{number}", "100.00")
    limited.owes("token", "900", to=WALLET)
    limited.sends()
    assert (limited.status("token"), limited.statuses["waiting"]) == ("sent", 3)
    limited.sends()
    assert limited.statuses["waiting"] == 3
    limited.sends(minutes=24 * 60)
    assert limited.statuses["waiting"] == 1
    assert limited.payout("p-2").problem is None


def test_a_payout_above_the_limit_of_any_day_is_one_trouble(limited: Payer) -> None:
    limited.owes("p-1", "300.00")
    since = set()
    for _ in range(3):
        limited.sends(minutes=24 * 60)
        since.add(alarms_of(limited.shop)["payouts-to-approve"].since)
    assert len(since) == 1
    report = str(limited.shop.runs("report").output)
    assert ("next day" in report, "approve it beyond the limit, or cancel it" in report) == (False, True)
    assert "payouts approve p-1 --seen 0 --by YOU --over-limit" in report


def test_a_person_lets_one_through_and_it_counts(limited: Payer) -> None:
    limited.owes("p-1", "150.00")
    limited.owes("p-2", "100.00")
    limited.owes("p-3", "50.00", approve=True)
    limited.sends()
    opens_view(limited.shop, lambda: "Bo")
    page = payout_page(limited.shop, "p-2")
    assert 'value="approve"' not in page.text
    assert sends(limited.shop, page, SAME_SITE, decision="over_limit", why="rent").status_code == 303
    limited.decides("approve_payout", reference="p-3")
    limited.sends()
    assert [limited.status(each) for each in ("p-1", "p-2", "p-3")] == ["sent", "sent", "waiting"]
    assert decides(limited.shop, "approve", "p-3", over_limit=True)
    limited.sends()
    assert limited.status("p-3") == "sent"
    assert sent(limited) == 300


def test_retries_of_one_day_count_once(limited: Payer) -> None:
    limited.owes("p-1", "150.00")
    for _ in range(2):
        limited.sends()
        limited.ends("p-1", "failed")
        limited.decides("retry_payout", reference="p-1")
    limited.sends()
    assert limited.status("p-1") == "sent"
    limited.owes("p-2", "50.00")
    limited.owes("p-3", "1.00")
    limited.sends()
    assert (limited.status("p-2"), limited.status("p-3")) == ("sent", "waiting")


def test_a_payout_that_is_paid_after_all_counts_again_until_it_fails_again(limited: Payer) -> None:
    limited.owes("p-1", "150.00")
    fails(limited, "p-1")
    pays_after_all(limited, "p-1", "pending")
    limited.sends(minutes=5)
    limited.owes("p-2", "100.00")
    limited.sends()
    assert (limited.status("p-1"), limited.status("p-2")) == ("sent", "waiting")
    limited.ends("p-1", "failed")
    for name in ("p-3", "p-4", "p-5"):
        limited.owes(name, "100.00")
    limited.sends()
    assert [limited.status(each) for each in ("p-3", "p-4", "p-5")] == ["sent", "sent", "waiting"]


@pytest.mark.parametrize(("may_have_left", "second"), [(False, "sent"), (True, "waiting")])
def test_a_cancelled_payout_counts_if_it_may_have_left_before(limited: Payer, may_have_left: bool, second: str) -> None:
    limited.owes("p-1", "200.00")
    limited.sandbox.fault(FIAT, "error", statusCode=401)
    limited.sends()
    if may_have_left:
        limited.stands("p-1", status="unknown")
        limited.decides("resolve_payout", False, reference="p-1")
    limited.decides("cancel_payout", reference="p-1")
    limited.owes("p-2", "200.00")
    limited.sends()
    assert limited.statuses == {"cancelled": 1, second: 1}


def test_a_payout_counts_for_each_account_that_may_pay_it(open_shop: OpenShop, books: Books) -> None:
    shop = open_shop("sellers", **CONFIG, PAYCHECKOUT_DAILY_LIMIT={"USD": "100"})
    keys: dict[str, Any] = {"access_token": SETTINGS}
    shop.paycheckout.account(lambda name: Account("client", "secret", **keys))
    pays_out(shop, "p-1", "100", account="seller")
    books.instead = [refusal(401)]
    sends_payouts(shop)
    keys["access_token"] = "secret-token"
    stands(shop, "p-1", due_at=shop.clock())
    pays_out(shop, "p-2", "100", account="seller")
    for _ in range(3):
        sends_payouts(shop, minutes=1)
    assert (statuses(shop), len(books.paid)) == ({"sent": 1, "waiting": 1}, 1)


def test_the_claim_page_changes_nothing_of_what_was_approved_and_waits_for_the_day(limited: Payer) -> None:
    pays_out(limited.shop, "prize", "500.00", to=None)
    receiver = Customer(limited.shop, "prize")
    bank = {"bank_name": "First Sandbox Bank", "account_number": "4000123412"}
    assert receiver.sends(**bank).status_code == 303
    limited.decides("approve_payout", reference="prize")
    limited.sends()
    assert limited.payout("prize").state == "postponed"
    assert receiver.sends(**bank).status_code == 409
    assert limited.payout("prize").revision == 1


def test_of_a_refund_in_another_currency_what_is_sent_counts(open_payer: OpenPayer) -> None:
    payer = open_payer(PAYCHECKOUT_DAILY_LIMIT={"USD": "1.00", "usdc-polygon": "5"})
    checkout_id = payer.is_paid()
    first, second = (refunds(payer.shop, checkout_id, "2.00", to=WALLET, send=(3, TOKEN)).reference for _ in range(2))
    payer.sends()
    assert (payer.status(first), payer.status(second), sent(payer)) == ("sent", "waiting", Decimal(3))
