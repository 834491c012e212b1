"""Approvals in a company: two persons for a payment, and payouts that their receivers claim."""

from __future__ import annotations

import getpass
import json
from datetime import timedelta
from typing import Any

import pytest

from flask_paycheckout import TransitionRefused
from tests.alarming import alarms_of
from tests.conftest import OpenShop
from tests.payouts.books import NO_ANSWER, Books
from tests.payouts.claiming import Customer
from tests.payouts.conftest import CONFIG
from tests.payouts.shop import (
    MAKER,
    TOKEN,
    WALLET,
    decides,
    payout,
    payouts,
    pays_out,
    refunds,
    sends as sends_payouts,
    stands,
)
from tests.scripted import Shop, number, refusal
from tests.views.owner import opens, opens_view, payout_page, sends


@pytest.fixture
def strict(open_shop: OpenShop) -> Shop:
    """A shop in which nobody approves their own payouts."""
    return open_shop(PAYCHECKOUT_APPROVE_BY_ANOTHER=True)


def test_the_requester_of_a_payout_cannot_approve_it_by_any_door(strict: Shop) -> None:
    pays_out(strict, approve=True, by=" Ada")
    assert payout(strict, "maker-1").asked_by == "Ada"
    for name in ("Ada", "aDA ", "\u200bADA\t"):
        with pytest.raises(TransitionRefused, match="another person"):
            strict.calls.approve_payout("maker-1", by=name)
    assert strict.runs("payouts", "approve", "maker-1", "--seen", "0", "--by", "ada").exit_code == 1
    opens_view(strict, lambda: "ADA")
    page = payout_page(strict)
    assert 'value="approve"' not in page.text
    assert sends(strict, page, decision="approve").status_code == 409
    assert payout(strict, "maker-1").status == "waiting"
    refund = refunds(strict, strict.has_paid(), "5", to=MAKER).reference
    stands(strict, refund, status="waiting")
    assert not decides(strict, "approve", refund)
    for reference in ("maker-1", refund):
        assert decides(strict, "approve", reference, by="Bo")


@pytest.fixture
def one_hand(open_shop: OpenShop, books: Books) -> Shop:
    """A shop in which another person approves, and which sends 100 of a currency in a day."""
    limit = {"USD": "100.00", TOKEN: "100"}
    return open_shop(**CONFIG, PAYCHECKOUT_APPROVE_BY_ANOTHER=True, PAYCHECKOUT_DAILY_LIMIT=limit)


@pytest.mark.parametrize("to", [MAKER, WALLET], ids=["bank", "token"])
def test_a_person_who_reports_a_returned_payout_cannot_approve_its_next_try(
    one_hand: Shop, books: Books, to: Any
) -> None:
    """The person who requested it cannot either; another person can, and the daily limit counts both tries."""
    books.unique = True
    pays_out(one_hand, amount="60", to=to, approve=True, by="Ada")
    assert decides(one_hand, "approve", "maker-1", by="Bo")
    sends_payouts(one_hand)
    assert decides(one_hand, "resolve", "maker-1", False, by="Bo")
    books.finish("failed")
    assert decides(one_hand, "retry", "maker-1", by="Bo")
    assert payout(one_hand).status == "waiting"
    for name in ("Ada", "bo"):
        assert not decides(one_hand, "approve", "maker-1", by=name)
    assert decides(one_hand, "approve", "maker-1", by="Cy")
    sends_payouts(one_hand)
    assert (payout(one_hand).state, len(books.paid)) == ("postponed", 1)
    assert decides(one_hand, "approve", "maker-1", by="Cy", over_limit=True)
    sends_payouts(one_hand)
    assert (payout(one_hand).status, len(books.paid)) == ("sent", 2)


@pytest.mark.parametrize("given_up", [False, True], ids=["replaced", "given up"])
def test_a_person_who_reports_a_returned_refund_cannot_approve_another_one_in_its_place(
    one_hand: Shop, given_up: bool
) -> None:
    opens_view(one_hand, lambda: "Bo")
    checkout_id = one_hand.has_paid()
    first = refunds(one_hand, checkout_id, by="Ada", to=MAKER)
    sends_payouts(one_hand)
    assert decides(one_hand, "resolve", first.reference, False, by="Bo")
    if given_up:
        assert decides(one_hand, "cancel", first.reference, by="Bo")
    second = refunds(one_hand, checkout_id, by="Cy")
    assert Customer(one_hand, second.reference).sends().status_code == 303
    assert not decides(one_hand, "approve", second.reference, by="bo")
    assert 'value="approve"' not in payout_page(one_hand, second.reference).text
    assert decides(one_hand, "approve", second.reference, by="Ada")


def test_a_token_payout_that_one_person_sends_again_is_told_until_it_is_compared_with_the_chain(
    open_shop: OpenShop, books: Books
) -> None:
    shop = open_shop(**CONFIG)
    pays_out(shop, amount="60", to=WALLET)
    sends_payouts(shop)
    assert "repeated-transfers" not in alarms_of(shop)
    decides(shop, "resolve", "maker-1", False, by="Bo")
    decides(shop, "retry", "maker-1", by="Bo")
    sends_payouts(shop)
    shop.waits(days=400)
    assert shop.runs("prune", "--older-than", "30").exit_code == 0
    alarm = alarms_of(shop)["repeated-transfers"]
    assert (alarm.severity, alarm.count, len(books.paid)) == ("today", 1, 2)
    assert decides(shop, "resolve", "maker-1", True, by="Bo")
    assert (payout(shop).status, "repeated-transfers" in alarms_of(shop)) == ("completed", False)


@pytest.mark.parametrize("given_up", [False, True], ids=["replaced", "given up"])
def test_a_refund_in_tokens_in_place_of_one_that_came_back_is_reported_until_it_is_compared_with_the_chain(
    open_shop: OpenShop, books: Books, given_up: bool
) -> None:
    shop = open_shop(**CONFIG)
    shop.costs("12.5", currency=TOKEN)
    checkout_id = shop.has_deposit("completed", inputCurrency=TOKEN, inputAmount=number("12.5"))
    shop.settles(checkout_id)
    first = refunds(shop, checkout_id, to=WALLET)
    sends_payouts(shop)
    assert decides(shop, "resolve", first.reference, False, by="Bo")
    if given_up:
        assert decides(shop, "cancel", first.reference, by="Bo")
    second = refunds(shop, checkout_id, to=WALLET)
    sends_payouts(shop)
    assert (alarms_of(shop)["repeated-transfers"].count, len(books.paid)) == (1, 2)
    assert "Compare it with the chain" in shop.runs("audit").output
    assert decides(shop, "resolve", second.reference, True, by="Bo")
    assert (payout(shop, second.reference).status, "repeated-transfers" in alarms_of(shop)) == ("completed", False)


def test_a_person_who_reports_returned_tokens_cannot_confirm_alone_that_they_were_paid_once(
    one_hand: Shop, books: Books
) -> None:
    pays_out(one_hand, amount="10", to=WALLET, approve=False, by="Ada")
    books.instead = [NO_ANSWER]
    sends_payouts(one_hand)
    for was_paid in (True, False):
        assert decides(one_hand, "resolve", "maker-1", was_paid, by="Bo")
    assert decides(one_hand, "retry", "maker-1", by="Bo")
    assert decides(one_hand, "approve", "maker-1", by="Cy")
    sends_payouts(one_hand)
    for name in ("Ada", "bo"):
        assert not decides(one_hand, "resolve", "maker-1", True, by=name)
    opens_view(one_hand, lambda: "Bo")
    assert 'value="amended"' not in payout_page(one_hand).text
    assert "Compare it with the chain" in one_hand.runs("audit").output
    assert decides(one_hand, "resolve", "maker-1", True, by="Cy")
    assert (payout(one_hand).status, "repeated-transfers" in alarms_of(one_hand)) == ("completed", False)
    assert "Compare it with the chain" not in one_hand.runs("audit").output


def test_a_person_who_has_a_payout_tried_again_cannot_approve_that(one_hand: Shop) -> None:
    pays_out(one_hand, amount="60", approve=True, by="Ada")
    assert decides(one_hand, "approve", "maker-1", by="Bo")
    stands(one_hand, "maker-1", status="failed", paid_by="")
    assert decides(one_hand, "retry", "maker-1", by="Bo")
    assert payout(one_hand).status == "waiting"
    assert not decides(one_hand, "approve", "maker-1", by="Bo")
    assert decides(one_hand, "approve", "maker-1", by="Cy")


def test_a_refused_or_failed_payout_is_tried_again_with_the_approval_that_it_needs(
    one_hand: Shop, books: Books
) -> None:
    """A refused payout was never sent, so it needs no new approval."""
    for reference in ("refused", "failed"):
        pays_out(one_hand, reference, "60", approve=False)
        books.instead = [refusal(400, "no such account")] if reference == "refused" else []
        sends_payouts(one_hand)
    books.finish("failed")
    sends_payouts(one_hand, hours=1)
    for reference, status in (("refused", "ready"), ("failed", "waiting")):
        assert decides(one_hand, "retry", reference)
        assert payout(one_hand, reference).status == status


def test_a_person_who_was_shown_the_link_of_a_claim_cannot_approve_it(strict: Shop) -> None:
    ran = strict.runs("refund", strict.has_paid(), "--amount", "2", "--by", "Ada", "--why", "broke", "--json")
    customer = Customer(strict, json.loads(ran.stdout)["reference"])
    strict.calls.claim_url(customer.reference, by="Di ")
    opens_view(strict, lambda: "Cy")
    opens(strict, "/payout", reference=customer.reference, link="1")
    assert customer.sends().status_code == 303
    for name in ("Cy", "di", getpass.getuser()):
        assert not decides(strict, "approve", customer.reference, by=name)
    approve = ("payouts", "approve", customer.reference, "--seen", "1", "--by")
    assert strict.runs(*approve, "Bo").exit_code == 1, "the system's user has seen it"
    assert 'value="approve"' not in payout_page(strict, customer.reference).text
    assert decides(strict, "approve", customer.reference, by="Bo")


# Payouts that their receivers claim


def promised(shop: Shop, reference: str = "prize-1", **keywords: Any) -> Customer:
    """The receiver of a payout without a destination."""
    pays_out(shop, reference, to=None, **keywords)
    return Customer(shop, reference)


def test_the_receiver_of_a_payout_says_where_it_goes_and_a_person_approves_that(shop: Shop) -> None:
    receiver = promised(shop, by="Ada", approve=False)
    assert receiver.refund.status == "claimable"
    url = shop.calls.claim_url("prize-1")
    assert "80.00" in shop.browser.get(url).text
    assert receiver.sends().status_code == 303
    claimed = receiver.refund
    assert (claimed.status, claimed.revision) == ("waiting", 1)
    promised(shop)
    assert decides(shop, "approve", "prize-1", by="Bo", seen=1)
    assert receiver.sends().status_code == 409


def test_an_unclaimed_payout_is_cancelled_in_time_and_a_claimed_one_stays(shop: Shop) -> None:
    for reference in ("late", "opened", "claimed", "posted"):
        promised(shop, reference, expires=timedelta(days=1))
    promised(shop, "open")
    assert Customer(shop, "claimed").sends().status_code == 303
    shop.waits(days=1)
    assert Customer(shop, "posted").sends().status_code == 409
    assert "cancelled" in Customer(shop, "opened").opens().text
    sends_payouts(shop)
    stored = {payout.reference: payout.status for payout in payouts(shop)}
    assert stored == {
        "late": "cancelled",
        "opened": "cancelled",
        "claimed": "waiting",
        "posted": "cancelled",
        "open": "claimable",
    }
