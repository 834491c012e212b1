"""Duties of a company: two persons for a payment, a record of who did what, payouts that their receivers claim."""

from __future__ import annotations

import getpass
import json
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from sqlalchemy import text

from flask_paycheckout import PayoutConflict, TransitionRefused, payment_resolved
from tests.alarming import alarms_of
from tests.checkouts.test_requests import asks
from tests.conftest import OpenShop
from tests.payouts.books import NO_ANSWER, Books
from tests.payouts.claiming import Customer, refunded
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
from tests.scripted import Shop, refusal
from tests.test_bounds import statements
from tests.views.test_owner import ROOT, opens, opens_view
from tests.views.test_owner_payouts import sends


@pytest.fixture
def strict(open_shop: OpenShop) -> Shop:
    """A shop in which nobody approves what they have asked for."""
    return open_shop(PAYCHECKOUT_APPROVE_BY_ANOTHER=True)


def test_who_asked_for_a_payout_cannot_approve_it_by_any_door(strict: Shop) -> None:
    pays_out(strict, approve=True, by=" Ada")
    assert payout(strict, "maker-1").asked_by == "Ada"
    for name in ("Ada", "aDA ", "\u200bADA\t"):
        with strict.app.app_context(), pytest.raises(TransitionRefused, match="another person"):
            strict.paycheckout.approve_payout("maker-1", by=name)
    assert strict.runs("payouts", "approve", "maker-1", "--seen", "0", "--by", "ada").exit_code == 1
    opens_view(strict, lambda: "ADA")
    page = opens(strict, "/payout", reference="maker-1")
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
def test_who_reports_that_a_payout_came_back_cannot_approve_that_it_is_sent_again(
    one_hand: Shop, books: Books, to: Any
) -> None:
    """Nor can the one who asked for it; another person can, and the limit of the day counts both tries."""
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
    shop.clock.advance(days=400)
    assert shop.runs("prune", "--older-than", "30").exit_code == 0
    alarm = alarms_of(shop)["repeated-transfers"]
    assert (alarm.severity, alarm.count, len(books.paid)) == ("today", 1, 2)
    assert decides(shop, "resolve", "maker-1", True, by="Bo")
    assert (payout(shop).status, "repeated-transfers" in alarms_of(shop)) == ("completed", False)


def test_who_reports_the_return_of_tokens_does_not_say_alone_that_they_were_paid_once(
    one_hand: Shop, books: Books
) -> None:
    pays_out(one_hand, amount="10", to=WALLET, approve=False, by="Ada")
    books.instead = [NO_ANSWER]
    sends_payouts(one_hand)
    for said in (True, False):
        assert decides(one_hand, "resolve", "maker-1", said, by="Bo")
    assert decides(one_hand, "retry", "maker-1", by="Bo")
    assert decides(one_hand, "approve", "maker-1", by="Cy")
    sends_payouts(one_hand)
    for name in ("Ada", "bo"):
        assert not decides(one_hand, "resolve", "maker-1", True, by=name)
    opens_view(one_hand, lambda: "Bo")
    assert 'value="amended"' not in opens(one_hand, "/payout", reference="maker-1").text
    assert "Compare it with the chain" in one_hand.runs("audit").output
    assert decides(one_hand, "resolve", "maker-1", True, by="Cy")
    assert (payout(one_hand).status, "repeated-transfers" in alarms_of(one_hand)) == ("completed", False)
    assert "Compare it with the chain" not in one_hand.runs("audit").output


def test_who_has_a_payout_tried_again_cannot_approve_that(one_hand: Shop) -> None:
    pays_out(one_hand, amount="60", approve=True, by="Ada")
    assert decides(one_hand, "approve", "maker-1", by="Bo")
    stands(one_hand, "maker-1", status="failed", paid_by="")
    assert decides(one_hand, "retry", "maker-1", by="Bo")
    assert payout(one_hand).status == "waiting"
    assert not decides(one_hand, "approve", "maker-1", by="Bo")
    assert decides(one_hand, "approve", "maker-1", by="Cy")


def test_who_says_that_a_payout_was_not_sent_cannot_approve_that_it_is_sent_again(one_hand: Shop, books: Books) -> None:
    pays_out(one_hand, amount="60", to=WALLET, approve=False)
    books.instead = [NO_ANSWER]
    sends_payouts(one_hand)
    assert decides(one_hand, "resolve", "maker-1", False, by="Bo")
    assert payout(one_hand).status == "waiting"
    assert not decides(one_hand, "approve", "maker-1", by="Bo")
    assert decides(one_hand, "approve", "maker-1", by="Ada")


def test_what_the_service_refused_or_failed_is_tried_again_with_the_approval_that_it_needs(
    one_hand: Shop, books: Books
) -> None:
    """Of a payout that was refused nothing was ever sent, so that nobody approves it anew."""
    for reference in ("refused", "failed"):
        pays_out(one_hand, reference, "60", approve=False)
        books.instead = [refusal(400, "no such account")] if reference == "refused" else []
        sends_payouts(one_hand)
    books.finish("failed")
    one_hand.clock.advance(hours=1)
    sends_payouts(one_hand)
    for reference, status in (("refused", "ready"), ("failed", "waiting")):
        assert decides(one_hand, "retry", reference)
        assert payout(one_hand, reference).status == status


def deeds(shop: Shop, *, looks: bool = False) -> list[tuple[str, str, str, str, str]]:
    """The deeds: by whom, what, to what, why, and through which door, oldest first; looks alone, or all others."""
    ran = shop.runs("deeds", "--json")
    assert ran.exit_code == 0, ran.output
    return [
        (each["by"], each["deed"], each["subject"], each["why"], each["through"])
        for each in json.loads(ran.stdout)
        if (each["deed"] == "viewed") is looks
    ]


def test_deeds_are_recorded_through_each_door_and_survive_prune(shop: Shop) -> None:
    opens_view(shop, lambda: "Cy")
    held = shop.has_held("o-2")
    shop.resolves(held, False, why="a stranger's")
    with shop.app.app_context():
        shop.paycheckout.keep(held, by="Ada", why="a voucher")
    pays_out(shop, approve=True, by="Bo", order_id="o-7")
    pays_out(shop, approve=True, by="Bo")
    pays_out(shop, "maker-2")
    refund = refunds(shop, shop.has_paid(), "5")
    sends(shop, opens(shop, "/payout", reference="maker-1"), decision="approve")
    assert shop.runs("payouts", "cancel", refund.reference, "--by", "Di", "--why", "late").exit_code == 0
    stands(shop, "maker-1", status="failed")
    assert decides(shop, "retry", "maker-1")
    stands(shop, "maker-1", status="unknown")
    assert decides(shop, "resolve", "maker-1", False)
    assert shop.browser.get(f"{ROOT}/books/month?month=2026-01").status_code == 200
    assert shop.runs("export").exit_code == 0
    shop.clock.advance(days=400)
    assert shop.runs("prune", "--older-than", "1").exit_code == 0
    assert deeds(shop) == [
        ("Ada", "decided", held, "a stranger's", "call"),
        ("Ada", "kept", held, "a voucher", "call"),
        ("Bo", "asked", "maker-1", "", "call"),
        ("Ada", "refunded", refund.refund_of, "one jar broke", "call"),
        ("Cy", "approved", "maker-1", "", "page"),
        ("Di", "cancelled", refund.reference, "late", "command"),
        ("Ada", "retried", "maker-1", "one jar broke", "call"),
        ("Ada", "resolved", "maker-1", "one jar broke", "call"),
        ("Cy", "exported", "2026-01-01 00:00:00Z to 2026-02-01 00:00:00Z", "", "page"),
        (getpass.getuser(), "exported", "the beginning to now", "", "command"),
    ]
    page = opens(shop, "/deeds")
    assert "a stranger&#39;s" in page.text
    assert 'rel="next"' not in page.text


@pytest.mark.on_each_database
def test_a_look_is_recorded_once_an_hour_and_the_next_one_is_one_read(shop: Shop) -> None:
    opens_view(shop, lambda: "Cy")
    shop.has_paid()
    pays_out(shop, order_id="o-1")
    shop.clock.now = shop.clock.now.replace(minute=59)
    seen = [*opens_each(shop), *opens_each(shop)]
    assert [statement.split()[0] for statement in seen] == ["SELECT", "INSERT"] * 3 + ["SELECT"] * 3
    found = [("Cy", "viewed", subject, "", "page") for subject in ("o-1", "maker-1", "payouts")]
    assert deeds(shop, looks=True) == found
    shop.clock.advance(minutes=1)
    assert len(opens_each(shop)) == 6
    assert shop.runs("show", "o-1").exit_code == 0
    assert deeds(shop, looks=True)[6:] == [(getpass.getuser(), "viewed", "o-1", "", "command")]


def test_a_look_that_cannot_be_recorded_hides_no_page(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    opens_view(shop)
    pays_out(shop)
    shop.executes(text("ALTER TABLE paycheckout_deed RENAME COLUMN why TO reason"))
    assert opens(shop, "/payout", reference="maker-1").status_code == 200
    assert "who viewed maker-1 was not recorded" in caplog.text


def test_whatever_shows_a_person_records_its_viewer(shop: Shop) -> None:
    """Pages and commands that show none, such as the alarms about a payout, record nobody."""
    opens_view(shop, lambda: "Cy")
    customer = refunded(shop)
    customer.sends(account_name="Zoë Quist")
    asks(shop, title="Zoë Quist's logo")
    shown = {
        **{name: opens(shop, path).text for name, path in (("", ""), ("requests", "/requests"), ("deeds", "/deeds"))},
        **{
            f"flask {name}": shop.runs(*name.split()).output
            for name in ("report", "report --json", "requests", "doctor")
        },
    }
    assert [name for name, text in shown.items() if "Zoë Quist" in unescape(text)] == ["requests", "flask requests"]
    user = getpass.getuser()
    assert deeds(shop, looks=True) == [
        ("Cy", "viewed", "requests", "", "page"),
        (user, "viewed", "requests", "", "command"),
    ]


def test_who_is_shown_the_link_of_a_claim_is_recorded(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_APPROVE_BY_ANOTHER=True)
    opens_view(shop, lambda: "Cy")
    made = shop.runs("refund", shop.has_paid(), "--amount", "2", "--by", "Ada", "--why", "broke", "--json")
    reference = json.loads(made.stdout)["reference"]
    page = opens(shop, "/payout", reference=reference)
    assert ("refund-url" in page.text, "Whoever has been shown it cannot approve" in page.text) == (False, True)
    for _ in range(2):
        assert "refund-url" in opens(shop, "/payout", reference=reference, link="1").text
    with shop.app.app_context():
        shop.paycheckout.claim_url(reference, by="Di")
        of_shop = shop.paycheckout.refund(shop.has_paid("o-2"), "1", by="Ada", why="broke").reference
        shop.paycheckout.claim_url(of_shop)
        assert "linked" not in [deed for _, deed, subject, _, _ in deeds(shop) if subject == of_shop]
        shop.db.session.commit()
    linked = [(by, subject, through) for by, deed, subject, _, through in deeds(shop) if deed == "linked"]
    assert linked == [
        (getpass.getuser(), reference, "command"),
        ("Cy", reference, "page"),
        ("Di", reference, "call"),
        ("", of_shop, "call"),
    ]


def test_who_was_shown_the_link_of_a_claim_cannot_approve_it(strict: Shop) -> None:
    ran = strict.runs("refund", strict.has_paid(), "--amount", "2", "--by", "Ada", "--why", "broke", "--json")
    customer = Customer(strict, json.loads(ran.stdout)["reference"])
    with strict.app.app_context():
        strict.paycheckout.claim_url(customer.reference, by="Di ")
    opens_view(strict, lambda: "Cy")
    opens(strict, "/payout", reference=customer.reference, link="1")
    assert customer.sends().status_code == 303
    for name in ("Cy", "di", getpass.getuser()):
        assert not decides(strict, "approve", customer.reference, by=name)
    approve = ("payouts", "approve", customer.reference, "--seen", "1", "--by")
    assert strict.runs(*approve, "Bo").exit_code == 1, "the system's user has seen it"
    assert 'value="approve"' not in opens(strict, "/payout", reference=customer.reference).text
    assert decides(strict, "approve", customer.reference, by="Bo")


def opens_each(shop: Shop) -> list[str]:
    """Open the owner's pages that tell of persons; gives the statements that record it."""
    with statements(shop) as seen:
        for page, query in (("/order", {"order_id": "o-1"}), ("/payout", {"reference": "maker-1"}), ("/payouts", {})):
            assert opens(shop, page, **query).status_code == 200
    # The list of payouts also reads, in their order, who approved them.
    return [one for one in seen if "paycheckout_deed" in one and "ORDER BY" not in one]


def test_a_deed_that_is_rolled_back_was_never_done(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    with shop.app.app_context():
        shop.paycheckout.refund(checkout_id, "5", by="Ada", why="broke")
        shop.db.session.rollback()
    pays_out(shop, approve=True)
    assert not decides(shop, "retry", "maker-1")
    assert deeds(shop) == []


def test_what_a_receiver_does_during_a_command_is_a_call(shop: Shop) -> None:
    checkout_id = shop.has_held()

    @payment_resolved.connect
    def refund(app: Any, *, checkout: Any, **extra: Any) -> None:
        shop.paycheckout.refund(checkout.checkout_id, "1", by="robot", why="rejected")

    assert shop.runs("resolve", checkout_id, "--reject", "--by", "Ada", "--why", "no").exit_code == 0
    payment_resolved.disconnect(refund)
    assert [(each[0], each[4]) for each in deeds(shop)] == [("Ada", "command"), ("robot", "call")]


# Payouts that their receivers claim


def promised(shop: Shop, reference: str = "prize-1", **keywords: Any) -> Customer:
    """The receiver of a payout that has no destination yet."""
    pays_out(shop, reference, to=None, **keywords)
    return Customer(shop, reference)


def test_the_receiver_of_a_payout_says_where_it_goes_and_a_person_approves_that(shop: Shop) -> None:
    receiver = promised(shop, by="Ada", approve=False)
    assert receiver.refund.status == "claimable"
    with shop.app.app_context():
        url = shop.paycheckout.claim_url("prize-1")
    assert "80.00" in shop.browser.get(url).text
    assert receiver.sends().status_code == 303
    claimed = receiver.refund
    assert (claimed.status, claimed.revision) == ("waiting", 1)
    promised(shop)
    assert decides(shop, "approve", "prize-1", by="Bo", seen=1)
    assert receiver.sends().status_code == 409


def test_what_nobody_claims_in_time_is_cancelled_and_what_was_claimed_stays(shop: Shop) -> None:
    for reference in ("late", "opened", "claimed", "posted"):
        promised(shop, reference, expires=timedelta(days=1))
    promised(shop, "open")
    assert Customer(shop, "claimed").sends().status_code == 303
    shop.clock.advance(days=1)
    assert Customer(shop, "posted").sends().status_code == 409
    assert "cancelled" in Customer(shop, "opened").opens().text
    sends_payouts(shop)
    stored = {one.reference: one.status for one in payouts(shop)}
    assert stored == {
        "late": "cancelled",
        "opened": "cancelled",
        "claimed": "waiting",
        "posted": "cancelled",
        "open": "claimable",
    }


def test_nobody_says_on_a_page_where_a_payout_goes_that_has_a_destination(shop: Shop) -> None:
    pays_out(shop, approve=True)
    with shop.app.app_context(), pytest.raises(ValueError, match="made with its destination"):
        shop.paycheckout.claim_url("maker-1")
    assert Customer(shop, "maker-1").sends().status_code == 404
    promised(shop)
    for reference, to in (("maker-1", None), ("prize-1", MAKER)):
        with pytest.raises(PayoutConflict, match="destination"):
            pays_out(shop, reference, to=to)
